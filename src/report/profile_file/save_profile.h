// Writes a profile to a file of its own.
#pragma once

#include <cstdint>
#include <string>

#include "base/files/safe_output.h"
#include "report/profile_file/profile_writer.h"

namespace shadowprof {

// Whether profiles can be written to a file of this name, whose end says how it is compressed.
// Errors: ErrorCode::unsupported.
Result<void> check_profile_name(const std::string& name);

// Writes `profile` as write_profile() does, compressed if the name of `output` ends like that of a
// compressed file, and completes the output. If its text would have more than `max_bytes`, the
// profile is cut (keep_file_size()). Returns the file's final name. Errors: those of
// check_profile_name() and of `output`.
Result<std::string> save_profile(Profile& profile, SymbolSource& symbols, SafeOutput& output,
                                 std::uint64_t max_bytes);

}  // namespace shadowprof
