// stat, access, readlink: questions about files, and the working directory.
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "guest_kernel/calls/paths.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

constexpr int known_stat_flags =
    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_SYNC_TYPE;

struct ::stat to_stat(const FileStatus& from) {
    auto time = [](const FileTime& t) { return timespec{t.seconds, t.nanoseconds}; };
    struct ::stat to {};
    to.st_dev = from.device;
    to.st_ino = from.inode;
    to.st_nlink = from.links;
    to.st_mode = from.mode;
    to.st_uid = from.uid;
    to.st_gid = from.gid;
    to.st_rdev = from.raw_device;
    to.st_size = static_cast<off_t>(from.size_bytes);
    to.st_blksize = from.block_size;
    to.st_blocks = static_cast<blkcnt_t>(from.blocks);
    to.st_atim = time(from.accessed);
    to.st_mtim = time(from.modified);
    to.st_ctim = time(from.changed);
    return to;
}

struct ::statx to_statx(const FileStatus& from) {
    auto time = [](const FileTime& t) {
        return statx_timestamp{.tv_sec = t.seconds, .tv_nsec = t.nanoseconds};
    };
    struct ::statx to {};
    to.stx_mask = STATX_BASIC_STATS | (from.born.seconds != 0 ? STATX_BTIME : 0);
    to.stx_blksize = from.block_size;
    to.stx_nlink = static_cast<std::uint32_t>(from.links);
    to.stx_uid = from.uid;
    to.stx_gid = from.gid;
    to.stx_mode = static_cast<std::uint16_t>(from.mode);
    to.stx_ino = from.inode;
    to.stx_size = from.size_bytes;
    to.stx_blocks = from.blocks;
    to.stx_atime = time(from.accessed);
    to.stx_btime = time(from.born);
    to.stx_ctime = time(from.changed);
    to.stx_mtime = time(from.modified);
    to.stx_rdev_major = gnu_dev_major(from.raw_device);
    to.stx_rdev_minor = gnu_dev_minor(from.raw_device);
    to.stx_dev_major = gnu_dev_major(from.device);
    to.stx_dev_minor = gnu_dev_minor(from.device);
    return to;
}

Emulated<FileStatus> status_of_descriptor(SyscallCall& call, int fd) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(fd));
    const FileNode& node = *descriptor->file->node;
    if (node.attributes_changed)
        return ends(SampleEnd::unsafe_syscall, "the file's attributes changed in the sample");
    return node.current_status();
}

Emulated<FileStatus> status_of_path(SyscallCall& call, int directory, GuestAddress address,
                                    bool follow) {
    TRY_ASSIGN(SamplePath path, sample_path(call, directory, address, follow));
    TRY_ASSIGN(FoundFile found, find_file(call, path));
    return found.status;
}

Emulated<bool> is_empty_path(SyscallCall& call, GuestAddress address) {
    if (address.value == 0) return true;
    TRY_ASSIGN(auto first, load<char>(call, address));
    return first == '\0';
}

// newfstatat(2) and statx(2): by path, or by descriptor with AT_EMPTY_PATH.
Emulated<FileStatus> status_at_flags(SyscallCall& call, int flags) {
    if (flags & ~known_stat_flags) return failure(EINVAL);
    int directory = call.int_arg(0);
    if (flags & AT_EMPTY_PATH) {
        TRY_ASSIGN(bool empty, is_empty_path(call, call.address(1)));
        if (empty && directory != AT_FDCWD) return status_of_descriptor(call, directory);
        if (empty) return emulated(call.sample.outside.stat_path({AT_FDCWD, ".", true}));
    }
    return status_of_path(call, directory, call.address(1), !(flags & AT_SYMLINK_NOFOLLOW));
}

SyscallOutcome stat_by_path(SyscallCall& call, bool follow) {
    TRY_ASSIGN(FileStatus status, status_of_path(call, AT_FDCWD, call.address(0), follow));
    return guest_store(call.space, call.address(1), to_stat(status)) ? answer(0) : failure(EFAULT);
}

SyscallOutcome check_access(SyscallCall& call, int directory, GuestAddress address, int mode,
                            int flags) {
    if (mode & ~(R_OK | W_OK | X_OK)) return failure(EINVAL);
    if (flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) return failure(EINVAL);
    if (flags & AT_EMPTY_PATH)
        return ends(SampleEnd::unsafe_syscall,
                    "access by descriptor (AT_EMPTY_PATH) is not emulated");
    TRY_ASSIGN(FileStatus status,
               status_of_path(call, directory, address, !(flags & AT_SYMLINK_NOFOLLOW)));
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    return may_access(*facts, status, mode, !(flags & AT_EACCESS)) ? answer(0) : failure(EACCES);
}

