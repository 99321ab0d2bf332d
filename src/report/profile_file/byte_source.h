// Text to be parsed, from memory or from a file that is never in memory as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <streambuf>
#include <string_view>

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

class ByteSource final : public std::streambuf {
  public:
    // `text` must outlive this.
    explicit ByteSource(std::string_view text);
    explicit ByteSource(UniqueFd file) : file_(std::move(file)) {}

    // The number of bytes taken so far.
    std::uint64_t taken() const { return read_ - static_cast<std::uint64_t>(egptr() - gptr()); }
    // From now on, ends with an error after `bytes` more bytes.
    void allow(std::uint64_t bytes) { allowed_until_ = taken() + bytes; }
    // The error because of which the source seemed to end.
    const std::optional<Error>& error() const { return error_; }

  protected:
    int_type underflow() override;

  private:
    UniqueFd file_;  // none: in memory
    std::array<char, 1 << 16> buffer_;
    std::uint64_t read_ = 0, allowed_until_ = UINT64_MAX;
    std::optional<Error> error_;
};

}  // namespace shadowprof
