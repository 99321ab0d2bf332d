// Where the bytes of a report go.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "base/result.h"

namespace shadowprof {

class ByteSink {
  public:
    virtual ~ByteSink() = default;
    // Writes all of `bytes`. After an error it is unspecified how many of them were written.
    virtual Result<void> write(std::string_view bytes) = 0;
};

class StringSink final : public ByteSink {
  public:
    Result<void> write(std::string_view bytes) override {
        text_.append(bytes);
        return {};
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

// Writes all of `bytes` to a descriptor, in as many calls as that takes. Waits if the descriptor is
// in non-blocking mode and not ready.
inline Result<void> write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EAGAIN) {
            pollfd ready{fd, POLLOUT, 0};
            (void)::poll(&ready, 1, -1);
            continue;
        }
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno_error("write");
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

}  // namespace shadowprof
