// Compares the memory that a run wrote to with what a snapshot shows.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "emu/guest/guest_memory.h"
#include "emu/worker/worker_protocol.h"

namespace shadowprof {

// Compares adjacent pages at once. `source` must outlive this object.
class PageComparison {
  public:
    PageComparison(PageSource& source, const CompareMessage& request)
        : source_(source), request_(request) {}

    void add(GuestAddress page, std::span<const std::byte> emulated) {
        if (count_ == max_pages || (count_ != 0 && page != first_ + count_ * page_bytes)) flush();
        if (count_ == 0) first_ = page;
        emulated_[count_++] = emulated.data();
    }
    // Adds differences that were found before.
    void add(std::span<const MemoryDifference> differences) {
        for (const auto& difference : differences) note(difference);
    }
    const ComparedMessage& finish() {
        flush();
        return result_;
    }

  private:
    static constexpr std::size_t max_pages = 16;

    void flush() {
        const auto count = std::exchange(count_, 0);
        if (count == 0) return;
        const bool all = source_.read_pages(first_, std::span(native_).first(count * page_bytes));
        for (std::size_t i = 0; i < count; ++i) {
            const auto native = std::span(native_).subspan(i * page_bytes, page_bytes);
            const auto page = first_ + i * page_bytes;
            ++result_.pages_compared;
            if (all || source_.read_pages(page, native))
                compare(page, native, {emulated_[i], page_bytes});
            else
                ++result_.pages_unreadable;
        }
    }

    void compare(GuestAddress page, std::span<const std::byte> native,
                 std::span<const std::byte> emulated) {
        if (std::memcmp(native.data(), emulated.data(), page_bytes) == 0) return;
        for (std::size_t i = 0; i < page_bytes; ++i) {
            const auto at = page + i;
            if (native[i] == emulated[i] ||
                (request_.excluded_start <= at && at < request_.excluded_end))
                continue;
            note({at, std::to_integer<std::uint8_t>(emulated[i]),
                  std::to_integer<std::uint8_t>(native[i])});
            return;
        }
    }

    void note(const MemoryDifference& difference) {
        if (result_.pages_different < ComparedMessage::max_differences)
            result_.differences[result_.pages_different] = difference;
        ++result_.pages_different;
    }

    PageSource& source_;
    const CompareMessage request_;
    ComparedMessage result_ = {};
    GuestAddress first_;
    std::size_t count_ = 0;
    std::array<const std::byte*, max_pages> emulated_;
    std::array<std::byte, max_pages * page_bytes> native_;
};

}  // namespace shadowprof
