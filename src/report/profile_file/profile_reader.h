// Profiles out of files. A file is hostile input: it is read whole and right, or refused.
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

// Reads the text of a profile; members may stand in any order, unknown ones are passed over, absent
// lists are empty. Errors: ErrorCode::unsupported for a schema of another major number, invalid for
// what is no profile; messages say where.
Result<ProfileFile> parse_profile(std::string_view text);

// The same of a file, "-" for standard input. Messages name the file.
Result<ProfileFile> read_profile(const std::string& path);

}  // namespace shadowprof
