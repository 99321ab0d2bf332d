// An allocator that asks for huge pages for allocations of 2 MiB and more. It is for large tables
// that are accessed at random, where most accesses would otherwise miss the translation look-aside
// buffer. In virtual machines such a miss costs as much as a cache miss.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace shadowprof {

template <typename T>
struct HugePageAllocator {
    using value_type = T;
    static constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

    HugePageAllocator() = default;
    template <typename U>
    HugePageAllocator(const HugePageAllocator<U>&) {}

    T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        if (bytes < huge_page_bytes) return static_cast<T*>(::operator new(bytes));
        const std::size_t whole = (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
        void* memory = std::aligned_alloc(huge_page_bytes, whole);
        if (memory == nullptr) throw std::bad_alloc();
        // A kernel without huge pages ignores the advice.
        madvise(memory, whole, MADV_HUGEPAGE);
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t count) {
        if (count * sizeof(T) < huge_page_bytes)
            ::operator delete(memory);
        else
            std::free(memory);
    }
    friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) = default;
};

}  // namespace shadowprof
