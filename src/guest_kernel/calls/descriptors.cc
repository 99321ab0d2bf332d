// close, dup, fcntl, lseek, ioctl: calls on descriptors that transfer no data.
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/memfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "guest_kernel/calls/paths.h"
#include "guest_kernel/calls/recorded.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

// The flags that F_SETFL can change.
constexpr std::uint32_t settable_flags = O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME | O_NONBLOCK;

// Requests that only terminals accept; others return ENOTTY.
constexpr unsigned long terminal_requests[] = {
    TCGETS,  TCSETS,    TCSETSW,   TCSETSF,    TCGETA,     TCSETA,  TCSETAW,
    TCSETAF, TIOCGPGRP, TIOCSPGRP, TIOCGWINSZ, TIOCSWINSZ, TIOCGSID};

SyscallOutcome duplicate(SyscallCall& call, int fd, int lowest, bool close_on_exec) {
    TRY_ASSIGN(Descriptor * original, call.sample.descriptors.find(fd));
    Descriptor copy{original->file, close_on_exec};
    TRY_ASSIGN(std::uint64_t limit, call.sample.descriptor_limit());
    if (lowest < 0 || static_cast<std::uint64_t>(lowest) >= limit) return failure(EINVAL);
    TRY_ASSIGN(int number, call.sample.descriptors.add(std::move(copy), lowest, limit));
    return answer(number);
}

SyscallOutcome duplicate_to(SyscallCall& call, int fd, int number, bool close_on_exec) {
    TRY_ASSIGN(Descriptor * original, call.sample.descriptors.find(fd));
    Descriptor copy{original->file, close_on_exec};
    TRY_ASSIGN(std::uint64_t limit, call.sample.descriptor_limit());
    if (number < 0 || static_cast<std::uint64_t>(number) >= limit) return failure(EBADF);
    call.sample.descriptors.replace(number, std::move(copy));
    return answer(number);
}

SyscallOutcome set_status_flags(OpenFile& file, std::uint32_t flags) {
    file.flags = (file.flags & ~settable_flags) | (flags & settable_flags);
    return answer(0);
}

SyscallOutcome terminal_request(SyscallCall& call, const OpenFile& file, unsigned long request) {
    bool known = request == TCGETS || request == TIOCGWINSZ;
    if (!known || file.real_fd < 0)
        return ends(SampleEnd::unsafe_syscall, "changes or queries a terminal");
    TRY_ASSIGN(TerminalFacts facts, emulated(call.sample.outside.terminal(file.real_fd)));
    return request == TCGETS ? call.store_result(call.address(2), facts.termios)
                             : call.store_result(call.address(2), facts.window_size);
}

SyscallOutcome bytes_available(SyscallCall& call, const OpenFile& file) {
    if (call.sample.rules.has_recorded_input && is_input(file.kind())) return recorded_input(call);
    if (file.kind() != FileKind::regular || !file.offset_known)
        return ends(SampleEnd::input, "asks how much input there is");
    auto left = static_cast<std::int64_t>(file.node->contents.size_bytes() - file.offset);
    return call.store_result(call.address(2), static_cast<std::int32_t>(left));
}

SyscallOutcome set_non_blocking(SyscallCall& call, OpenFile& file) {
    TRY_ASSIGN(auto on, load<std::int32_t>(call, call.address(2)));
    auto others = file.flags & ~static_cast<std::uint32_t>(O_NONBLOCK);
    file.flags = on ? others | O_NONBLOCK : others;
    return answer(0);
}

Emulated<std::int64_t> seek_target(const OpenFile& file, std::int64_t offset, int whence) {
    std::int64_t base = 0;
    if (whence == SEEK_CUR)
        base = static_cast<std::int64_t>(file.offset);
    else if (whence == SEEK_END)
        base = static_cast<std::int64_t>(file.node->contents.size_bytes());
    else if (whence == SEEK_DATA || whence == SEEK_HOLE)
        return ends(SampleEnd::unsafe_syscall, "asks for the holes of a file");
    else if (whence != SEEK_SET)
        return failure(EINVAL);
    std::int64_t target = 0;
    if (__builtin_add_overflow(base, offset, &target)) return failure(EOVERFLOW);
    if (target < 0) return failure(EINVAL);
    return target;
}

