// Compresses as gzip does (RFC 1952).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

// The same text always gives the same bytes, as the header has no time. Errors: out of memory.
Result<std::string> gzipped(std::string_view text);

}  // namespace shadowprof
