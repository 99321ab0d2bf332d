// Reads text files of /proc. Their contents are hostile: a process chooses its own name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// A small file's text, at most 64 KiB of it. ErrorCode::gone if the process ends meanwhile.
Result<std::string> read_proc_file(const std::string& path);

// Numbers separated by blanks, up to the first word that is not a number.
std::vector<std::uint64_t> parse_numbers(std::string_view text, int base = 10);

// Field `number` of /proc/PID/stat, counted from 1 as proc(5) does; 3 or more. Negative numbers
// wrap around.
std::optional<std::uint64_t> stat_field(std::string_view stat_text, std::size_t number);

// The id that a user namespace with this /proc/PID/uid_map gives to an id of this process's
// namespace; the kernel's overflow id if it has none.
std::uint32_t map_id(std::string_view id_map_text, std::uint32_t id);

}  // namespace shadowprof
