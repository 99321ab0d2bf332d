#include "emu/worker/shared_area.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <utility>

namespace shadowprof {

Result<UniqueFd> SharedArea::create_file() {
    UniqueFd fd(memfd_create("shadowprof-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ftruncate(fd.get(), static_cast<off_t>(file_bytes)) != 0 ||
        fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return errno_error("cannot create memory to share with the emulator's process");
    return fd;
}

Result<SharedArea> SharedArea::map_for_supervisor(int fd) {
    void* base = mmap(nullptr, file_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return errno_error("cannot map memory shared with the emulator's process");
    SharedArea area(base);
    if (mprotect(area.base_ + mailbox_offset, mailbox_bytes, PROT_READ | PROT_WRITE) != 0)
        return errno_error("cannot map memory shared with the emulator's process");
    return area;
}

Result<SharedArea> SharedArea::map_for_worker(int fd) {
    void* base = mmap(nullptr, file_bytes, PROT_NONE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return errno_error("worker: cannot map the shared memory");
    SharedArea area(base);
    if (mprotect(area.base_ + segments_offset, file_bytes - segments_offset,
                 PROT_READ | PROT_WRITE))
        return errno_error("worker: cannot map the shared memory");
    area.growing_mailbox_ = {area.mailbox(), PROT_READ | PROT_WRITE, mailbox_step_bytes};
    return area;
}

SharedArea::SharedArea(SharedArea&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), growing_mailbox_(other.growing_mailbox_) {}

SharedArea& SharedArea::operator=(SharedArea&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(growing_mailbox_, other.growing_mailbox_);
    return *this;
}

SharedArea::~SharedArea() {
    if (base_) munmap(base_, file_bytes);
}

}  // namespace shadowprof
