#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include "guest_kernel/calls/paths.h"
#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

struct OpenRequest {
    std::uint32_t flags = 0;  // as for open(2)
    std::uint32_t mode = 0;
};

// F_GETFL does not report these.
constexpr std::uint32_t creation_flags = O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC;
constexpr std::uint32_t tmpfile_flag = O_TMPFILE & ~O_DIRECTORY;

int wanted_access(std::uint32_t flags) {
    switch (flags & O_ACCMODE) {
        case O_RDONLY:
            return R_OK;
        case O_WRONLY:
            return W_OK;
        default:
            return R_OK | W_OK;
    }
}

std::uint32_t umask_of(const SampleState& sample, const SampleFacts& facts) {
    return sample.process.umask.value_or(facts.umask);
}

Emulated<FileNodeRef> new_file(SyscallCall& call, const SampleFacts& facts, std::uint32_t mode) {
    mode &= 07777 & ~umask_of(call.sample, facts);
    return call.sample.create_file(S_IFREG | mode, call.elapsed_ns);
}

Emulated<FileNodeRef> create_file(SyscallCall& call, const SamplePath& path,
                                  const OpenRequest& request) {
    if (path.ref.path.ends_with('/')) return failure(EISDIR);
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    TRY_ASSIGN(FoundFile parent, find_file(call, parent_of(path)));
    if (!parent.status.is_directory()) return failure(ENOTDIR);
    if (!may_access(*facts, parent.status, W_OK | X_OK, false)) return failure(EACCES);
    TRY_ASSIGN(FileNodeRef node, new_file(call, *facts, request.mode));
    call.sample.names.set(path.key, {PathOverlay::State::present, node});
    return node;
}

SyscallOutcome check_existing(SyscallCall& call, const FileStatus& status,
                              const OpenRequest& request) {
    bool creates = (request.flags & O_CREAT) != 0;
    if (creates && (request.flags & O_EXCL)) return failure(EEXIST);
    if (S_ISLNK(status.mode)) return failure(ELOOP);
    if ((request.flags & O_DIRECTORY) && !status.is_directory()) return failure(ENOTDIR);
    if (status.is_directory() && (creates || (request.flags & O_ACCMODE) != O_RDONLY))
        return failure(EISDIR);
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (!may_access(*facts, status, wanted_access(request.flags), false)) return failure(EACCES);
    auto kind = kind_of(status);
    if (kind == FileKind::terminal || kind == FileKind::stream)
        return ends(SampleEnd::unsafe_syscall, "opens a device, pipe or socket");
    return answer(0);
}

Emulated<FileNodeRef> open_existing(SyscallCall& call, const SamplePath& path, FoundFile found,
                                    const OpenRequest& request) {
    auto check = check_existing(call, found.status, request);
    if (check.end || check.value != 0) return check;
    auto node = found.node ? found.node : call.sample.files.node_for(found.status, path.ref);
    if (!(request.flags & O_TRUNC) || !node->status.is_regular()) return node;
    if (node->mapped_shared)
        return ends(SampleEnd::unsafe_syscall, "resizes a file that is also mapped shared");
    call.sample.files.resize(*node, 0);
    return node;
}

Emulated<FileNodeRef> find_or_create(SyscallCall& call, const SamplePath& path,
                                     const OpenRequest& request) {
    auto found = find_file(call, path);
    if (found) return open_existing(call, path, std::move(*found), request);
    bool missing = !found.error().end && found.error().value == -ENOENT;
    if (!missing || !(request.flags & O_CREAT)) return found.error();
    return create_file(call, path, request);
}

// O_TMPFILE: the path names the directory, and the file has no name.
Emulated<FileNodeRef> create_unnamed(SyscallCall& call, const SamplePath& path,
                                     const OpenRequest& request) {
    if ((request.flags & O_ACCMODE) == O_RDONLY) return failure(EINVAL);
    TRY_ASSIGN(FoundFile directory, find_file(call, path));
    if (!directory.status.is_directory()) return failure(ENOTDIR);
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (!may_access(*facts, directory.status, W_OK | X_OK, false)) return failure(EACCES);
    return new_file(call, *facts, request.mode);
}

SyscallOutcome open_file(SyscallCall& call, int directory, GuestAddress path_address,
                         const OpenRequest& request) {
    if (request.flags & O_PATH)
        return ends(SampleEnd::unsafe_syscall, "opens a path only (O_PATH)");
    bool exclusive = (request.flags & O_CREAT) && (request.flags & O_EXCL);
    bool follow = !(request.flags & O_NOFOLLOW) && !exclusive;
    TRY_ASSIGN(SamplePath path, sample_path(call, directory, path_address, follow));
    bool unnamed = (request.flags & tmpfile_flag) != 0;
    TRY_ASSIGN(FileNodeRef node,
               unnamed ? create_unnamed(call, path, request) : find_or_create(call, path, request));
    auto file = std::make_shared<OpenFile>();
    file->node = std::move(node);
    file->flags = (request.flags & ~creation_flags) | large_file_flag;
    file->directory = path.ref;
    TRY_ASSIGN(std::uint64_t limit, call.sample.descriptor_limit());
    Descriptor descriptor{std::move(file), (request.flags & O_CLOEXEC) != 0};
    TRY_ASSIGN(int fd, call.sample.descriptors.add(std::move(descriptor), 0, limit));
    return answer(fd);
}

}  // namespace

SyscallOutcome sys_open(SyscallCall& call) {
    return open_file(call, AT_FDCWD, call.address(0), {call.uint_arg(1), call.uint_arg(2)});
}

SyscallOutcome sys_openat(SyscallCall& call) {
    return open_file(call, call.int_arg(0), call.address(1), {call.uint_arg(2), call.uint_arg(3)});
}

SyscallOutcome sys_openat2(SyscallCall& call) {
    if (call.arg(3) < sizeof(open_how)) return failure(EINVAL);
    if (call.arg(3) > sizeof(open_how))
        return ends(SampleEnd::unsafe_syscall, "arguments of a newer kernel");
    TRY_ASSIGN(auto how, load<open_how>(call, call.address(2)));
    if (how.resolve != 0)
        return ends(SampleEnd::unsafe_syscall,
                    "restrictions on paths (RESOLVE_*) are not emulated");
    if (how.flags > UINT32_MAX || how.mode > 07777) return failure(EINVAL);
    return open_file(call, call.int_arg(0), call.address(1),
                     {static_cast<std::uint32_t>(how.flags), static_cast<std::uint32_t>(how.mode)});
}

SyscallOutcome sys_creat(SyscallCall& call) {
    return open_file(call, AT_FDCWD, call.address(0),
                     {O_CREAT | O_WRONLY | O_TRUNC, call.uint_arg(1)});
}

}  // namespace shadowprof
