// The guest's memory in the emulating process. Every guest address lies at the same distance, the
// delta, from itself, so that translated code reaches it without a look-up. If the guest leaves the
// low third of its address space free, no guest address reaches this process's own memory;
// otherwise a stray access to accessible memory of this process does not fault
// (docs/verification.md). Pages are fetched from the snapshot when first touched; writes stay here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/memory_range.h"
#include "base/result.h"
#include "emu/guest/guest_space.h"
#include "emu/guest/segment_bases.h"

namespace shadowprof {

// The default of RLIMIT_STACK.
inline constexpr std::uint64_t usual_stack_limit_bytes = std::uint64_t{8} << 20;

// Where a sample's memory comes from.
class PageSource {
  public:
    virtual ~PageSource() = default;
    // Reads whole pages of the snapshot. False if one of them cannot be read.
    virtual bool read_pages(GuestAddress from, std::span<std::byte> to) = 0;
    // True if nothing can be read any more.
    virtual bool is_over() const { return false; }
};

struct GuestMemoryCounters {
    std::uint64_t fetches = 0;  // first touches of a chunk
    std::uint64_t pages_fetched = 0;
    std::uint64_t pages_reread = 0;  // pages that were already in place: see read_ahead()
    std::uint64_t code_writes = 0;   // writes to pages that code was translated from
};

// A byte of this memory that differs from the source's.
struct MemoryDifference {
    GuestAddress address;
    std::uint8_t emulated;
    std::uint8_t native;
};

// A set of page ranges that only grows.
class PageRanges {
  public:
    void add(GuestAddress start, GuestAddress end);
    bool contains(GuestAddress address) const;
    void clear() { ranges_.clear(); }
    // Calls visit(start, end) for each range.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [start, end] : ranges_) visit(GuestAddress{start}, GuestAddress{end});
    }

  private:
    std::map<std::uint64_t, std::uint64_t> ranges_;  // start to end, disjoint
};

// How long a sample's pages stay, and when they are dirty.
enum class PageUse : std::uint8_t {
    once,     // by this sample alone: they are dropped at its end
    tracked,  // a page is dirty only from its first write on; see GuestMemory::next_interval()
    again,    // they stay in place for the next sample that has this use: see read_ahead()
};

class GuestMemory final : public GuestSpace {
  public:
    // Called with a range whose code may be about to change: a watched page that is written to, or
    // mappings that are replaced, removed or made writable.
    using CodeChangeListener = std::function<void(GuestAddress start, GuestAddress end)>;

    // Looks up this process's own mappings, which no guest page may replace.
    explicit GuestMemory(CodeChangeListener listener = {},
                         SegmentBases bases = host_segment_bases());
    ~GuestMemory() override;
    GuestMemory(const GuestMemory&) = delete;
    GuestMemory& operator=(const GuestMemory&) = delete;

    // Begins a sample over a snapshot. Chooses the delta; unsupported if no distance is free.
    // `source` must outlive the sample.
    Result<void> begin(MemoryMap map, PageSource& source, PageUse use = PageUse::once);
    // Reads the pages that recent runs touched, at a fraction of the cost of first touches. To be
    // called before the guest runs, with PageUse::again. If the source is_over() afterwards, the
    // guest must not run. A repeated run does not change the choice of these pages.
    enum class Run : std::uint8_t { once, repeated };
    void read_ahead(Run run = Run::once);
    // What this sample touches from now on does not decide which pages are read ahead.
    void stop_learning() { learns_ = false; }
    // Ends the sample. Pages are dropped, or with PageUse::again stay for the next one, which
    // rereads whatever the guest may have written to. Code that is mapped from a file and not
    // writable is taken to be unchanged where the mappings are.
    void end_sample();
    // How far the stack may grow: RLIMIT_STACK, in bytes. Holds until it is set again.
    void set_stack_limit(std::uint64_t bytes) { stack_limit_bytes_ = bytes; }
    // Says that the source now has the contents of this memory, and goes on from there. Pages stay.
    // After compared(), pages that were written to a while ago are clean again.
    void next_interval();
    // Says that all dirty pages were compared with the source, which shows the end of this
    // interval.
    void compared() { compared_ = true; }
    // Takes over changed mappings of the source and drops the pages that they show differently. May
    // change the delta. False if there is no room; then only begin() may follow.
    bool change_layout(MemoryMap map);
    // Says that the source has changed in these ranges. Where a range covers only part of a dirty
    // page, the rest of the page is compared first: see replaced_differences().
    void refresh(std::span<const MemoryRange> changed);
    // Differences that refresh() found since the last compared interval: the first byte of each
    // page that differs.
    const std::vector<MemoryDifference>& replaced_differences() const {
        return replaced_differences_;
    }
    // Says that the source may have changed wherever it can be written to, or emptied.
    void refresh_writable();

