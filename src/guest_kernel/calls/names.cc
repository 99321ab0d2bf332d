// Calls that change names or attributes of files. Only the sample's names change.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest_kernel/calls/paths.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

using State = PathOverlay::State;

// 0 if a file can be made at the path, in an existing directory; else the refusal.
SyscallOutcome check_new_name(SyscallCall& call, const SamplePath& path) {
    auto existing = find_file(call, path);
    if (existing) return failure(EEXIST);
    if (existing.error().end || existing.error().value != -ENOENT) return existing.error();
    TRY_ASSIGN(FoundFile parent, find_file(call, parent_of(path)));
    return parent.status.is_directory() ? answer(0) : failure(ENOTDIR);
}

SyscallOutcome make_directory(SyscallCall& call, int directory, GuestAddress address,
                              std::uint32_t mode) {
    TRY_ASSIGN(SamplePath path, sample_path(call, directory, address, false));
    auto check = check_new_name(call, path);
    if (check.end || check.value != 0) return check;
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    std::uint32_t umask = call.sample.process.umask.value_or(facts->umask);
    TRY_ASSIGN(FileNodeRef node,
               call.sample.create_file(S_IFDIR | (mode & 01777 & ~umask), call.elapsed_ns));
    call.sample.names.set(path.key, {State::present, std::move(node)});
    return answer(0);
}

SyscallOutcome remove_name(SyscallCall& call, int directory, GuestAddress address,
                           bool is_directory) {
    TRY_ASSIGN(SamplePath path, sample_path(call, directory, address, false));
    TRY_ASSIGN(FoundFile found, find_file(call, path));
    if (is_directory && !found.status.is_directory()) return failure(ENOTDIR);
    if (!is_directory && found.status.is_directory()) return failure(EISDIR);
    // It is not known whether the directory is empty.
    if (is_directory && !found.node) return ends(SampleEnd::unsafe_syscall, "removes a directory");
    if (found.node && found.node->status.links > 0) --found.node->status.links;
    call.sample.names.set(path.key, {State::removed, nullptr});
    return answer(0);
}

SyscallOutcome move_name(SyscallCall& call, int from_directory, GuestAddress from_address,
                         int to_directory, GuestAddress to_address, std::uint32_t flags) {
    if (flags & ~static_cast<std::uint32_t>(RENAME_NOREPLACE))
        return ends(SampleEnd::unsafe_syscall, "flags that are not emulated");
    TRY_ASSIGN(SamplePath from, sample_path(call, from_directory, from_address, false));
    TRY_ASSIGN(SamplePath to, sample_path(call, to_directory, to_address, false));
    TRY_ASSIGN(FoundFile found, find_file(call, from));
    if (!found.status.is_regular())
        return ends(SampleEnd::unsafe_syscall, "renames something other than a regular file");
    auto check = check_new_name(call, to);
    bool replaces = !check.end && check.value == -EEXIST;
    if (replaces && (flags & RENAME_NOREPLACE)) return failure(EEXIST);
    if (!replaces && (check.end || check.value != 0)) return check;
    if (from.key == to.key) return answer(0);
    auto node = found.node ? found.node : call.sample.files.node_for(found.status, from.ref);
    call.sample.names.set(from.key, {State::removed, nullptr});
    call.sample.names.set(to.key, {State::present, std::move(node)});
    return answer(0);
}

// Makes a name whose file is not tracked: looking it up ends the sample.
SyscallOutcome make_unknown_name(SyscallCall& call, int directory, GuestAddress address) {
    TRY_ASSIGN(SamplePath path, sample_path(call, directory, address, false));
    auto check = check_new_name(call, path);
    if (check.end || check.value != 0) return check;
    call.sample.names.set(path.key, {State::unknown, nullptr});
    return answer(0);
}

SyscallOutcome make_link(SyscallCall& call, int from_directory, GuestAddress from_address,
                         int to_directory, GuestAddress to_address) {
    TRY_ASSIGN(SamplePath from, sample_path(call, from_directory, from_address, false));
    TRY(find_file(call, from));
    return make_unknown_name(call, to_directory, to_address);
}

