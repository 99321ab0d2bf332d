// mmap, munmap, mprotect, brk: changes go to the sample's GuestSpace only.
#include "guest_kernel/calls/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t max_file_mapping_bytes = 16 << 20;
constexpr std::uint64_t known_protection = PROT_READ | PROT_WRITE | PROT_EXEC;

// Mappings whose memory differs from ordinary memory.
constexpr std::uint64_t refused_map_flags = MAP_GROWSDOWN | MAP_HUGETLB | MAP_SYNC;

void set_protection(Mapping& mapping, std::uint64_t protection) {
    mapping.readable = (protection & PROT_READ) != 0;
    mapping.writable = (protection & PROT_WRITE) != 0;
    mapping.executable = (protection & PROT_EXEC) != 0;
}

struct MapRequest {
    std::uint64_t hint = 0, size_bytes = 0, protection = 0, flags = 0, offset = 0;
    int fd = -1;

    bool is(std::uint64_t flag) const { return (flags & flag) == flag; }
    bool is_fixed() const { return (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0; }
    bool is_shared() const { return (flags & MAP_TYPE) != MAP_PRIVATE; }
};

// Where MAP_32BIT puts memory that has no fixed address.
constexpr std::uint64_t lowest_of_32_bits = 0x4000'0000, highest_of_32_bits = 0x8000'0000;

// The lowest free range that MAP_32BIT allows.
std::optional<std::uint64_t> find_below_2_gib(const GuestSpace& space, std::uint64_t size_bytes) {
    auto at = lowest_of_32_bits;
    while (at < highest_of_32_bits && size_bytes <= highest_of_32_bits - at) {
        const Mapping* next = space.find_at_or_after({at});
        if (!next || next->start.value >= at + size_bytes) return at;
        at = next->end.value;
    }
    return std::nullopt;
}

Emulated<std::uint64_t> place(const GuestSpace& space, const MapRequest& request) {
    if (request.is_fixed()) {
        if (!is_page_aligned(request.hint)) return failure(EINVAL);
        if (!fits(request.hint, request.size_bytes)) return failure(ENOMEM);
        if (request.hint < min_mmap_address) return failure(EPERM);
        bool keep = request.is(MAP_FIXED_NOREPLACE);
        if (keep && overlaps_mapping(space, request.hint, request.size_bytes))
            return failure(EEXIST);
        return request.hint;
    }
    if (!fits(0, request.size_bytes)) return failure(ENOMEM);
    std::uint64_t hint = request.hint > task_bytes ? 0 : round_up_to_page(request.hint);
    if (hint >= min_mmap_address && fits(hint, request.size_bytes) &&
        (!request.is(MAP_32BIT) || hint + request.size_bytes <= highest_of_32_bits) &&
        !overlaps_mapping(space, hint, request.size_bytes))
        return hint;
    if (request.is(MAP_32BIT)) {
        const auto low = find_below_2_gib(space, request.size_bytes);
        return low ? Emulated<std::uint64_t>(*low) : failure(ENOMEM);
    }
    auto free = space.find_free(request.size_bytes);
    if (!free) return no_room_in_worker();
    return free->value;
}

SyscallOutcome check_map_flags(const MapRequest& request) {
    std::uint64_t type = request.flags & MAP_TYPE;
    if (type != MAP_PRIVATE && type != MAP_SHARED && type != MAP_SHARED_VALIDATE)
        return failure(EINVAL);
    if (request.size_bytes == 0 || !is_page_aligned(request.offset)) return failure(EINVAL);
    if (request.size_bytes > task_bytes) return failure(ENOMEM);
    if (request.offset > INT64_MAX - round_up_to_page(request.size_bytes))
        return failure(EOVERFLOW);
    if ((request.flags & refused_map_flags) != 0 || (request.protection & ~known_protection) != 0)
        return ends(SampleEnd::unsafe_syscall, "flags that are not emulated");
    return answer(0);
}

// Writes the file's bytes to the mapping. Memory beyond the end of the file stays zero.
SyscallOutcome fill_from_file(SyscallCall& call, FileNode& node, const Mapping& mapping) {
    std::vector<std::byte> chunk(memory_copy_bytes);
    for (std::uint64_t at = 0; at < mapping.size_bytes(); at += chunk.size()) {
        auto bytes = std::span(chunk).first(
            std::min<std::uint64_t>(chunk.size(), mapping.size_bytes() - at));
        TRY_ASSIGN(std::size_t got, call.sample.files.read(node, mapping.file_offset + at, bytes));
        if (!call.space.write(mapping.start + at, bytes.first(got))) return no_room_in_worker();
        if (got < bytes.size()) break;
    }
    return answer(0);
}

Emulated<OpenFile*> file_to_map(SyscallCall& call, const MapRequest& request) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(request.fd));
    OpenFile& file = *descriptor->file;
    if (file.kind() == FileKind::stream || file.kind() == FileKind::terminal)
        return ends(SampleEnd::unsafe_syscall, "maps a device");
    if (file.kind() != FileKind::regular && file.kind() != FileKind::zero_device)
        return failure(ENODEV);
    if (!file.may_read()) return failure(EACCES);
    if (request.is_shared() && (request.protection & PROT_WRITE) && !file.may_write())
        return failure(EACCES);
    if (request.size_bytes > max_file_mapping_bytes)
        return ends(SampleEnd::unsafe_syscall, "maps more of a file than a sample can");
    return &file;
}