    // From now on, until begin(), shared mappings of this file are the file itself, as others may
    // write to it at any time. To be called between runs or within a system call.
    void share_file(std::uint64_t device, std::uint64_t inode, UniqueFd file);
    // With PageUse::tracked, `process` is a process that makes the guest's system calls, on memory
    // of its own. It shows what the source shows.
    //
    // Brings what the guest has written in these ranges to the process. False if the process has no
    // such memory.
    bool give(std::span<const MemoryRange> ranges, WritableMemory& process);
    // The same for all that the guest has written. Pages that were written to a while ago are clean
    // afterwards.
    bool give_all(WritableMemory& process);
    // The same for the stack, which the process may have to make larger.
    bool give_stack(WritableMemory& process);
    // From now on the kernel may write to these ranges of the process at any time, so that nothing
    // is brought there. They replace those of the last call.
    void leave_to_kernel(std::vector<MemoryRange> ranges);
    // Whether any of this page is left to it.
    bool is_left_to_kernel(GuestAddress page) const;
    // Takes what the process has in these ranges. Bytes that it cannot show stay as they are.
    void take(std::span<const MemoryRange> ranges, MemoryReader& process);
    // Drops every page, also those written to, and the mappings.
    void end();
    // Drops every page; they are fetched anew from the source, which has taken over all writes.
    void drop_pages();

    // Added to a guest address, gives its address here. begin(), change_layout() and map() may
    // change it.
    std::uint64_t delta() const { return delta_; }
    std::byte* host(GuestAddress a) const { return reinterpret_cast<std::byte*>(a.value + delta_); }

    // What a memory fault at a guest address means.
    enum class Fault { resolved, code_write, guest, unreadable };
    // Resolves a first touch. `code_write`: the guest may write to the page, but it holds
    // translated code: see allow_code_write(). `guest`: the guest itself must not do that.
    // `unreadable`: the guest may access the mapping, but the source has no such page; behind the
    // end of a mapped file there is none natively either.
    Fault on_fault(GuestAddress address, bool is_write);

    // Makes bytes at `address` readable and returns them, up to the end of their page; empty if the
    // guest cannot read there.
    std::span<const std::byte> readable_bytes(GuestAddress address);
    // As readable_bytes(), but empty for memory that may not be executed.
    std::span<const std::byte> executable_bytes(GuestAddress address);
    // Whether the address was mapped in this sample, so that the source does not show it.
    bool is_fresh(GuestAddress address) const { return fresh_.contains(address); }
    // Copies bytes of the snapshot to their place within one page, for a source that does not show
    // them. False if the guest has no such page.
    bool fill(GuestAddress from, std::span<const std::byte> bytes);
    // From now on, a write of the guest to this page is a Fault::code_write.
    void watch_code_page(GuestAddress page);
    // Undoes watch_code_page().
    void allow_code_write(GuestAddress page);

    // Calls `visit` for each page that was, or may have been, written to in this sample.
    void for_each_dirty_page(
        const std::function<void(GuestAddress, std::span<const std::byte>)>& visit) const;
    const MemoryMap& layout() const { return map_; }
    // Whether the mappings were changed in this sample.
    bool layout_changed() const { return layout_changed_; }

    const GuestMemoryCounters& counters() const { return counters_; }

    bool read(GuestAddress from, std::span<std::byte> to) override;
    bool write(GuestAddress to, std::span<const std::byte> from) override;
    const Mapping* find(GuestAddress address) const override { return map_.find(address); }
    const Mapping* find_at_or_after(GuestAddress address) const override {
        return map_.find_at_or_after(address);
    }
    // A gap below the stack with a free page on each side, preferably one that fits at the present
    // delta; nothing if there is none.
    std::optional<GuestAddress> find_free(std::uint64_t size_bytes) const override;
    // May change the delta. False if the range is invalid, or if there is no room; in the latter
    // case pages may be lost.
    bool map(const Mapping& mapping) override;
    bool unmap(GuestAddress start, std::uint64_t size_bytes) override;
    bool protect(GuestAddress start, std::uint64_t size_bytes, Protection protection) override;

  private:
    static constexpr std::uint64_t chunk_pages = 16;
    static constexpr std::uint64_t chunk_bytes = chunk_pages * page_bytes;
    static constexpr std::uint16_t all_pages = 0xffff;

    // One bit for each page of the chunk.
    struct Chunk {
        std::uint16_t resident = 0;
        std::uint16_t dirty = 0;    // was mapped writable here at some time
        std::uint16_t watched = 0;  // see watch_code_page()
        std::uint16_t real = 0;     // the page of a shared file itself
        // Kept pages are in place with their contents of an earlier sample, and not resident. The
        // hot ones are read before the guest runs and are writable here; the others are not
        // accessible.
        std::uint16_t kept = 0;
        std::uint16_t hot = 0;
        std::uint16_t touched = 0;   // first touched in this run
        std::uint16_t again = 0;     // touched pages that were in place from an earlier run
        std::uint16_t on_trial = 0;  // not read ahead, to see whether it is touched again
        // With PageUse::tracked, in comparisons: how long dirty pages stay dirty, since when they
        // are dirty, and when they became clean.
        std::uint16_t patience = 1;
        std::uint64_t dirty_since = 0;
        std::uint64_t clean_since = 0;

