// The pages that a run has read from its snapshot. They suffice to repeat the run when the snapshot
// is gone, and from them the supervisor sees what has changed since.
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

// Lies in memory that a worker shares with its supervisor, to which all of it is hostile.
struct RecordedPages {
    static constexpr std::size_t max_pages = 1024;

    // The number of the recording if it has every page that the run read until close(), else 0.
    std::uint64_t whole = 0;
    std::uint64_t count = 0;
    std::array<GuestAddress, max_pages> addresses;
    alignas(page_bytes) std::array<std::array<std::byte, page_bytes>, max_pages> contents;
};

// An index of the pages that were recorded when it was made. Contents are read only on request.
class RecordedPagesView {
  public:
    // `pages` must outlive the view.
    explicit RecordedPagesView(const RecordedPages& pages);
    // Nothing if `pages` holds another recording, or one that is not whole.
    static std::optional<RecordedPagesView> of(const RecordedPages& pages, std::uint64_t number);

    bool has(GuestAddress page) const { return places_.contains(page); }
    // False if the page was not recorded.
    bool read(GuestAddress page, std::span<std::byte, page_bytes> to) const;

  private:
    const RecordedPages* pages_;
    std::map<GuestAddress, std::size_t> places_;
};

// The worker's end. Only memory that was touched before is recorded to, as first touches would
// lengthen a stop of the target.
class PageRecording {
  public:
    // `pages` must outlive the recording.
    explicit PageRecording(RecordedPages& pages) : pages_(pages) {}

    // Begins a run. Its pages are recorded as far as there is room. `number` is not 0.
    void begin(std::uint64_t number);
    void add(GuestAddress from, std::span<const std::byte> bytes);
    // Ends the recording: later reads are not in it.
    void close() { is_open_ = false; }
    // Makes room for more pages than the last run has read. To be called when no process waits.
    void make_room();
    const RecordedPages& pages() const { return pages_; }

  private:
    RecordedPages& pages_;
    bool is_open_ = false;
    std::size_t room_ = 0;    // in pages
    std::size_t wanted_ = 0;  // pages that the run has read
};

// A snapshot whose pages are recorded as they are read.
class RecordingSource final : public PageSource {
  public:
    // `recording` must outlive the source.
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

// A snapshot as the last run saw it. Only recorded pages can be read.
class RecordedSource final : public PageSource {
  public:
    // `pages` must outlive the source.
    explicit RecordedSource(const RecordedPages& pages) : pages_(pages) {}

    bool read_pages(GuestAddress from, std::span<std::byte> to) override;

  private:
    RecordedPagesView pages_;
};

}  // namespace shadowprof
