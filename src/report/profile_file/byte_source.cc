#include "report/profile_file/byte_source.h"

#include <unistd.h>

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
    ssize_t got = 0;
    do got = ::read(file_.get(), buffer_.data(), buffer_.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) error_ = errno_error("read");
    if (got <= 0) return traits_type::eof();
    read_ += static_cast<std::uint64_t>(got);
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return traits_type::to_int_type(*gptr());
}

}  // namespace shadowprof