        std::uint16_t in_place() const { return static_cast<std::uint16_t>(resident | kept); }
    };

    Chunk* chunk_of(GuestAddress address);
    std::vector<std::uint64_t> chunks_in(GuestAddress start, GuestAddress end) const;
    bool is_resident(GuestAddress address);
    bool fetch(const Mapping& mapping, GuestAddress address, bool is_write);
    const UniqueFd* shared_file(const Mapping& mapping) const;
    bool place_real(const Mapping& mapping, int file, GuestAddress page);
    bool place_pages(const Mapping& mapping, GuestAddress first, std::uint64_t pages,
                     bool starts_dirty);
    void note_placed(GuestAddress first, std::uint64_t pages, bool starts_dirty);
    bool use_kept(const Mapping& mapping, GuestAddress first, std::uint64_t pages);
    void read_ahead(GuestAddress chunk_start, Chunk& chunk);
    void give_back(GuestAddress first, std::uint64_t pages);
    void count_trials();
    void keep_pages();
    void keep_pages(GuestAddress chunk_start, Chunk& chunk, std::size_t& hot);
    void keep_within_limit();
    bool is_aliased(const Mapping& mapping) const;
    bool place_alias(const Mapping& mapping, GuestAddress page);
    bool for_each_alias(GuestAddress page, const std::function<void(GuestAddress)>& visit) const;
    void watch(GuestAddress page);
    void tell_of_change(GuestAddress page);
    bool grow_stack(GuestAddress address);
    bool make_dirty(Chunk& chunk, GuestAddress page);
    void note_dirty(Chunk& chunk, std::uint16_t pages);
    bool goes_on_dirty(const Mapping& mapping, GuestAddress chunk_start);
    bool make_dirty_around(const Mapping& mapping, GuestAddress address);
    void clean_pages();
    template <typename Visit>
    bool for_each_resident_part(const MemoryRange& range, Visit visit);
    bool give_part(GuestAddress start, GuestAddress end, WritableMemory& process) const;
    void take_page(Chunk& chunk, GuestAddress start, GuestAddress end, MemoryReader& process);
    void reread(GuestAddress page, std::span<const MemoryRange> changed);
    void compare_rest(GuestAddress page, std::span<const MemoryRange> changed,
                      std::span<const std::byte> native);
    void drop_range(GuestAddress start, GuestAddress end);
    void replace(GuestAddress start, GuestAddress end, std::vector<Mapping> pieces);
    static MemoryMap read_own_map();
    std::optional<std::uint64_t> choose_delta() const;
    bool fits(std::uint64_t delta) const;
    bool fits(const Mapping& mapping, std::uint64_t delta) const;
    bool make_room();
    bool move_pages(std::uint64_t delta);

    CodeChangeListener listener_;
    SegmentBases bases_;
    MemoryMap own_;
    MemoryMap map_;
    PageSource* source_ = nullptr;
    std::uint64_t delta_ = 0;
    std::uint64_t stack_limit_bytes_ = usual_stack_limit_bytes;
    std::unordered_map<std::uint64_t, Chunk> chunks_;  // by address / chunk_bytes
    std::map<std::pair<std::uint64_t, std::uint64_t>, UniqueFd> shared_files_;  // by device, inode
    std::vector<MemoryRange> kernels_;  // see leave_to_kernel(); by address
    PageRanges fresh_;                  // mapped in this sample: zero when first touched
    // Pages with code of files that are also mapped elsewhere, where they may be writable.
    std::set<GuestAddress> aliased_code_;
    GuestMemoryCounters counters_;
    bool layout_changed_ = false;
    PageUse use_ = PageUse::once;
    bool has_run_ = false;    // with PageUse::again: the sample has a run that is not repeated
    bool learns_ = true;      // touches of this sample count for read_ahead()
    bool keeps_ = false;      // between two samples whose pages are kept
    std::uint64_t runs_ = 0;  // with PageUse::again
    // How many pages were touched in one run and not read ahead in the next one, and how many of
    // them were touched again. Both are over all runs, with more weight on recent ones. The initial
    // values suppose that programs return to their pages.
    std::uint64_t trials_ = 4, returns_ = 4;
    std::uint64_t comparisons_ = 0;
    bool compared_ = false;  // whether compared() was called in this interval
    std::vector<MemoryDifference> replaced_differences_;
};

}  // namespace shadowprof
