#include <algorithm>

#include "guest_kernel/calls/recorded.h"
#include "guest_kernel/calls/transfer.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

// sendfile(2) and copy_file_range(2) may transfer less than requested: large requests are cut to
// this.
constexpr std::uint64_t max_copy_bytes = 16 << 20;

bool is_seekable(const OpenFile& file) {
    return file.kind() != FileKind::stream && file.kind() != FileKind::terminal;
}

Emulated<OpenFile*> readable_file(SyscallCall& call, int fd) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(fd));
    if (!descriptor->file->may_read()) return failure(EBADF);
    return descriptor->file.get();
}

Emulated<OpenFile*> writable_file(SyscallCall& call, int fd) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(fd));
    if (!descriptor->file->may_write()) return failure(EBADF);
    return descriptor->file.get();
}

// Whether the process maps the file so that the sample may have written to it unnoticed.
bool is_mapped_shared(GuestSpace& space, const FileNode& node) {
    for (const Mapping* m = space.find_at_or_after({0}); m; m = space.find_at_or_after(m->end))
        if (m->shared && m->writable && m->inode == node.status.inode) return true;
    return false;
}

Emulated<std::size_t> produce(SyscallCall& call, OpenFile& file, std::uint64_t offset,
                              std::span<std::byte> to) {
    switch (file.kind()) {
        case FileKind::regular:
            return call.sample.files.read(*file.node, offset, to);
        case FileKind::null_device:
            return std::size_t{0};
        case FileKind::zero_device:
        case FileKind::full_device:
            std::fill(to.begin(), to.end(), std::byte{});
            return to.size();
        case FileKind::random_device:
            call.sample.random.fill(to);
            return to.size();
        case FileKind::directory:
            return failure(EISDIR);
        case FileKind::terminal:
            return ends(SampleEnd::input, "reads a terminal or device");
        case FileKind::stream:
            return ends(SampleEnd::input, "reads a pipe or socket");
    }
    return failure(EINVAL);
}

SyscallOutcome read_at(SyscallCall& call, OpenFile& file, std::uint64_t offset,
                       std::span<const GuestRange> ranges) {
    if (offset > INT64_MAX) return failure(EINVAL);
    if (file.kind() == FileKind::directory) return failure(EISDIR);
    if (file.kind() == FileKind::regular && is_mapped_shared(call.space, *file.node))
        return ends(SampleEnd::input, "reads a file that is also mapped for writing");
    return give_to_guest(call, ranges, [&](std::span<std::byte> to) -> Emulated<std::size_t> {
        TRY_ASSIGN(std::size_t got, produce(call, file, offset, to));
        offset += got;
        return got;
    });
}

SyscallOutcome write_at(SyscallCall& call, OpenFile& file, std::uint64_t offset,
                        std::span<const GuestRange> ranges) {
    if (offset > INT64_MAX) return failure(EINVAL);
    if (file.node->mapped_shared)
        return ends(SampleEnd::unsafe_syscall, "writes a file that is also mapped shared");
    SyscallOutcome refused = answer(0);
    auto outcome = take_from_guest(call, ranges, [&](std::span<const std::byte> bytes) {
        auto written = write_bytes(call.sample, file, offset, bytes);
        if (written.value < 0) refused = std::move(written);
        offset += bytes.size();
    });
    return refused.value < 0 ? refused : outcome;
}

SyscallOutcome offset_unknown() {
    return ends(SampleEnd::input, "the file's offset at the start of the sample is not known");
}

SyscallOutcome read_current(SyscallCall& call, std::span<const GuestRange> ranges) {
    TRY_ASSIGN(OpenFile * file, readable_file(call, call.int_arg(0)));
    if (!file->offset_known) return offset_unknown();
    auto outcome = read_at(call, *file, file->offset, ranges);
    if (!outcome.end && outcome.value > 0)
        file->offset += static_cast<std::uint64_t>(outcome.value);
    return outcome;
}

SyscallOutcome write_current(SyscallCall& call, std::span<const GuestRange> ranges) {
    TRY_ASSIGN(OpenFile * file, writable_file(call, call.int_arg(0)));
    if (!file->offset_known) return offset_unknown();
    if (file->kind() == FileKind::regular && (file->flags & O_APPEND))
        file->offset = file->node->contents.size_bytes();
    auto outcome = write_at(call, *file, file->offset, ranges);
    if (!outcome.end && outcome.value > 0)
        file->offset += static_cast<std::uint64_t>(outcome.value);
    return outcome;
}

SyscallOutcome read_positioned(SyscallCall& call, std::uint64_t offset,
                               std::span<const GuestRange> ranges) {
    TRY_ASSIGN(OpenFile * file, readable_file(call, call.int_arg(0)));
    if (!is_seekable(*file)) return failure(ESPIPE);
    return read_at(call, *file, offset, ranges);
}

SyscallOutcome write_positioned(SyscallCall& call, std::uint64_t offset,
                                std::span<const GuestRange> ranges) {
    TRY_ASSIGN(OpenFile * file, writable_file(call, call.int_arg(0)));
    if (!is_seekable(*file)) return failure(ESPIPE);
    // As in Linux, but not POSIX: pwrite(2), "Bugs".
    if (file->kind() == FileKind::regular && (file->flags & O_APPEND))
        offset = file->node->contents.size_bytes();
    return write_at(call, *file, offset, ranges);
}

