#include "emu/shared_area.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <utility>

namespace shadowprof {

Result<UniqueFd> SharedArea::create_file() {
    UniqueFd fd(memfd_create("shadowprof-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ftruncate(fd.get(), static_cast<off_t>(file_bytes)) != 0 ||
        fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return errno_error("cannot create memory to share with a worker");
    return fd;
}

Result<SharedArea> SharedArea::map_for_supervisor(int fd) {
    SharedArea area;
    void* base = mmap(nullptr, file_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return errno_error("cannot map memory shared with a worker");
    area.base_ = static_cast<std::byte*>(base);
    area.mapped_bytes_ = file_bytes;
    if (mprotect(area.base_ + mailbox_offset, mailbox_bytes, PROT_READ | PROT_WRITE) != 0)
        return errno_error("cannot map memory shared with a worker");
    return area;
}

Result<SharedArea> SharedArea::map_for_worker(int fd) {
    SharedArea area;
    area.guard_bytes_ = TraceBuffer::guard_bytes;
    area.mapped_bytes_ = segments_offset + segments * (area.guard_bytes_ + segment_bytes);
    void* base = mmap(nullptr, area.mapped_bytes_, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return errno_error("worker: cannot reserve address space");
    area.base_ = static_cast<std::byte*>(base);
    const auto place = [&](void* at, std::size_t bytes, std::size_t offset) {
        return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                    static_cast<off_t>(offset)) != MAP_FAILED;
    };
    bool ok = place(area.base_, segments_offset, 0);
    for (std::size_t i = 0; i < segments; ++i)
        ok = ok && place(area.segment(i).base, segment_bytes, segments_offset + i * segment_bytes);
    if (!ok) return errno_error("worker: cannot map the shared memory");
    return area;
}

TraceBuffer SharedArea::segment(std::size_t index) const {
    auto* at = base_ + segments_offset + index * (guard_bytes_ + segment_bytes) + guard_bytes_;
    auto* words = reinterpret_cast<std::uint64_t*>(at);
    return {words, words + segment_words};
}

SharedArea::SharedArea(SharedArea&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      guard_bytes_(other.guard_bytes_) {}

SharedArea& SharedArea::operator=(SharedArea&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(guard_bytes_, other.guard_bytes_);
    return *this;
}

SharedArea::~SharedArea() {
    if (base_) munmap(base_, mapped_bytes_);
}

}  // namespace shadowprof
