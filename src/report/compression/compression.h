// Compressed files, which are known by the ends of their names or by their first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "report/compression/codec.h"

namespace shadowprof {

enum class Compression : std::uint8_t { none, gzip, zstd };

// By the end of a file's name: ".gz", ".zst".
Compression compression_by_name(std::string_view file);
// By the first bytes of a file, of which compression_magic_bytes are enough.
inline constexpr std::size_t compression_magic_bytes = 4;
Compression compression_by_magic(std::string_view first_bytes);
// "gzip", as messages have it.
std::string_view name(Compression compression);
// Errors: ErrorCode::unsupported if this build lacks the library; the message has a remedy.
Result<void> check_supported(Compression compression);

// `sink` must outlive the result. Needs a compression. Errors: check_supported().
Result<std::unique_ptr<Compressor>> make_compressor(Compression compression, ByteSink& sink);

// Needs a compression. Errors: check_supported().
Result<std::unique_ptr<Decompressor>> make_decompressor(Compression compression);

}  // namespace shadowprof
