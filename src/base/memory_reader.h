// Read access to a frozen or running address space.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>

#include "base/guest_address.h"

namespace shadowprof {

class MemoryReader {
  public:
    virtual ~MemoryReader() = default;
    // Copies bytes out. Returns false if not all of them can be read; `to` is then unspecified.
    virtual bool read(GuestAddress from, std::span<std::byte> to) = 0;
};

class WritableMemory : public MemoryReader {
  public:
    // Copies bytes in. Returns false if any byte is not writable; then nothing or a prefix was
    // written.
    virtual bool write(GuestAddress to, std::span<const std::byte> from) = 0;
};

template <typename T>
std::optional<std::remove_const_t<T>> read_value(MemoryReader& memory, GuestAddress from) {
    std::remove_const_t<T> value;
    if (!memory.read(from, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
}

}  // namespace shadowprof
