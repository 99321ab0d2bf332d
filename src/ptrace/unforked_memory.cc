#include "ptrace/unforked_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "ptrace/proc.h"

namespace shadowprof {
namespace {

constexpr std::string_view flags_key = "VmFlags:";

bool has_flag(std::string_view flags, std::string_view flag) {
    for (std::size_t at = 0; at + flag.size() <= flags.size(); at += 3)
        if (flags.substr(at, flag.size()) == flag) return true;
    return false;
}

// Joins the ranges between which nothing else lies.
class RangeJoiner {
  public:
    void add(const Mapping& mapping, std::string_view flags) {
        const bool left_out =
            has_flag(flags, "dc") && !has_flag(flags, "io") && !has_flag(flags, "pf");
        if (!left_out) {
            open_ = false;
            return;
        }
        if (!mapping.readable && !mapping.writable && !mapping.executable) return;
        if (open_)
            ranges_.back().end = mapping.end;
        else
            ranges_.push_back({mapping.start, mapping.end});
        open_ = true;
    }
    std::vector<MemoryRange> take() { return std::move(ranges_); }

  private:
    std::vector<MemoryRange> ranges_;
    bool open_ = false;
};

}  // namespace

Result<std::vector<MemoryRange>> parse_unforked_ranges(std::string_view text) {
    RangeJoiner joiner;
    Mapping mapping;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.starts_with(flags_key)) {
            joiner.add(mapping, line.substr(std::min(line.size(), flags_key.size() + 1)));
        } else if (!line.empty() && (line[0] < 'A' || line[0] > 'Z')) {
            TRY_ASSIGN(const auto map, MemoryMap::parse(line));
            mapping = map.mappings().front();
        }
    }
    return joiner.take();
}

Result<UnforkedMemory> UnforkedMemory::read(pid_t pid) {
    UnforkedMemory memory;
    TRY_ASSIGN(memory.maps_text, read_maps_text(pid));
    TRY_ASSIGN(const auto smaps, read_smaps_text(pid));
    TRY_ASSIGN(const auto after, read_maps_text(pid));
    if (after != memory.maps_text)
        return Error{ErrorCode::interrupted, 0, "the process changes its mappings"};
    TRY_ASSIGN(memory.ranges, parse_unforked_ranges(smaps));
    return memory;
}

ForkedRanges::ForkedRanges(RemoteSyscall& session, std::span<const MemoryRange> ranges)
    : session_(session), ranges_(ranges) {
    // Holes are an error to the kernel, which deals with the rest of the range all the same.
    for (const auto& range : ranges_)
        (void)session_.call(SYS_madvise, {range.start.value, range.end - range.start, MADV_DOFORK});
}

ForkedRanges::~ForkedRanges() {
    for (const auto& range : ranges_)
        (void)session_.call(SYS_madvise,
                            {range.start.value, range.end - range.start, MADV_DONTFORK});
}

}  // namespace shadowprof
