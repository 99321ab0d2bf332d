// Compresses as gzip does (RFC 1952).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "report/compression/codec.h"

namespace shadowprof {

Result<std::unique_ptr<Compressor>> gzip_compressor(ByteSink& sink);
// Takes files of several members, which gzip puts behind each other.
Result<std::unique_ptr<Decompressor>> gzip_decompressor();

// The same text always gives the same bytes, as the header has no time. Errors: out of memory.
Result<std::string> gzipped(std::string_view text);

}  // namespace shadowprof
