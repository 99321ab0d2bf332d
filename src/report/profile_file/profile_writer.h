// Writes a profile as JSON, in the format of docs/profile.schema.json.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

#include "base/files/byte_sink.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

inline constexpr std::string_view profile_schema = "shadowprof/1";

struct WriteOptions {
    // Entries of each list to write. The profile's notes name the lists that were cut.
    std::size_t top = std::numeric_limits<std::size_t>::max();
};

// Writes `profile` with what `symbols` knows of its locations. Methods are derived if the profile
// has none. Errors: those of the sink.
Result<void> write_profile(const Profile& profile, SymbolSource& symbols, ByteSink& sink,
                           const WriteOptions& options = {});

}  // namespace shadowprof
