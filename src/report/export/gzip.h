// Compression as gzip does it (RFC 1952).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// The same bytes for the same text: the header has no time in it. Errors: no memory.
Result<std::string> gzipped(std::string_view text);

}  // namespace shadowprof
