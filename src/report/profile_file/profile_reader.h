// Reads profiles from files. A file is hostile input: it is either valid and read completely, or
// refused.
#pragma once

#include <cstdint>
#include <functional>
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

struct ReadProgress {
    std::string_view path;
    std::uint64_t bytes = 0;  // read so far
    std::uint64_t size = 0;   // of the file; 0: unknown
    bool is_done = false;
};
// Called often while a file is read, and once with `is_done` afterwards, whatever came of it.
using ReadListener = std::function<void(const ReadProgress&)>;

// The same for a file, "-" for standard input. Messages name the file. `on_read` may be empty.
Result<ProfileFile> read_profile(const std::string& path, const ReadListener& on_read = {});

}  // namespace shadowprof
