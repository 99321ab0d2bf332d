#include "shadow/verify/rseq_watch.h"

#include <algorithm>
#include <span>

#include "ptrace/thread/process_memory.h"

namespace shadowprof {

Result<RseqWatch> RseqWatch::begin(const StoppedThread& thread) {
    TRY_ASSIGN(const auto area, read_rseq_area(thread));
    return RseqWatch(area, read(thread, area));
}

bool RseqWatch::may_have_parted(const StoppedThread& thread) const {
    const auto now = read(thread, area_);
    constexpr std::array<std::byte, 8> none = {};
    return now.processor != begin_.processor || now.place != begin_.place ||
           begin_.sequence != none || now.sequence != none;
}

RseqWatch::Contents RseqWatch::read(const StoppedThread& thread, const RseqArea& area) {
    Contents contents = {};
    ProcessMemory memory(thread.tid());
    const auto bytes = std::as_writable_bytes(std::span(&contents, 1));
    // If it cannot be read, the kernel cannot write there either.
    static_cast<void>(memory.read(
        area.start, bytes.first(std::min<std::size_t>(bytes.size(), area.end - area.start))));
    return contents;
}

}  // namespace shadowprof
