#include "report/profile_file/byte_source.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace shadowprof {

ByteSource::ByteSource(std::string_view text) : read_(text.size()) {
    // The stream buffer never writes to it.
    char* const begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
}

ByteSource::int_type ByteSource::underflow() {
    if (!file_ || error_) return traits_type::eof();
    if (read_ >= allowed_until_) {
        error_ =
            Error{ErrorCode::invalid, 0, fmt::format("byte {}: a part of it is too large", read_)};
        return traits_type::eof();
    }
    const auto got = fill();
    if (!got) error_ = got.error();
    if (!got || *got == 0) return traits_type::eof();
    read_ += *got;
    setg(buffer_.data(), buffer_.data(), buffer_.data() + *got);
    return traits_type::to_int_type(*gptr());
}

// Returns the number of bytes that are in the buffer now; 0 at the end.
Result<std::size_t> ByteSource::fill() {
    if (read_ == 0) TRY(recognize());
    if (decompressor_) return decompress();
    if (input_left_.empty()) return read_file(buffer_);
    std::ranges::copy(input_left_, buffer_.begin());
    return std::exchange(input_left_, {}).size();
}

Result<std::size_t> ByteSource::read_file(std::span<char> into) {
    ssize_t got = 0;
    do got = ::read(file_.get(), into.data(), into.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) return errno_error("read");
    read_from_file_ += static_cast<std::uint64_t>(got);
    if (on_read_) on_read_(read_from_file_);
    return static_cast<std::size_t>(got);
}

// A pipe may give its first bytes one by one.
Result<void> ByteSource::recognize() {
    input_.resize(buffer_.size());
    std::size_t bytes = 0;
    while (bytes < compression_magic_bytes) {
        TRY_ASSIGN(const std::size_t got, read_file(std::span(input_).subspan(bytes)));
        if (got == 0) break;
        bytes += got;
    }
    input_left_ = {input_.data(), bytes};
    compression_ = compression_by_magic(input_left_);
    if (compression_ == Compression::none) return {};
    TRY_ASSIGN(decompressor_, make_decompressor(compression_));
    return {};
}

Result<std::size_t> ByteSource::decompress() {
    for (;;) {
        TRY_ASSIGN(const auto progress, decompressor_->decompress(input_left_, buffer_));
        input_left_.remove_prefix(progress.taken);
        if (read_ + progress.made > max_decompressed_)
            return Error{ErrorCode::invalid, 0,
                         fmt::format("decompressed it has more than {} MiB; if that is right, "
                                     "decompress it first",
                                     max_decompressed_ >> 20)};
        if (progress.made != 0) return progress.made;
        if (progress.taken != 0) continue;
        TRY_ASSIGN(const std::size_t got, read_file(input_));
        input_left_ = {input_.data(), got};
        if (got != 0) continue;
        if (decompressor_->is_complete()) return std::size_t{0};
        return Error{ErrorCode::invalid, 0,
                     fmt::format("its {} data ends too early", name(compression_))};
    }
}

}  // namespace shadowprof
