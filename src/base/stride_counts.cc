#include "base/stride_counts.h"

namespace shadowprof {

void StrideCounts::add(std::int64_t stride, std::uint64_t weight) {
    Entry* free = nullptr;
    for (Entry& entry : entries_) {
        if (entry.count != 0 && entry.stride == stride) {
            entry.count += weight;
            return;
        }
        if (entry.count == 0) free = &entry;
    }
    if (free) {
        *free = {stride, weight};
        return;
    }
    for (Entry& entry : entries_) entry.count -= std::min(entry.count, weight);
}

}  // namespace shadowprof
