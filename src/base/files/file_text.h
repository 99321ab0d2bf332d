// Whole files as text.
#pragma once

#include <cstdint>
#include <string>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// A regular file, or standard input for "-". Errors: it cannot be opened, is no regular file.
Result<UniqueFd> open_for_reading(const std::string& path);

// The bytes of a regular file, or of standard input for "-". Errors: it cannot be read, is no
// regular file, or holds more than `most_bytes`.
Result<std::string> read_file_text(const std::string& path, std::uint64_t most_bytes);

}  // namespace shadowprof
