// Reading the text files of /proc. Their contents are hostile: a process chooses its own name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

// The whole of a small file, at most 64 KiB of it. A process that ends while it is read gives
// ErrorCode::gone.
Result<std::string> read_proc_file(const std::string& path);

// Numbers separated by blanks; ends at the first thing that is none.
std::vector<std::uint64_t> parse_numbers(std::string_view text, int base = 10);

// Field `number` of /proc/PID/stat, counted from 1 as proc(5) does; 3 or more. Negative numbers
// wrap around.
std::optional<std::uint64_t> stat_field(std::string_view stat_text, std::size_t number);

// An id of this process's user namespace as the namespace with this /proc/PID/uid_map shows it;
// the kernel's overflow id where it has none.
std::uint32_t map_id(std::string_view id_map_text, std::uint32_t id);

}  // namespace shadowprof
