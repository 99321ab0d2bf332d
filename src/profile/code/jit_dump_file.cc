#include "profile/code/jit_dump_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "base/text/text_format.h"
#include "profile/code/mapped_file.h"

namespace shadowprof {
namespace {

// The process id in the name of a mapped jitdump; nothing if the mapping is none.
std::optional<pid_t> shown_process(const Mapping& mapping) {
    if (!mapping.executable || !mapping.is_file()) return std::nullopt;
    std::string_view name = base_name(mapped_path(mapping));
    constexpr std::string_view start = "jit-", end = ".dump";
    if (!name.starts_with(start) || !name.ends_with(end)) return std::nullopt;
    name.remove_prefix(start.size());
    name.remove_suffix(end.size());
    pid_t process = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), process);
    if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size() || process <= 0)
        return std::nullopt;
    return process;
}

}  // namespace

const Mapping* find_jit_dump(const MemoryMap& map, pid_t process) {
    const Mapping* found = nullptr;
    pid_t largest = 0;
    for (const Mapping& mapping : map.mappings()) {
        const auto shown = shown_process(mapping);
        if (shown == process) return &mapping;
        if (shown.value_or(0) <= largest) continue;
        largest = *shown;
        found = &mapping;
    }
    return found;
}

std::string identity_of_jit_dump(int file) {
    struct statx status {};
    if (::statx(file, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) return "";
    const bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
    return fmt::format("{:016x}{:016x}{:08x}", status.stx_ino,
                       has_birth ? status.stx_btime.tv_sec : 0,
                       has_birth ? status.stx_btime.tv_nsec : 0u);
}

}  // namespace shadowprof