SyscallOutcome map_file(SyscallCall& call, const MapRequest& request, Mapping mapping) {
    TRY_ASSIGN(OpenFile * file, file_to_map(call, request));
    if (file->kind() == FileKind::zero_device)
        return call.space.map(mapping) ? answer(mapping.start.value) : no_room_in_worker();
    // Traces are resolved with the snapshot's mappings, which would name another file's code, or
    // none.
    if (mapping.executable) return ends(SampleEnd::unsafe_syscall, "maps code of a file");
    FileNode& node = *file->node;
    std::uint64_t device = node.status.device;
    mapping.file_offset = request.offset;
    mapping.inode = node.status.inode;
    mapping.device = std::uint64_t{gnu_dev_major(device)} << 32 | gnu_dev_minor(device);
    auto outcome =
        map_filled(call.space, mapping, [&] { return fill_from_file(call, node, mapping); });
    if (outcome.end || !request.is_shared()) return outcome;
    // The mapping is a copy: from now on, file and mapping do not see each other's writes.
    node.mapped_shared = true;
    if (mapping.writable) node.contents_lost = true;
    return outcome;
}

SyscallOutcome map(SyscallCall& call, const MapRequest& request) {
    TRY_ASSIGN(std::uint64_t start, place(call.space, request));
    Mapping mapping{
        .start = {start}, .end = {start + request.size_bytes}, .shared = request.is_shared()};
    set_protection(mapping, request.protection);
    if (!request.is(MAP_ANONYMOUS)) return map_file(call, request, std::move(mapping));
    return call.space.map(mapping) ? answer(start) : no_room_in_worker();
}

SyscallOutcome protect(SyscallCall& call) {
    std::uint64_t start = call.arg(0), protection = call.arg(2);
    if (!is_page_aligned(start)) return failure(EINVAL);
    if (call.arg(1) == 0) return answer(0);
    std::uint64_t size = round_up_to_page(call.arg(1));
    if (size == 0 || !fits(start, size)) return failure(ENOMEM);
    if ((protection & ~known_protection) != 0)
        return ends(SampleEnd::unsafe_syscall, "flags that are not emulated");
    Mapping flags;
    set_protection(flags, protection);
    // Up to the first hole, as in the kernel.
    std::uint64_t mapped = mapped_prefix(call.space, start, size);
    if (mapped != 0 && !call.space.protect({start}, mapped, protection_of(flags)))
        return no_room_in_worker();
    return mapped == size ? answer(0) : failure(ENOMEM);
}

