#include "report/export/export.h"

#include <algorithm>
#include <type_traits>

#include "base/text/text_format.h"
#include "profile/kinds/registry.h"
#include "report/export/writers.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

constexpr ExportFormat formats[] = {
    {.name = "folded",
     .consumer = "flamegraph.pl, inferno, speedscope",
     .write = write_folded,
     .takes_top = true,
     .takes_weight = true},
    {.name = "callgrind",
     .consumer = "callgrind_annotate, KCachegrind",
     .write = write_callgrind,
     .takes_parts = true},
    {.name = "speedscope",
     .consumer = "speedscope.app",
     .write = write_speedscope,
     .takes_top = true,
     .takes_weight = true},
    {.name = "pprof",
     .consumer = "go tool pprof",
     .write = write_pprof,
     .takes_top = true,
     .takes_weight = true,
     .binary = true},
    {.name = "bolt", .consumer = "perf2bolt -pa", .write = write_bolt, .one_module = true},
    {.name = "llvm-profgen",
     .consumer = "llvm-profgen --unsymbolized-profile",
     .write = write_llvm_profgen,
     .one_module = true},
    {.name = "llvm-sample",
     .consumer = "clang -fprofile-sample-use",
     .write = write_llvm_sample,
     .one_module = true},
    {.name = "csv",
     .consumer = "spreadsheets",
     .write = write_csv,
     .takes_top = true,
     .takes_table = true},
};

bool is_file(const Module& module) {
    return module.path.starts_with('/');
}

// Executions of branches by module; 0 for modules without a file.
std::vector<std::uint64_t> branch_weights(const Profile& profile) {
    std::vector<std::uint64_t> weights(profile.modules.size());
    for (const Edge& edge : profile.edges)
        if (edge.from.module < weights.size() && is_file(profile.modules[edge.from.module]))
            weights[edge.from.module] += edge.count;
    return weights;
}

std::string module_list(const Profile& profile) {
    std::string list;
    for (const Module& module : profile.modules) {
        if (!is_file(module)) continue;
        if (!list.empty()) list += ", ";
        list += printable(module.path);
    }
    return list;
}

}  // namespace

std::span<const ExportFormat> export_formats() {
    return formats;
}

Result<std::uint32_t> choose_module(const Profile& profile, std::string_view wanted) {
    if (wanted.empty()) {
        const auto weights = branch_weights(profile);
        const auto most = std::max_element(weights.begin(), weights.end());
        if (most != weights.end() && *most > 0)
            return static_cast<std::uint32_t>(most - weights.begin());
        return Error{ErrorCode::not_found, 0,
                     "the profile has no branches of any file; profile with 'edge' among "
                     "--profiles"};
    }
    std::vector<std::uint32_t> by_name;
    for (std::uint32_t i = 0; i < profile.modules.size(); ++i) {
        if (profile.modules[i].path == wanted) return i;
        if (is_module_called(profile.modules[i].path, wanted)) by_name.push_back(i);
    }
    if (by_name.size() == 1) return by_name.front();
    return Error{ErrorCode::usage, 0,
                 fmt::format("{} module '{}' in the profile; its files are: {}",
                             by_name.empty() ? "there is no" : "there is more than one",
                             printable(wanted), module_list(profile))};
}

void keep_hottest(Profile& profile, std::size_t most, StackWeight weight) {
    std::stable_sort(
        profile.stacks.begin(), profile.stacks.end(),
        [&](const Stack& a, const Stack& b) { return amount(a, weight) > amount(b, weight); });
    const auto cut = [most](auto& list) {
        if (list.size() > most)
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(most), list.end());
    };
    for_each_kind([&]<typename Kind>() {
        if constexpr (std::is_same_v<Kind, ProbeList>)
            for (ProbeProfile& probe : profile.probes) cut(probe.entries);
        else if constexpr (!requires { Kind::is_kept_whole; })
            cut(Kind::of(profile));
    });
}

}  // namespace shadowprof
