#include "report/commands/merge_command.h"

#include <sys/stat.h>

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
    Result<void> add(const std::string& path, std::uint64_t max_bytes,
                     const ReadListener& on_read) {
        TRY_ASSIGN(const ProfileFile file, read_profile(path, on_read));
        symbols.add(file.profile.modules, file.symbols);
        if (profile)
            merge_into(*profile, file.profile);
        else
            profile = file.profile;
        keep_size(*profile, 4 * max_bytes);
        return {};
    }
};

// 0 if the size of one is not known, as of standard input.
std::uint64_t bytes_of_all(const std::vector<std::string>& paths) {
    std::uint64_t sum = 0;
    for (const std::string& path : paths) {
        struct stat status;
        if (path == "-" || ::stat(path.c_str(), &status) != 0) return 0;
        sum += static_cast<std::uint64_t>(status.st_size);
    }
    return sum;
}

// Adds up the progress of one file after the other.
ReadListener sum_of_reads(MergeProgress& progress, const MergeListener& listener) {
    if (!listener) return {};
    return [&progress, &listener, before = std::uint64_t{0}](const ReadProgress& read) mutable {
        progress.bytes = before + read.bytes;
        if (read.is_done) {
            before = progress.bytes;
            ++progress.files;
        }
        listener(progress);
    };
}

}  // namespace

Result<MergeOutcome> merge_profiles(const std::vector<std::string>& inputs,
                                    const std::string& output, std::uint64_t max_bytes,
                                    const MergeListener& on_progress) {
    if (inputs.empty()) return Error{ErrorCode::usage, 0, "there is no profile to merge"};
    if (std::count(inputs.begin(), inputs.end(), "-") > 1)
        return Error{ErrorCode::usage, 0, "standard input can be read only once"};
    TRY(check_profile_name(output));
    TRY_ASSIGN(SafeOutput out, SafeOutput::open(output));
    Sum sum;
    MergeProgress progress{.all_files = inputs.size(), .all_bytes = bytes_of_all(inputs)};
    const ReadListener on_read = sum_of_reads(progress, on_progress);
    for (const std::string& path : inputs) TRY(sum.add(path, max_bytes, on_read));
    keep_size(*sum.profile, max_bytes);
    Profile& profile = *sum.profile;
    sum.symbols.number_as(profile.modules);
    TRY_ASSIGN(std::string name, save_profile(profile, sum.symbols, out, max_bytes));
    return MergeOutcome{std::move(name), profile.run.merged_runs, profile.sampling.samples,
                        profile.sampling.instructions, has_unequal_runs(profile)};
}

}  // namespace shadowprof
