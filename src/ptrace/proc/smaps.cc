#include "ptrace/proc/smaps.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace shadowprof {
namespace {

constexpr std::string_view flags_key = "VmFlags:";

// Lines of mappings begin with a digit or a lower-case letter.
bool is_key(std::string_view line) {
    return line.front() >= 'A' && line.front() <= 'Z';
}

}  // namespace

bool FlaggedMapping::has(std::string_view flag) const {
    for (std::size_t at = 0; at + flag.size() <= flags.size(); at += flag.size() + 1)
        if (flags.substr(at, flag.size()) == flag) return true;
    return false;
}

Result<std::vector<FlaggedMapping>> parse_flagged_mappings(std::string_view text) {
    std::vector<FlaggedMapping> found;
    std::optional<Mapping> mapping;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.starts_with(flags_key)) {
            const auto flags = line.substr(std::min(line.size(), flags_key.size() + 1));
            if (mapping) found.push_back({*std::exchange(mapping, std::nullopt), flags});
        } else if (!line.empty() && !is_key(line)) {
            TRY_ASSIGN(const auto map, MemoryMap::parse(line));
            mapping = map.mappings().front();
        }
    }
    return found;
}

}  // namespace shadowprof
