// A guest's address space as a sample sees it. Changes stay in the sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/guest_address.h"
#include "base/memory_map.h"
#include "base/memory_reader.h"
#include "base/result.h"

namespace shadowprof {

struct Protection {
    bool readable = false;
    bool writable = false;
    bool executable = false;
};

// read() and write() fail where the guest's own access would (EFAULT).
class GuestSpace : public WritableMemory {
  public:
    // The mapping that contains `address`, or null.
    virtual const Mapping* find(GuestAddress address) const = 0;
    // The first mapping that ends after `address`, or null.
    virtual const Mapping* find_at_or_after(GuestAddress address) const = 0;
    // A free, page-aligned range of `size_bytes`, where the kernel would put it (below the lowest
    // mapping of the mmap area); nothing if there is no room.
    virtual std::optional<GuestAddress> find_free(std::uint64_t size_bytes) const = 0;

    // Maps zero-filled memory at a page-aligned range and replaces what was mapped there.
    // Observation-ups then show `mapping` as it was given.
    virtual bool map(const Mapping& mapping) = 0;
    // Removes mappings from a page-aligned range, which may have holes.
    virtual bool unmap(GuestAddress start, std::uint64_t size_bytes) = 0;
    // Changes the protection of a page-aligned range. False if part of it is not mapped.
    virtual bool protect(GuestAddress start, std::uint64_t size_bytes, Protection protection) = 0;
};

// Writes a typed value, as read_value() of MemoryReader reads one.
template <typename T>
bool guest_store(GuestSpace& space, GuestAddress to, const T& value) {
    return space.write(to, std::as_bytes(std::span(&value, 1)));
}

}  // namespace shadowprof
