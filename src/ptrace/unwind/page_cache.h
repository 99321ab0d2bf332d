// Caches pages of an address space.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <unordered_map>

#include "base/guest_address.h"
#include "base/memory_reader.h"

namespace shadowprof {

class PageCache {
  public:
    // The cache is emptied when it holds `max_pages`.
    explicit PageCache(std::size_t max_pages) : max_pages_(max_pages) {}

    void clear() { pages_.clear(); }

    // Copies bytes of one page. Returns false if the page cannot be read from `memory`.
    bool read(MemoryReader& memory, GuestAddress from, std::span<std::byte> to) {
        const Page* page = find(memory, from.page());
        if (!page) return false;
        std::memcpy(to.data(), page->data() + (from - from.page()), to.size());
        return true;
    }

  private:
    using Page = std::array<std::byte, page_bytes>;

    const Page* find(MemoryReader& memory, GuestAddress address) {
        if (const auto it = pages_.find(address); it != pages_.end()) return it->second.get();
        auto page = std::make_unique<Page>();
        if (!memory.read(address, *page)) return nullptr;
        if (pages_.size() >= max_pages_) pages_.clear();
        return pages_.emplace(address, std::move(page)).first->second.get();
    }

    std::size_t max_pages_;
    std::unordered_map<GuestAddress, std::unique_ptr<Page>> pages_;
};

}  // namespace shadowprof
