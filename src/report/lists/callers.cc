#include "report/lists/callers.h"

#include <algorithm>
#include <functional>
#include <map>

namespace shadowprof {

std::vector<CallerOfFunction> callers_of_functions(const Profile& profile, SymbolSource& symbols) {
    struct Sum {
        CallerOfFunction pair;
        std::uint64_t hottest = 0;  // calls from pair.site
    };
    std::map<std::pair<CodeLocation, CodeLocation>, Sum> sums;  // by callee and caller
    std::map<CodeLocation, std::uint64_t> all;                  // by callee
    for (const CallPair& call : profile.calls) {
        const CodeLocation callee = symbols.function_start(call.callee);
        Sum& sum = sums[{callee, symbols.function_start(call.site)}];
        sum.pair.callee = callee;
        sum.pair.count += call.count;
        ++sum.pair.sites;
        all[callee] += call.count;
        if (call.count < sum.hottest) continue;
        sum.hottest = call.count;
        sum.pair.site = call.site;
    }
    std::vector<CallerOfFunction> list;
    for (const auto& [functions, sum] : sums) {
        list.push_back(sum.pair);
        list.back().all = all[functions.first];
    }
    std::ranges::stable_sort(list, std::greater{}, &CallerOfFunction::count);
    return list;
}

}  // namespace shadowprof
