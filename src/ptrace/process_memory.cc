#include "ptrace/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace shadowprof {

Result<UniqueFd> open_process_memory(pid_t pid, int open_flags) {
    const std::string path = fmt::format("/proc/{}/mem", pid);
    UniqueFd fd(::open(path.c_str(), open_flags | O_CLOEXEC));
    if (!fd) {
        if (errno == ENOENT) return errno_error(fmt::format("open '{}'", path), ESRCH);
        return errno_error(fmt::format("open '{}'", path));
    }
    return fd;
}

bool ProcessMemory::read(GuestAddress from, std::span<std::byte> to) {
    while (!to.empty()) {
        const iovec local{to.data(), to.size()};
        const iovec remote{reinterpret_cast<void*>(from.value), to.size()};
        const ssize_t done = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
        if (done <= 0) return read_by_file(from, to);
        from = from + static_cast<std::uint64_t>(done);
        to = to.subspan(static_cast<std::size_t>(done));
    }
    return true;
}

bool ProcessMemory::read_by_file(GuestAddress from, std::span<std::byte> to) {
    if (!file_) {
        auto opened = open_process_memory(pid_, O_RDONLY);
        if (!opened) return false;
        file_ = *std::move(opened);
    }
    while (!to.empty()) {
        const ssize_t done =
            ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(from.value));
        if (done <= 0) {
            file_.reset();  // perhaps of the address space before an exec
            return false;
        }
        from = from + static_cast<std::uint64_t>(done);
        to = to.subspan(static_cast<std::size_t>(done));
    }
    return true;
}

}  // namespace shadowprof
