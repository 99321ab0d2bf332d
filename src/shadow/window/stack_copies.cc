#include "shadow/window/stack_copies.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace shadowprof {

void StackCopies::copy(pid_t pid, std::size_t thread, GuestAddress stack_pointer) {
    if (has(thread)) return;
    if (copies_.size() <= thread) copies_.resize(thread + 1);
    for (; used_ <= thread; ++used_) copies_[used_].taken = false;
    auto& copy = copies_[thread];
    const auto most = thread == 0 ? first_bytes : more_bytes;
    if (copy.bytes.size() < most) copy.bytes.resize(most);
    copy.taken = true;
    copy.start = stack_pointer.page();
    // One element for each page, as the copy ends at the first one that cannot be read.
    std::array<iovec, first_bytes / page_bytes> pages;
    for (std::size_t i = 0; i < most / page_bytes; ++i)
        pages[i] = {reinterpret_cast<void*>(copy.start.value + i * page_bytes), page_bytes};
    const iovec to{copy.bytes.data(), most};
    const ssize_t got = ::process_vm_readv(pid, &to, 1, pages.data(), most / page_bytes, 0);
    copy.length = got > 0 ? static_cast<std::size_t>(got) : 0;
}

bool CopiedStack::read(GuestAddress from, std::span<std::byte> to) {
    const auto offset = from.value - copy_.start.value;
    if (offset <= copy_.length && to.size() <= copy_.length - offset) {
        std::memcpy(to.data(), copy_.bytes.data() + offset, to.size());
        return true;
    }
    const Mapping* mapping = map_.find(from);
    if (!mapping || !mapping->is_file() || mapping->writable) return false;
    const auto got = ::pread(memory_fd_, to.data(), to.size(), static_cast<off_t>(from.value));
    if (got == static_cast<ssize_t>(to.size())) return true;
    lost_ = true;
    return false;
}

}  // namespace shadowprof