SyscallOutcome read_link(SyscallCall& call, int directory, GuestAddress path_address,
                         GuestAddress to, int size) {
    if (size <= 0) return failure(EINVAL);
    TRY_ASSIGN(SamplePath path, sample_path(call, directory, path_address, false));
    auto entry = call.sample.names.find(path.key);
    if (entry.state == PathOverlay::State::removed) return failure(ENOENT);
    if (entry.state == PathOverlay::State::unknown)
        return ends(SampleEnd::unsafe_syscall, "the name changed in the sample");
    if (entry.state == PathOverlay::State::present) return failure(EINVAL);
    TRY_ASSIGN(std::string target, emulated(call.sample.outside.read_link(path.ref)));
    target.resize(std::min(target.size(), static_cast<std::size_t>(size)));
    if (!call.space.write(to, std::as_bytes(std::span(target)))) return failure(EFAULT);
    return answer(target.size());
}

SyscallOutcome move_to(SyscallCall& call, const FileStatus& status, PathRef directory) {
    if (!status.is_directory()) return failure(ENOTDIR);
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (!may_access(*facts, status, X_OK, false)) return failure(EACCES);
    call.sample.working_directory = std::move(directory);
    call.sample.moved = true;
    return answer(0);
}

}  // namespace

SyscallOutcome sys_stat(SyscallCall& call) {
    return stat_by_path(call, true);
}

SyscallOutcome sys_lstat(SyscallCall& call) {
    return stat_by_path(call, false);
}

SyscallOutcome sys_fstat(SyscallCall& call) {
    TRY_ASSIGN(FileStatus status, status_of_descriptor(call, call.int_arg(0)));
    return guest_store(call.space, call.address(1), to_stat(status)) ? answer(0) : failure(EFAULT);
}

SyscallOutcome sys_newfstatat(SyscallCall& call) {
    TRY_ASSIGN(FileStatus status, status_at_flags(call, call.int_arg(3)));
    return guest_store(call.space, call.address(2), to_stat(status)) ? answer(0) : failure(EFAULT);
}

SyscallOutcome sys_statx(SyscallCall& call) {
    if ((call.int_arg(2) & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE) return failure(EINVAL);
    if (call.uint_arg(3) & STATX__RESERVED) return failure(EINVAL);
    TRY_ASSIGN(FileStatus status, status_at_flags(call, call.int_arg(2)));
    return guest_store(call.space, call.address(4), to_statx(status)) ? answer(0) : failure(EFAULT);
}

SyscallOutcome sys_access(SyscallCall& call) {
    return check_access(call, AT_FDCWD, call.address(0), call.int_arg(1), 0);
}

SyscallOutcome sys_faccessat(SyscallCall& call) {
    return check_access(call, call.int_arg(0), call.address(1), call.int_arg(2), 0);
}

SyscallOutcome sys_faccessat2(SyscallCall& call) {
    return check_access(call, call.int_arg(0), call.address(1), call.int_arg(2), call.int_arg(3));
}

SyscallOutcome sys_readlink(SyscallCall& call) {
    return read_link(call, AT_FDCWD, call.address(0), call.address(1), call.int_arg(2));
}

SyscallOutcome sys_readlinkat(SyscallCall& call) {
    return read_link(call, call.int_arg(0), call.address(1), call.address(2), call.int_arg(3));
}

SyscallOutcome sys_getcwd(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    std::string path = facts->working_directory.data();
    if (call.sample.moved || path.empty())
        return ends(SampleEnd::unsafe_syscall, "the working directory's name is not known");
    if (path.size() + 1 > call.arg(1)) return failure(ERANGE);
    auto bytes = std::as_bytes(std::span(path.c_str(), path.size() + 1));
    return call.space.write(call.address(0), bytes) ? answer(bytes.size()) : failure(EFAULT);
}

SyscallOutcome sys_chdir(SyscallCall& call) {
    TRY_ASSIGN(SamplePath path, sample_path(call, AT_FDCWD, call.address(0)));
    TRY_ASSIGN(FoundFile found, find_file(call, path));
    return move_to(call, found.status, path.ref);
}

SyscallOutcome sys_fchdir(SyscallCall& call) {
    TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(call.int_arg(0)));
    return move_to(call, descriptor->file->node->status, descriptor->file->directory);
}

}  // namespace shadowprof