Emulated<OpenFile*> file_to_resize(SyscallCall& call) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(call.int_arg(0)));
    OpenFile& file = *descriptor->file;
    if (file.kind() != FileKind::regular) return failure(EINVAL);
    if (!file.may_write()) return failure(EINVAL);
    if (file.node->mapped_shared)
        return ends(SampleEnd::unsafe_syscall, "resizes a file that is also mapped shared");
    return &file;
}

}  // namespace

SyscallOutcome sys_close(SyscallCall& call) {
    return call.sample.descriptors.close(call.int_arg(0));
}

SyscallOutcome sys_close_range(SyscallCall& call) {
    std::uint32_t first = call.uint_arg(0), last = call.uint_arg(1), flags = call.uint_arg(2);
    if (first > last || (flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)) != 0)
        return failure(EINVAL);
    if (flags != 0) return ends(SampleEnd::unsafe_syscall, "flags that are not emulated");
    call.sample.descriptors.close_range(first, last);
    return answer(0);
}

SyscallOutcome sys_dup(SyscallCall& call) {
    return duplicate(call, call.int_arg(0), 0, false);
}

SyscallOutcome sys_dup2(SyscallCall& call) {
    int fd = call.int_arg(0), number = call.int_arg(1);
    if (fd != number) return duplicate_to(call, fd, number, false);
    TRY(call.sample.descriptors.find(fd));
    return answer(number);
}

SyscallOutcome sys_dup3(SyscallCall& call) {
    std::uint32_t flags = call.uint_arg(2);
    if (call.int_arg(0) == call.int_arg(1) || (flags & ~static_cast<std::uint32_t>(O_CLOEXEC)) != 0)
        return failure(EINVAL);
    return duplicate_to(call, call.int_arg(0), call.int_arg(1), flags != 0);
}

SyscallOutcome sys_fcntl(SyscallCall& call) {
    int fd = call.int_arg(0);
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(fd));
    switch (call.int_arg(1)) {
        case F_DUPFD:
            return duplicate(call, fd, call.int_arg(2), false);
        case F_DUPFD_CLOEXEC:
            return duplicate(call, fd, call.int_arg(2), true);
        case F_GETFD:
            return answer(descriptor->close_on_exec ? FD_CLOEXEC : 0);
        case F_SETFD:
            descriptor->close_on_exec = (call.arg(2) & FD_CLOEXEC) != 0;
            return answer(0);
        case F_GETFL:
            return answer(descriptor->file->flags);
        case F_SETFL:
            return set_status_flags(*descriptor->file, call.uint_arg(2));
        case F_SETLK:
        case F_SETLKW:
        case F_OFD_SETLK:
        case F_OFD_SETLKW:
            return answer(0);
        default:
            return ends(SampleEnd::unsafe_syscall, "a command that is not emulated");
    }
}

SyscallOutcome sys_lseek(SyscallCall& call) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(call.int_arg(0)));
    OpenFile& file = *descriptor->file;
    switch (file.kind()) {
        case FileKind::null_device:
        case FileKind::zero_device:
        case FileKind::full_device:
        case FileKind::random_device:
            return answer(0);
        case FileKind::terminal:
            return failure(ESPIPE);
        case FileKind::stream:
            if (S_ISFIFO(file.node->status.mode) || S_ISSOCK(file.node->status.mode))
                return failure(ESPIPE);
            return ends(SampleEnd::unsafe_syscall, "seeks in a device");
        case FileKind::directory:
            if (call.arg(1) == 0 && call.int_arg(2) == SEEK_SET) return answer(0);
            return ends(SampleEnd::input, "lists a directory");
        case FileKind::regular:
            break;
    }
    if (!file.offset_known && call.int_arg(2) != SEEK_SET)
        return ends(SampleEnd::input, "the file's offset at the start of the sample is not known");
    TRY_ASSIGN(std::int64_t target,
               seek_target(file, static_cast<std::int64_t>(call.arg(1)), call.int_arg(2)));
    file.offset = static_cast<std::uint64_t>(target);
    file.offset_known = true;
    return answer(target);
}

