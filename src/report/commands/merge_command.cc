#include "report/commands/merge_command.h"

#include <algorithm>
#include <optional>

#include "base/files/safe_output.h"
#include "profile/merge/merge.h"
#include "profile/merge/size_limit.h"
#include "report/profile_file/profile_reader.h"
#include "report/profile_file/save_profile.h"
#include "report/symbols/merged_symbols.h"

namespace shadowprof {
namespace {

struct Sum {
    std::optional<Profile> profile;
    MergedSymbols symbols;

    // Keeps some more than `max_bytes` until the sum is complete, so that what is hot in all
    // profiles is not folded because it is cold in the first.
    Result<void> add(const std::string& path, std::uint64_t max_bytes) {
        TRY_ASSIGN(const ProfileFile file, read_profile(path));
        symbols.add(file.profile.modules, file.symbols);
        if (profile)
            merge_into(*profile, file.profile);
        else
            profile = file.profile;
        keep_size(*profile, 4 * max_bytes);
        return {};
    }
};

}  // namespace

Result<MergeOutcome> merge_profiles(const std::vector<std::string>& inputs,
                                    const std::string& output, std::uint64_t max_bytes) {
    if (inputs.empty()) return Error{ErrorCode::usage, 0, "there is no profile to merge"};
    if (std::count(inputs.begin(), inputs.end(), "-") > 1)
        return Error{ErrorCode::usage, 0, "standard input can be read only once"};
    TRY(check_profile_name(output));
    TRY_ASSIGN(SafeOutput out, SafeOutput::open(output));
    Sum sum;
    for (const std::string& path : inputs) TRY(sum.add(path, max_bytes));
    keep_size(*sum.profile, max_bytes);
    Profile& profile = *sum.profile;
    sum.symbols.number_as(profile.modules);
    TRY_ASSIGN(std::string name, save_profile(profile, sum.symbols, out, max_bytes));
    return MergeOutcome{std::move(name), profile.run.merged_runs, profile.sampling.samples,
                        profile.sampling.instructions, has_unequal_runs(profile)};
}

}  // namespace shadowprof
