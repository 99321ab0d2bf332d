#include "ptrace/unwind/stack_copy.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace shadowprof {

void StackCopy::take(pid_t pid, GuestAddress stack_pointer, std::size_t bytes) {
    if (bytes_.size() < bytes) bytes_.resize(bytes);
    start_ = stack_pointer.page();
    wanted_ = bytes;
    // One element for each page, as the copy ends at the first one that cannot be read.
    std::array<iovec, max_bytes / page_bytes> pages;
    const std::size_t count = bytes / page_bytes;
    for (std::size_t i = 0; i < count; ++i)
        pages[i] = {reinterpret_cast<void*>(start_.value + i * page_bytes), page_bytes};
    const iovec to{bytes_.data(), bytes};
    const ssize_t got = ::process_vm_readv(pid, &to, 1, pages.data(), count, 0);
    length_ = got > 0 ? static_cast<std::size_t>(got) : 0;
}

void StackCopy::set(GuestAddress stack_pointer, std::span<const std::byte> bytes,
                    std::size_t wanted) {
    start_ = stack_pointer.page();
    const std::size_t before = stack_pointer - start_;
    bytes_.assign(before, std::byte{0});
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    length_ = bytes_.size();
    wanted_ = before + wanted;
}

bool CopiedStack::read(GuestAddress from, std::span<std::byte> to) {
    const auto offset = from.value - copy_.start_.value;
    if (offset <= copy_.length_ && to.size() <= copy_.length_ - offset) {
        std::memcpy(to.data(), copy_.bytes_.data() + offset, to.size());
        return true;
    }
    const Mapping* mapping = map_.find(from);
    if (!mapping || !mapping->is_file() || mapping->writable) {
        const bool is_above = offset >= copy_.length_ && offset < 2 * StackCopy::max_bytes;
        is_cut_ |= mapping && is_above && copy_.length_ == copy_.wanted_;
        return false;
    }
    const auto got = ::pread(memory_fd_, to.data(), to.size(), static_cast<off_t>(from.value));
    if (got == static_cast<ssize_t>(to.size())) return true;
    lost_ = true;
    return false;
}

}  // namespace shadowprof
