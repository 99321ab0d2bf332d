// Text to be parsed, from memory or from a file that is never in memory as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <streambuf>
#include <string_view>
#include <vector>

#include "base/files/fd.h"
#include "base/result.h"
#include "report/compression/compression.h"

namespace shadowprof {

// A small file can decompress to any size, so that is limited. Files that are not compressed may
// have any size.
inline constexpr std::uint64_t max_decompressed_bytes = std::uint64_t{256} << 20;

class ByteSource final : public std::streambuf {
  public:
    // `text` must outlive this.
    explicit ByteSource(std::string_view text);
    // Decompresses the file if its first bytes say that it is compressed.
    explicit ByteSource(UniqueFd file, std::uint64_t max_decompressed = max_decompressed_bytes)
        : file_(std::move(file)), max_decompressed_(max_decompressed) {}

    // Calls `on_read` after each read from the file, with the bytes that were read so far, before
    // they are decompressed.
    void tell(std::function<void(std::uint64_t bytes)> on_read) { on_read_ = std::move(on_read); }
    // The number of bytes taken so far.
    std::uint64_t taken() const { return read_ - static_cast<std::uint64_t>(egptr() - gptr()); }
    // From now on, ends with an error after `bytes` more bytes.
    void allow(std::uint64_t bytes) { allowed_until_ = taken() + bytes; }
    // The error because of which the source seemed to end.
    const std::optional<Error>& error() const { return error_; }

  protected:
    int_type underflow() override;

  private:
    using Buffer = std::array<char, 1 << 16>;

    Result<std::size_t> fill();
    Result<std::size_t> read_file(std::span<char> into);
    Result<void> recognize();
    Result<std::size_t> decompress();

    UniqueFd file_;  // none: in memory
    std::function<void(std::uint64_t)> on_read_;
    std::uint64_t read_from_file_ = 0;
    std::uint64_t max_decompressed_ = 0;
    Buffer buffer_;
    std::uint64_t read_ = 0, allowed_until_ = UINT64_MAX;
    std::optional<Error> error_;
    // Of a compressed file.
    Compression compression_ = Compression::none;
    std::unique_ptr<Decompressor> decompressor_;
    std::vector<char> input_;
    std::string_view input_left_;
};

}  // namespace shadowprof
