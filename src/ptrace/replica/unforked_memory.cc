#include "ptrace/replica/unforked_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>

#include "ptrace/proc/proc.h"
#include "ptrace/proc/smaps.h"

namespace shadowprof {
namespace {

// A mark as smaps shows it, and the advice that clears and sets it.
struct MarkRow {
    UnforkedRange::Mark mark;
    std::string_view flag;
    int take_off;
    int set;
};
constexpr MarkRow mark_rows[] = {
    {UnforkedRange::Mark::left_out, "dc", MADV_DOFORK, MADV_DONTFORK},
    {UnforkedRange::Mark::wiped, "wf", MADV_KEEPONFORK, MADV_WIPEONFORK},
};

const MarkRow& row_of(UnforkedRange::Mark mark) {
    return mark_rows[static_cast<std::size_t>(mark)];
}

bool is_markable(const FlaggedMapping& mapping) {
    return !mapping.has("io") && !mapping.has("pf") && !mapping.has("dp");
}

// Joins ranges with one mark if nothing else lies between them.
class RangeJoiner {
  public:
    explicit RangeJoiner(const MarkRow& row) : row_(row) {}

    void add(const FlaggedMapping& flagged) {
        const auto& mapping = flagged.mapping;
        if (!flagged.has(row_.flag) || !is_markable(flagged)) {
            open_ = false;
            return;
        }
        if (!mapping.readable && !mapping.writable && !mapping.executable) return;
        if (open_)
            ranges_.back().range.end = mapping.end;
        else
            ranges_.push_back({{mapping.start, mapping.end}, row_.mark});
        open_ = true;
    }
    const std::vector<UnforkedRange>& ranges() const { return ranges_; }

  private:
    const MarkRow& row_;
    std::vector<UnforkedRange> ranges_;
    bool open_ = false;
};

}  // namespace

Result<std::vector<UnforkedRange>> parse_unforked_ranges(std::string_view text) {
    TRY_ASSIGN(const auto mappings, parse_flagged_mappings(text));
    RangeJoiner left_out(mark_rows[0]), wiped(mark_rows[1]);
    for (const auto& each : mappings) {
        left_out.add(each);
        wiped.add(each);
    }
    auto ranges = left_out.ranges();
    ranges.insert(ranges.end(), wiped.ranges().begin(), wiped.ranges().end());
    return ranges;
}

Result<UnforkedMemory> UnforkedMemory::read(pid_t pid) {
    UnforkedMemory memory;
    TRY_ASSIGN(memory.maps_text, read_maps_text(pid));
    TRY_ASSIGN(const auto smaps, read_smaps_text(pid));
    TRY_ASSIGN(const auto after, read_maps_text(pid));
    if (after != memory.maps_text)
        return Error{ErrorCode::interrupted, 0,
                     "the memory mappings of the process changed while they were read"};
    TRY_ASSIGN(memory.ranges, parse_unforked_ranges(smaps));
    return memory;
}

Result<bool> has_wiped_memory(pid_t replica) {
    TRY_ASSIGN(const auto smaps, read_smaps_text(replica));
    TRY_ASSIGN(const auto ranges, parse_unforked_ranges(smaps));
    return std::any_of(ranges.begin(), ranges.end(), [](const UnforkedRange& each) {
        return each.mark == UnforkedRange::Mark::wiped;
    });
}

ForkedRanges::ForkedRanges(RemoteSyscall& session, std::span<const UnforkedRange> ranges)
    : session_(session), ranges_(ranges) {
    // For holes the kernel returns an error, but it handles the rest of the range.
    for (const auto& [range, mark] : ranges_) advise(range, row_of(mark).take_off);
}

ForkedRanges::~ForkedRanges() {
    for (const auto& [range, mark] : ranges_) advise(range, row_of(mark).set);
}

void ForkedRanges::advise(const MemoryRange& range, int advice) {
    (void)session_.call(SYS_madvise, {range.start.value, range.end - range.start,
                                      static_cast<std::uint64_t>(advice)});
}

}  // namespace shadowprof
