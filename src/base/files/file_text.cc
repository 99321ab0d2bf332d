#include "base/files/file_text.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "base/files/fd.h"

namespace shadowprof {

Result<UniqueFd> open_for_reading(const std::string& path) {
    if (path == "-") {
        UniqueFd fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
        if (!fd) return errno_error("cannot read standard input");
        return fd;
    }
    // Non-blocking, so that a path that names a pipe cannot hang us.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) return errno_error(fmt::format("cannot open '{}'", path));
    struct stat status;
    if (::fstat(fd.get(), &status) != 0) return errno_error(fmt::format("cannot read '{}'", path));
    if (!S_ISREG(status.st_mode))
        return Error{ErrorCode::invalid, 0, fmt::format("'{}' is not a regular file", path)};
    return fd;
}

Result<std::string> read_file_text(const std::string& path, std::uint64_t max_bytes) {
    TRY_ASSIGN(UniqueFd fd, open_for_reading(path));
    std::string text;
    std::vector<char> buffer(std::size_t{1} << 18);
    for (;;) {
        ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno_error(fmt::format("cannot read '{}'", path));
        if (got == 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > max_bytes)
            return Error{ErrorCode::invalid, 0,
                         fmt::format("'{}' is larger than {} bytes", path, max_bytes)};
    }
}

}  // namespace shadowprof