SyscallOutcome sys_ioctl(SyscallCall& call) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(call.int_arg(0)));
    OpenFile& file = *descriptor->file;
    unsigned long request = call.uint_arg(1);
    switch (request) {
        case FIOCLEX:
            descriptor->close_on_exec = true;
            return answer(0);
        case FIONCLEX:
            descriptor->close_on_exec = false;
            return answer(0);
        case FIONBIO:
            return set_non_blocking(call, file);
        case FIONREAD:
            return bytes_available(call, file);
        default:
            break;
    }
    bool for_terminals = std::find(std::begin(terminal_requests), std::end(terminal_requests),
                                   request) != std::end(terminal_requests);
    if (!for_terminals) return ends(SampleEnd::unsafe_syscall, "a request that is not emulated");
    if (file.kind() == FileKind::terminal) return terminal_request(call, file, request);
    return failure(ENOTTY);
}

SyscallOutcome sys_ftruncate(SyscallCall& call) {
    if (call.arg(1) > INT64_MAX) return failure(EINVAL);
    TRY_ASSIGN(OpenFile * file, file_to_resize(call));
    call.sample.files.resize(*file->node, call.arg(1));
    return answer(0);
}

SyscallOutcome sys_fallocate(SyscallCall& call) {
    std::uint64_t offset = call.arg(2), size = call.arg(3);
    if (offset > INT64_MAX || size > INT64_MAX || size == 0) return failure(EINVAL);
    if (offset + size > INT64_MAX) return failure(EFBIG);
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(call.int_arg(0)));
    if (!descriptor->file->may_write()) return failure(EBADF);
    TRY_ASSIGN(OpenFile * file, file_to_resize(call));
    if (call.int_arg(1) == FALLOC_FL_KEEP_SIZE) return answer(0);
    if (call.int_arg(1) != 0) return ends(SampleEnd::unsafe_syscall, "punches or moves a hole");
    if (offset + size > file->node->contents.size_bytes())
        call.sample.files.resize(*file->node, offset + size);
    return answer(0);
}

SyscallOutcome sys_fsync(SyscallCall& call) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(call.int_arg(0)));
    auto kind = descriptor->file->kind();
    return kind == FileKind::regular || kind == FileKind::directory ? answer(0) : failure(EINVAL);
}

SyscallOutcome sys_descriptor_output(SyscallCall& call) {
    TRY(call.sample.descriptors.find(call.int_arg(0)));
    return answer(0);
}

SyscallOutcome sys_attribute_output(SyscallCall& call) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(call.int_arg(0)));
    descriptor->file->node->attributes_changed = true;
    return answer(0);
}

SyscallOutcome sys_directory_input(SyscallCall& call) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(call.int_arg(0)));
    if (descriptor->file->kind() != FileKind::directory) return failure(ENOTDIR);
    return ends(SampleEnd::input, "lists a directory");
}

SyscallOutcome sys_memfd_create(SyscallCall& call) {
    std::uint32_t flags = call.uint_arg(1);
    TRY(load_path(call, call.address(0)));
    if ((flags & ~(MFD_CLOEXEC | MFD_ALLOW_SEALING)) != 0)
        return ends(SampleEnd::unsafe_syscall, "flags that are not emulated");
    auto file = std::make_shared<OpenFile>();
    TRY_ASSIGN(file->node, call.sample.create_file(S_IFREG | 0777, call.elapsed_ns));
    file->flags = O_RDWR | large_file_flag;
    TRY_ASSIGN(std::uint64_t limit, call.sample.descriptor_limit());
    TRY_ASSIGN(int fd, call.sample.descriptors.add({std::move(file), (flags & MFD_CLOEXEC) != 0}, 0,
                                                   limit));
    return answer(fd);
}

}  // namespace shadowprof
