#include "profile/code/perf_map_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <string>

#include "base/files/file_text.h"
#include "base/text/status_field.h"

namespace shadowprof {
namespace {

constexpr const char* our_folder = "/tmp";

pid_t id_in_own_namespace(pid_t process) {
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << 16;
    const auto status = read_file_text(fmt::format("/proc/{}/status", process), max_bytes);
    if (!status) return process;
    const auto ids = status_field(*status, "NSpid");
    const auto last = ids.substr(ids.rfind('\t') + 1);
    pid_t id = 0;
    const auto parsed = std::from_chars(last.data(), last.data() + last.size(), id);
    return parsed.ec == std::errc{} ? id : process;
}

// A link is not followed, as it would lead from another root directory into ours.
UniqueFd open_map(int folder, pid_t process) {
    UniqueFd map(::openat(folder, fmt::format("perf-{}.map", process).c_str(),
                          O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
    struct stat status;
    if (!map || ::fstat(map.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return map;
}

UniqueFd open_folder(const std::string& path) {
    return UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

PerfMapPlace::PerfMapPlace(const FileView& view, Folder folder)
    : process_(view.process), own_id_(id_in_own_namespace(view.process)), is_ours_(view.is_ours) {
    if (!is_ours_ && folder == Folder::kept)
        folder_ = open_folder(fmt::format("/proc/{}/root{}", process_, our_folder));
}

UniqueFd PerfMapPlace::open() const {
    UniqueFd map;
    if (folder_) map = open_map(folder_.get(), own_id_);
    const UniqueFd ours(::open(our_folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!map && is_ours_) map = open_map(ours.get(), own_id_);
    if (!map) map = open_map(ours.get(), process_);
    return map;
}

}  // namespace shadowprof
