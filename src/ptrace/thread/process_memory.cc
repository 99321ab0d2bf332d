#include "ptrace/thread/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace shadowprof {
namespace {

constexpr std::size_t max_pages_at_a_time = 64;

}  // namespace

Result<UniqueFd> open_process_memory(pid_t pid, int open_flags) {
    const std::string path = fmt::format("/proc/{}/mem", pid);
    UniqueFd fd(::open(path.c_str(), open_flags | O_CLOEXEC));
    if (!fd) {
        if (errno == ENOENT) return errno_error(fmt::format("open '{}'", path), ESRCH);
        return errno_error(fmt::format("open '{}'", path));
    }
    return fd;
}

// A page that cannot be read ends the call, so the next call starts behind it.
std::vector<bool> read_pages(pid_t pid, std::span<const GuestAddress> pages,
                             std::span<std::byte> to) {
    std::vector<bool> was_read(pages.size());
    std::array<iovec, max_pages_at_a_time> remote;
    for (std::size_t next = 0; next < pages.size();) {
        const auto count = std::min(pages.size() - next, remote.size());
        for (std::size_t i = 0; i < count; ++i)
            remote[i] = {reinterpret_cast<void*>(pages[next + i].value), page_bytes};
        const iovec local{to.data() + next * page_bytes, count * page_bytes};
        const ssize_t done = ::process_vm_readv(pid, &local, 1, remote.data(), count, 0);
        const auto whole = done <= 0 ? 0 : static_cast<std::size_t>(done) / page_bytes;
        for (std::size_t i = 0; i < whole; ++i) was_read[next + i] = true;
        next += whole + (whole < count);
    }
    return was_read;
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

bool WritableProcessMemory::write(GuestAddress to, std::span<const std::byte> from) {
    const iovec local{const_cast<std::byte*>(from.data()), from.size()};
    const iovec remote{reinterpret_cast<void*>(to.value), from.size()};
    return ::process_vm_writev(pid_, &local, 1, &remote, 1, 0) == std::ssize(from);
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
            file_.reset();  // it may belong to the address space before an exec
            return false;
        }
        from = from + static_cast<std::uint64_t>(done);
        to = to.subspan(static_cast<std::size_t>(done));
    }
    return true;
}

}  // namespace shadowprof