// The end of the heap at snapshot time, in whole pages, from the mappings.
std::uint64_t initial_brk(const GuestSpace& space, std::uint64_t start_brk) {
    std::uint64_t end = start_brk;
    for (const Mapping* m = space.find_at_or_after({start_brk});
         m && m->name == "[heap]" && m->start.value <= round_up_to_page(end);
         m = space.find_at_or_after(m->end))
        end = m->end.value;
    return end;
}

SyscallOutcome grow_heap(SyscallCall& call, std::uint64_t from, std::uint64_t to) {
    // Like the kernel, keeps one more page free.
    if (!fits(from, to - from + page_bytes) ||
        overlaps_mapping(call.space, from, to - from + page_bytes))
        return failure(ENOMEM);
    Mapping heap{.start = {from}, .end = {to}, .readable = true, .writable = true};
    heap.name = "[heap]";
    return call.space.map(heap) ? answer(0) : no_room_in_worker();
}

}  // namespace

bool overlaps_mapping(const GuestSpace& space, std::uint64_t start, std::uint64_t size) {
    const Mapping* next = space.find_at_or_after({start});
    return next && next->start.value < start + size;
}

std::uint64_t mapped_prefix(const GuestSpace& space, std::uint64_t start, std::uint64_t size) {
    std::uint64_t at = start;
    while (at < start + size) {
        const Mapping* mapping = space.find({at});
        if (!mapping) break;
        at = mapping->end.value;
    }
    return std::min(at - start, size);
}

SyscallOutcome no_room_in_worker() {
    return ends(SampleEnd::unsafe_syscall, "no room for the sample's memory");
}

SyscallOutcome sys_mmap(SyscallCall& call) {
    MapRequest request{.hint = call.arg(0),
                       .size_bytes = call.arg(1),
                       .protection = call.arg(2),
                       .flags = call.arg(3),
                       .offset = call.arg(5),
                       .fd = call.int_arg(4)};
    auto check = check_map_flags(request);
    if (check.end || check.value != 0) return check;
    request.size_bytes = round_up_to_page(request.size_bytes);
    return map(call, request);
}

SyscallOutcome sys_munmap(SyscallCall& call) {
    std::uint64_t start = call.arg(0), size = round_up_to_page(call.arg(1));
    if (!is_page_aligned(start) || size == 0 || !fits(start, size)) return failure(EINVAL);
    return call.space.unmap({start}, size) ? answer(0) : no_room_in_worker();
}

SyscallOutcome sys_mprotect(SyscallCall& call) {
    return protect(call);
}

SyscallOutcome sys_pkey_mprotect(SyscallCall& call) {
    if (call.int_arg(3) != -1)
        return ends(SampleEnd::unsafe_syscall, "protection keys are not emulated");
    return protect(call);
}

SyscallOutcome sys_brk(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (facts->start_brk == 0)
        return ends(SampleEnd::unsafe_syscall, "where the heap begins is not known");
    if (!call.sample.brk) call.sample.brk = initial_brk(call.space, facts->start_brk);
    std::uint64_t wanted = call.arg(0), now = *call.sample.brk;
    if (wanted < facts->start_brk || wanted > task_bytes) return answer(now);
    std::uint64_t old_end = round_up_to_page(now), new_end = round_up_to_page(wanted);
    if (new_end < old_end && !call.space.unmap({new_end}, old_end - new_end))
        return no_room_in_worker();
    if (new_end > old_end) {
        auto grown = grow_heap(call, old_end, new_end);
        if (grown.end) return grown;
        // A refusal returns the old end, not an error.
        if (grown.value != 0) return answer(now);
    }
    call.sample.brk = wanted;
    return answer(wanted);
}

}  // namespace shadowprof
