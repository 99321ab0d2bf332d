#include "profile/kinds/paths/single_paths.h"

namespace shadowprof {

void SinglePaths::fold_into(FlowTotals& totals) {
    std::size_t begin = 0;
    for (const auto& [times, before, length] : paths_) {
        const auto path = std::span(tokens_).subspan(begin, length);
        begin += length;
        if (before == 0)
            totals.add_start(path.front(), times);
        else
            totals.add_step(totals.step_id(before, path.front()), times);
        PathStore::Handle unknown;
        steps_.assign(length, StepTotals::unknown);
        totals.add_path(path, unknown, steps_, times);
    }
    tokens_.clear();
    paths_.clear();
}

}  // namespace shadowprof