// Copies between the files of two descriptors, at the given offsets, and advances the offsets.
SyscallOutcome copy_between(SyscallCall& call, OpenFile& from, std::uint64_t& from_offset,
                            OpenFile& to, std::uint64_t& to_offset, std::uint64_t size) {
    if (to.node->mapped_shared)
        return ends(SampleEnd::unsafe_syscall, "writes a file that is also mapped shared");
    size = std::min(size, max_copy_bytes);
    std::vector<std::byte> chunk(64 * 1024);
    std::uint64_t total = 0;
    while (total < size) {
        auto bytes = std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), size - total));
        TRY_ASSIGN(std::size_t got, produce(call, from, from_offset, bytes));
        auto written = write_bytes(call.sample, to, to_offset, bytes.first(got));
        if (written.value < 0) return written;
        from_offset += got;
        to_offset += got;
        total += got;
        if (got < bytes.size()) break;
    }
    return answer(total);
}

// An offset passed by address; null: the file's own.
Emulated<std::uint64_t> load_offset(SyscallCall& call, GuestAddress at, const OpenFile& file) {
    if (at.value == 0) {
        if (!file.offset_known) return offset_unknown();
        return file.offset;
    }
    if (!is_seekable(file)) return failure(ESPIPE);
    TRY_ASSIGN(auto offset, load<std::int64_t>(call, at));
    if (offset < 0) return failure(EINVAL);
    return static_cast<std::uint64_t>(offset);
}

SyscallOutcome store_offset(SyscallCall& call, GuestAddress at, OpenFile& file,
                            std::uint64_t offset) {
    if (at.value != 0) return call.store_result(at, offset);
    file.offset = offset;
    return answer(0);
}

SyscallOutcome copy_call(SyscallCall& call, int from_fd, GuestAddress from_at, int to_fd,
                         GuestAddress to_at, std::uint64_t size) {
    TRY_ASSIGN(OpenFile * from, readable_file(call, from_fd));
    TRY_ASSIGN(OpenFile * to, writable_file(call, to_fd));
    TRY_ASSIGN(std::uint64_t from_offset, load_offset(call, from_at, *from));
    TRY_ASSIGN(std::uint64_t to_offset, load_offset(call, to_at, *to));
    if (from->kind() == FileKind::directory) return failure(EINVAL);
    auto outcome = copy_between(call, *from, from_offset, *to, to_offset, size);
    if (outcome.end || outcome.value < 0) return outcome;
    auto stored = store_offset(call, from_at, *from, from_offset);
    if (stored.value == 0) stored = store_offset(call, to_at, *to, to_offset);
    return stored.value == 0 ? outcome : stored;
}

// Checked before anything else, as the program's result may be an error too.
bool is_recorded(SyscallCall& call) {
    if (!call.sample.rules.has_recorded_input) return false;
    auto descriptor = call.sample.descriptors.find(call.int_arg(0));
    return descriptor && is_input((*descriptor)->file->kind());
}

SyscallOutcome refuse_flags() {
    return ends(SampleEnd::unsafe_syscall, "flags that are not emulated");
}

// preadv2 and pwritev2 take -1 for the file's own offset.
bool is_current(const SyscallCall& call) {
    return call.arg(3) == ~std::uint64_t{0};
}

}  // namespace

SyscallOutcome sys_read(SyscallCall& call) {
    if (is_recorded(call)) return recorded_input(call);
    return read_current(call, one_range(call.address(1), call.arg(2)));
}

SyscallOutcome sys_write(SyscallCall& call) {
    return write_current(call, one_range(call.address(1), call.arg(2)));
}

SyscallOutcome sys_pread64(SyscallCall& call) {
    return read_positioned(call, call.arg(3), one_range(call.address(1), call.arg(2)));
}

SyscallOutcome sys_pwrite64(SyscallCall& call) {
    return write_positioned(call, call.arg(3), one_range(call.address(1), call.arg(2)));
}

SyscallOutcome sys_readv(SyscallCall& call) {
    if (is_recorded(call)) return recorded_input(call);
    TRY(readable_file(call, call.int_arg(0)));
    TRY_ASSIGN(auto ranges, load_ranges(call, call.address(1), call.arg(2)));
    return read_current(call, ranges);
}

SyscallOutcome sys_writev(SyscallCall& call) {
    TRY(writable_file(call, call.int_arg(0)));
    TRY_ASSIGN(auto ranges, load_ranges(call, call.address(1), call.arg(2)));
    return write_current(call, ranges);
}

SyscallOutcome sys_preadv(SyscallCall& call) {
    TRY(readable_file(call, call.int_arg(0)));
    TRY_ASSIGN(auto ranges, load_ranges(call, call.address(1), call.arg(2)));
    return read_positioned(call, call.arg(3), ranges);
}

SyscallOutcome sys_pwritev(SyscallCall& call) {
    TRY(writable_file(call, call.int_arg(0)));
    TRY_ASSIGN(auto ranges, load_ranges(call, call.address(1), call.arg(2)));
    return write_positioned(call, call.arg(3), ranges);
}

SyscallOutcome sys_preadv2(SyscallCall& call) {
    if (call.arg(5) != 0) return refuse_flags();
    return is_current(call) ? sys_readv(call) : sys_preadv(call);
}

SyscallOutcome sys_pwritev2(SyscallCall& call) {
    if (call.arg(5) != 0) return refuse_flags();
    return is_current(call) ? sys_writev(call) : sys_pwritev(call);
}

SyscallOutcome sys_sendfile(SyscallCall& call) {
    return copy_call(call, call.int_arg(1), call.address(2), call.int_arg(0), {}, call.arg(3));
}

SyscallOutcome sys_copy_file_range(SyscallCall& call) {
    if (call.arg(5) != 0) return failure(EINVAL);
    return copy_call(call, call.int_arg(0), call.address(1), call.int_arg(2), call.address(3),
                     call.arg(4));
}

}  // namespace shadowprof
