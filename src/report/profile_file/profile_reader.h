// Reads profiles from files. A file is hostile input: it is either valid and read completely, or
// refused.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

struct ProfileFile {
    Profile profile;
    RecordedSymbols symbols;  // what was known of its locations when it was written
};

// Parses a profile. Members may be in any order, unknown ones are ignored, and absent lists are
// empty. Errors: ErrorCode::unsupported for a schema of another major number, ErrorCode::invalid if
// the text is no profile. Messages name the place.
Result<ProfileFile> parse_profile(std::string_view text);

// The same for a file, "-" for standard input. Messages name the file.
Result<ProfileFile> read_profile(const std::string& path);

}  // namespace shadowprof
