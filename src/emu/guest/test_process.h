// The process that makes a guest's system calls, for tests: its memory without the process.
#pragma once

#include <cstring>
#include <vector>

#include "base/memory_map.h"
#include "base/memory_reader.h"
#include "emu/guest/guest_memory.h"

namespace shadowprof {

class TestProcess final : public PageSource, public WritableMemory {
  public:
    // Where its memory begins, and how much there is.
    static constexpr GuestAddress base{0x5000'0000'0000};
    static constexpr std::size_t pages = 128;

    static Mapping mapping(std::uint64_t first_page, std::uint64_t count) {
        Mapping m;
        m.start = base + first_page * page_bytes;
        m.end = m.start + count * page_bytes;
        m.readable = m.writable = true;
        return m;
    }

    bool read_pages(GuestAddress from, std::span<std::byte> to) override { return read(from, to); }
    bool read(GuestAddress from, std::span<std::byte> to) override {
        if (!has(from, to.size())) return false;
        std::memcpy(to.data(), &bytes[from - base], to.size());
        return true;
    }
    bool write(GuestAddress to, std::span<const std::byte> from) override {
        if (!has(to, from.size())) return false;
        std::memcpy(&bytes[to - base], from.data(), from.size());
        written += from.size();
        return true;
    }
    std::byte& at(std::uint64_t offset) { return bytes[offset]; }

    std::vector<std::byte> bytes = std::vector<std::byte>(pages * page_bytes);
    std::size_t written = 0;     // bytes
    std::size_t first_page = 0;  // pages below are not there

  private:
    bool has(GuestAddress from, std::size_t size) const {
        return from >= base + first_page * page_bytes && from - base + size <= bytes.size();
    }
};

}  // namespace shadowprof
