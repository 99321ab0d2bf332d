// mremap and madvise: move the sample's memory and drop its contents.
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "base/contains.h"
#include "guest_kernel/calls/memory.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t max_moved_bytes = 256 << 20;
constexpr int advice_guard_install = 102, advice_guard_remove = 103;
// Advice that does not change contents; MADV_FREE need not do so.
constexpr int harmless_advice[] = {
    MADV_NORMAL,      MADV_RANDOM,        MADV_SEQUENTIAL,     MADV_WILLNEED,
    MADV_FREE,        MADV_DONTFORK,      MADV_DOFORK,         MADV_MERGEABLE,
    MADV_UNMERGEABLE, MADV_HUGEPAGE,      MADV_NOHUGEPAGE,     MADV_DONTDUMP,
    MADV_DODUMP,      MADV_WIPEONFORK,    MADV_KEEPONFORK,     MADV_COLD,
    MADV_PAGEOUT,     MADV_POPULATE_READ, MADV_POPULATE_WRITE, 25 /* MADV_COLLAPSE, Linux 6.1 */};
constexpr int unsafe_advice[] = {
    MADV_REMOVE,          MADV_HWPOISON,        101 /* MADV_SOFT_OFFLINE */,
    MADV_DONTNEED_LOCKED, advice_guard_install, advice_guard_remove};

// The part of `mapping` within a range.
Mapping part_of(const Mapping& mapping, std::uint64_t start, std::uint64_t end) {
    Mapping part = mapping;
    part.start.value = std::max(mapping.start.value, start);
    part.end.value = std::min(mapping.end.value, end);
    if (part.is_file()) part.file_offset += part.start - mapping.start;
    return part;
}

// MADV_DONTNEED: private anonymous memory then reads as zeros.
SyscallOutcome drop_contents(SyscallCall& call, std::uint64_t start, std::uint64_t size) {
    std::vector<Mapping> parts;
    std::uint64_t end = start + size;
    bool complete = mapped_prefix(call.space, start, size) == size;
    for (const Mapping* m = call.space.find_at_or_after({start}); m && m->start.value < end;
         m = call.space.find_at_or_after(m->end))
        parts.push_back(part_of(*m, start, end));
    for (const Mapping& part : parts) {
        if (part.shared) continue;
        if (part.is_file())
            return ends(SampleEnd::unsafe_syscall, "drops the changes to a mapped file");
        if (!call.space.map(part)) return no_room_in_worker();
    }
    return complete ? answer(0) : failure(ENOMEM);
}

struct RemapRequest {
    std::uint64_t start, old_bytes, new_bytes, flags, target;
    bool is(std::uint64_t flag) const { return (flags & flag) != 0; }
};

// Finds the mapping to move: the range may span neighbours that the kernel would have merged into
// one.
Emulated<Mapping> mapping_to_move(const GuestSpace& space, const RemapRequest& request) {
    const Mapping* first = space.find({request.start});
    if (!first) return failure(EFAULT);
    Mapping whole = *first;
    while (whole.end.value < request.start + request.old_bytes) {
        const Mapping* next = space.find(whole.end);
        if (!next || next->is_file() || whole.is_file() || next->shared || whole.shared ||
            next->readable != whole.readable || next->writable != whole.writable ||
            next->executable != whole.executable)
            return failure(EFAULT);
        whole.end = next->end;
    }
    if (whole.shared || (whole.is_file() && request.new_bytes > request.old_bytes))
        return ends(SampleEnd::unsafe_syscall, "moves or grows a mapped file");
    if (!whole.readable) return ends(SampleEnd::unsafe_syscall, "moves memory it may not read");
    return part_of(whole, request.start, request.start + request.old_bytes);
}

SyscallOutcome copy_memory(GuestSpace& space, GuestAddress from, GuestAddress to,
                           std::uint64_t size) {
    std::vector<std::byte> chunk(memory_copy_bytes);
    for (std::uint64_t at = 0; at < size; at += chunk.size()) {
        auto bytes = std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), size - at));
        if (!space.read(from + at, bytes) || !space.write(to + at, bytes))
            return no_room_in_worker();
    }
    return answer(0);
}

