// Whole files as text.
#pragma once

#include <cstdint>
#include <string>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// Opens a regular file, or standard input for "-". Fails if it cannot be opened or is not regular.
Result<UniqueFd> open_for_reading(const std::string& path);

// Reads a regular file, or standard input for "-". Fails if it cannot be read, is not regular, or
// holds more than `max_bytes`.
Result<std::string> read_file_text(const std::string& path, std::uint64_t max_bytes);

}  // namespace shadowprof
