#include "emu/guest/page_recording.h"

#include <algorithm>

namespace shadowprof {
namespace {

// make_room() provides spare_pages more than the last run has read, but adds at most max_new_pages
// at a time.
constexpr std::size_t spare_pages = 64;
constexpr std::size_t max_new_pages = 256;

// Reads the value once, as the other process may change it.
std::uint64_t load_shared(const std::uint64_t& shared) {
    return __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
}

}  // namespace

RecordedPagesView::RecordedPagesView(const RecordedPages& pages) : pages_(&pages) {
    const auto count = std::min<std::size_t>(load_shared(pages.count), RecordedPages::max_pages);
    for (std::size_t i = 0; i < count; ++i) places_.emplace(pages.addresses[i], i);
}

std::optional<RecordedPagesView> RecordedPagesView::of(const RecordedPages& pages,
                                                       std::uint64_t number) {
    if (load_shared(pages.whole) != number) return std::nullopt;
    return RecordedPagesView(pages);
}

bool RecordedPagesView::read(GuestAddress page, std::span<std::byte, page_bytes> to) const {
    const auto place = places_.find(page);
    if (place == places_.end()) return false;
    std::ranges::copy(pages_->contents[place->second], to.begin());
    return true;
}

void PageRecording::begin(std::uint64_t number) {
    pages_.count = 0;
    pages_.whole = number;
    wanted_ = 0;
    is_open_ = true;
}

void PageRecording::add(GuestAddress from, std::span<const std::byte> bytes) {
    if (!is_open_) return;
    for (; bytes.size() >= page_bytes;
         bytes = bytes.subspan(page_bytes), from = from + page_bytes) {
        if (wanted_++ >= room_) {
            pages_.whole = 0;
            continue;
        }
        pages_.addresses[wanted_ - 1] = from;
        std::ranges::copy(bytes.first(page_bytes), pages_.contents[wanted_ - 1].begin());
        pages_.count = wanted_;
    }
}

void PageRecording::make_room() {
    const auto room =
        std::min({wanted_ + spare_pages, room_ + max_new_pages, RecordedPages::max_pages});
    for (; room_ < room; ++room_) pages_.contents[room_].fill({});
}

bool RecordedSource::read_pages(GuestAddress from, std::span<std::byte> to) {
    for (; to.size() >= page_bytes; to = to.subspan(page_bytes), from = from + page_bytes)
        if (!pages_.read(from, to.first<page_bytes>())) return false;
    return to.empty();
}

}  // namespace shadowprof
