// The pages that a run has read of its snapshot. They are enough to repeat the run when the
// snapshot has gone on, and its supervisor sees from them what has changed since.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/guest_address.h"
#include "emu/guest/guest_memory.h"

namespace shadowprof {

// Lies in the memory that a worker shares with its supervisor, to whom all of it is hostile.
struct RecordedPages {
    static constexpr std::size_t most_pages = 1024;

    // The number of the recording, if the run has read no other pages.
    std::uint64_t whole = 0;
    std::uint64_t count = 0;
    std::array<GuestAddress, most_pages> addresses;
    alignas(page_bytes) std::array<std::array<std::byte, page_bytes>, most_pages> contents;
};

// Knows which pages were recorded when it was made. Their contents are read only when somebody
// asks.
class RecordedPagesView {
  public:
    // `pages` must outlive it.
    explicit RecordedPagesView(const RecordedPages& pages);
    // Nothing: that is not the recording, or it is not whole.
    static std::optional<RecordedPagesView> of(const RecordedPages& pages, std::uint64_t number);

    bool has(GuestAddress page) const { return places_.contains(page); }
    // False: the page is not there.
    bool read(GuestAddress page, std::span<std::byte, page_bytes> to) const;

  private:
    const RecordedPages* pages_;
    std::map<GuestAddress, std::size_t> places_;
};

// The worker's end. Nothing is recorded but to memory that was touched before: in a stop of the
// program, the first touch of a page would be dear.
class PageRecording {
  public:
    // `pages` must outlive it.
    explicit PageRecording(RecordedPages& pages) : pages_(pages) {}

    // A run begins, of which all is recorded that there is room for. `number` is not 0.
    void begin(std::uint64_t number);
    void add(GuestAddress from, std::span<const std::byte> bytes);
    // The recording ends: later reads are not in it.
    void close() { is_open_ = false; }
    // When no program waits: makes room for more than the last run has read.
    void make_room();
    const RecordedPages& pages() const { return pages_; }

  private:
    RecordedPages& pages_;
    bool is_open_ = false;
    std::size_t room_ = 0;    // in pages
    std::size_t wanted_ = 0;  // by the run
};

// A snapshot whose pages are recorded as they are read.
class RecordingSource final : public PageSource {
  public:
    // `recording` must outlive it.
    RecordingSource(std::unique_ptr<PageSource> source, PageRecording& recording)
        : source_(std::move(source)), recording_(recording) {}

    bool read_pages(GuestAddress from, std::span<std::byte> to) override {
        if (!source_->read_pages(from, to)) return false;
        recording_.add(from, to);
        return true;
    }
    bool is_over() const override { return source_->is_over(); }

  private:
    std::unique_ptr<PageSource> source_;
    PageRecording& recording_;
};

// A snapshot as the last run saw it.
class RecordedSource final : public PageSource {
  public:
    // `pages` must outlive it.
    explicit RecordedSource(const RecordedPages& pages) : pages_(pages) {}

    bool read_pages(GuestAddress from, std::span<std::byte> to) override;

  private:
    RecordedPagesView pages_;
};

}  // namespace shadowprof
