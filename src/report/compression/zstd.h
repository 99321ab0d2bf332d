// Compresses as zstd does (RFC 8878), if libzstd was there when this was built.
#pragma once

#include <memory>

#include "report/compression/codec.h"

namespace shadowprof {

// Errors: ErrorCode::unsupported without libzstd; the message has a remedy.
Result<void> zstd_support();
// Errors: zstd_support().
Result<std::unique_ptr<Compressor>> zstd_compressor(ByteSink& sink);
Result<std::unique_ptr<Decompressor>> zstd_decompressor();

}  // namespace shadowprof
