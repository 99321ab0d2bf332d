// What compresses and decompresses a stream of bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/files/byte_sink.h"
#include "base/result.h"

namespace shadowprof {

// Compresses what is written to it. The same text always gives the same bytes. Errors: those of the
// sink behind it, and out of memory.
class Compressor : public ByteSink {
  public:
    // Writes what is left. To be called once, at the end.
    virtual Result<void> finish() = 0;
};

// Decompresses hostile data, part by part.
class Decompressor {
  public:
    struct Progress {
        std::size_t taken = 0, made = 0;  // bytes
    };

    virtual ~Decompressor() = default;
    // Decompresses some of `in` to the beginning of `out`. Both are 0 only if it needs more input.
    // Errors: ErrorCode::invalid if the data is damaged.
    virtual Result<Progress> decompress(std::string_view in, std::span<char> out) = 0;
    // Whether the data is complete if nothing follows what was taken.
    virtual bool is_complete() const = 0;
};

}  // namespace shadowprof