SyscallOutcome move_mapping(GuestSpace& space, const RemapRequest& request, Mapping old,
                            std::uint64_t to) {
    std::uint64_t kept = std::min(request.old_bytes, request.new_bytes);
    if (kept > max_moved_bytes)
        return ends(SampleEnd::unsafe_syscall, "moves more memory than a sample can");
    Mapping moved = old;
    moved.start = {to};
    moved.end = {to + request.new_bytes};
    auto outcome =
        map_filled(space, moved, [&] { return copy_memory(space, old.start, moved.start, kept); });
    if (outcome.end) return outcome;
    return space.unmap(old.start, request.old_bytes) ? outcome : no_room_in_worker();
}

SyscallOutcome remap_in_place(GuestSpace& space, const RemapRequest& request, Mapping old) {
    if (request.new_bytes < request.old_bytes) {
        bool done =
            space.unmap(old.start + request.new_bytes, request.old_bytes - request.new_bytes);
        return done ? answer(request.start) : no_room_in_worker();
    }
    if (request.new_bytes > request.old_bytes) {
        old.start = old.end;
        old.end = {request.start + request.new_bytes};
        if (!space.map(old)) return no_room_in_worker();
    }
    return answer(request.start);
}

SyscallOutcome remap(GuestSpace& space, const RemapRequest& request) {
    TRY_ASSIGN(Mapping old, mapping_to_move(space, request));
    if (request.is(MREMAP_FIXED)) return move_mapping(space, request, old, request.target);
    std::uint64_t old_end = request.start + request.old_bytes;
    bool grows = request.new_bytes > request.old_bytes;
    bool in_place =
        !grows || (fits(request.start, request.new_bytes) &&
                   !overlaps_mapping(space, old_end, request.new_bytes - request.old_bytes));
    if (in_place) return remap_in_place(space, request, old);
    if (!request.is(MREMAP_MAYMOVE)) return failure(ENOMEM);
    auto free = space.find_free(request.new_bytes);
    if (!free) return no_room_in_worker();
    return move_mapping(space, request, old, free->value);
}

}  // namespace

SyscallOutcome sys_mremap(SyscallCall& call) {
    RemapRequest request{call.arg(0), round_up_to_page(call.arg(1)), round_up_to_page(call.arg(2)),
                         call.arg(3), call.arg(4)};
    if (request.flags & ~std::uint64_t{MREMAP_MAYMOVE | MREMAP_FIXED})
        return ends(SampleEnd::unsafe_syscall, "flags that are not emulated");
    if (!is_page_aligned(request.start) || request.new_bytes == 0) return failure(EINVAL);
    if (request.old_bytes == 0) return ends(SampleEnd::unsafe_syscall, "maps memory twice");
    if (!fits(request.start, request.old_bytes)) return failure(EFAULT);
    if (!fits(0, request.new_bytes)) return failure(ENOMEM);
    if (request.is(MREMAP_FIXED)) {
        bool overlap = request.target < request.start + request.old_bytes &&
                       request.start < request.target + request.new_bytes;
        if (!request.is(MREMAP_MAYMOVE) || !is_page_aligned(request.target) ||
            !fits(request.target, request.new_bytes) || overlap)
            return failure(EINVAL);
        if (request.target < min_mmap_address) return failure(EPERM);
    }
    return remap(call.space, request);
}

SyscallOutcome sys_madvise(SyscallCall& call) {
    std::uint64_t start = call.arg(0), size = round_up_to_page(call.arg(1));
    int advice = call.int_arg(2);
    bool drops = advice == MADV_DONTNEED;
    if (contains(unsafe_advice, advice))
        return ends(SampleEnd::unsafe_syscall, "advice that is not emulated");
    if (!drops && !contains(harmless_advice, advice)) return failure(EINVAL);
    if (!is_page_aligned(start) || (size == 0 && call.arg(1) != 0) || !fits(start, size))
        return failure(EINVAL);
    if (size == 0) return answer(0);
    if (drops) return drop_contents(call, start, size);
    return mapped_prefix(call.space, start, size) == size ? answer(0) : failure(ENOMEM);
}

}  // namespace shadowprof