SyscallOutcome change_attributes(SyscallCall& call, int directory, GuestAddress address) {
    TRY_ASSIGN(SamplePath path, sample_path(call, directory, address));
    TRY_ASSIGN(FoundFile found, find_file(call, path));
    if (found.node)
        found.node->attributes_changed = true;
    else
        call.sample.names.set(path.key, {State::unknown, nullptr});
    return answer(0);
}

}  // namespace

SyscallOutcome sys_rename(SyscallCall& call) {
    return move_name(call, AT_FDCWD, call.address(0), AT_FDCWD, call.address(1), 0);
}

SyscallOutcome sys_renameat(SyscallCall& call) {
    return move_name(call, call.int_arg(0), call.address(1), call.int_arg(2), call.address(3), 0);
}

SyscallOutcome sys_renameat2(SyscallCall& call) {
    return move_name(call, call.int_arg(0), call.address(1), call.int_arg(2), call.address(3),
                     call.uint_arg(4));
}

SyscallOutcome sys_mkdir(SyscallCall& call) {
    return make_directory(call, AT_FDCWD, call.address(0), call.uint_arg(1));
}

SyscallOutcome sys_mkdirat(SyscallCall& call) {
    return make_directory(call, call.int_arg(0), call.address(1), call.uint_arg(2));
}

SyscallOutcome sys_rmdir(SyscallCall& call) {
    return remove_name(call, AT_FDCWD, call.address(0), true);
}

SyscallOutcome sys_unlink(SyscallCall& call) {
    return remove_name(call, AT_FDCWD, call.address(0), false);
}

SyscallOutcome sys_unlinkat(SyscallCall& call) {
    if (call.int_arg(2) & ~AT_REMOVEDIR) return failure(EINVAL);
    return remove_name(call, call.int_arg(0), call.address(1), call.int_arg(2) != 0);
}

SyscallOutcome sys_link(SyscallCall& call) {
    return make_link(call, AT_FDCWD, call.address(0), AT_FDCWD, call.address(1));
}

SyscallOutcome sys_linkat(SyscallCall& call) {
    if (call.int_arg(4) != 0) return ends(SampleEnd::unsafe_syscall, "flags that are not emulated");
    return make_link(call, call.int_arg(0), call.address(1), call.int_arg(2), call.address(3));
}

SyscallOutcome sys_symlink(SyscallCall& call) {
    TRY(load_path(call, call.address(0)));
    return make_unknown_name(call, AT_FDCWD, call.address(1));
}

SyscallOutcome sys_symlinkat(SyscallCall& call) {
    TRY(load_path(call, call.address(0)));
    return make_unknown_name(call, call.int_arg(1), call.address(2));
}

SyscallOutcome sys_truncate(SyscallCall& call) {
    if (call.arg(1) > INT64_MAX) return failure(EINVAL);
    TRY_ASSIGN(SamplePath path, sample_path(call, AT_FDCWD, call.address(0)));
    TRY_ASSIGN(FoundFile found, find_file(call, path));
    if (found.status.is_directory()) return failure(EISDIR);
    if (!found.status.is_regular()) return failure(EINVAL);
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (!may_access(*facts, found.status, W_OK, false)) return failure(EACCES);
    auto node = found.node ? found.node : call.sample.files.node_for(found.status, path.ref);
    if (node->mapped_shared)
        return ends(SampleEnd::unsafe_syscall, "resizes a file that is also mapped shared");
    call.sample.files.resize(*node, call.arg(1));
    return answer(0);
}

SyscallOutcome sys_path_output(SyscallCall& call) {
    return change_attributes(call, AT_FDCWD, call.address(0));
}

SyscallOutcome sys_path_output_at(SyscallCall& call) {
    return change_attributes(call, call.int_arg(0), call.address(1));
}

SyscallOutcome sys_utimensat(SyscallCall& call) {
    // A null path means the descriptor itself: futimens(3).
    if (call.arg(1) == 0) return sys_attribute_output(call);
    return sys_path_output_at(call);
}

}  // namespace shadowprof
