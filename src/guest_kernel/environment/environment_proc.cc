#include "guest_kernel/environment/environment_proc.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "guest_kernel/environment/environment_proc_text.h"

namespace shadowprof {
namespace {

// File systems whose files are questions to the kernel: reading one may have effects, and its
// contents depend on the reader.
constexpr std::array<long, 20> pseudo_file_systems = {PROC_SUPER_MAGIC,
                                                      SYSFS_MAGIC,
                                                      DEBUGFS_MAGIC,
                                                      TRACEFS_MAGIC,
                                                      CGROUP_SUPER_MAGIC,
                                                      CGROUP2_SUPER_MAGIC,
                                                      SECURITYFS_MAGIC,
                                                      SELINUX_MAGIC,
                                                      SMACK_MAGIC,
                                                      BPF_FS_MAGIC,
                                                      BINFMTFS_MAGIC,
                                                      EFIVARFS_MAGIC,
                                                      PSTOREFS_MAGIC,
                                                      DEVPTS_SUPER_MAGIC,
                                                      NSFS_MAGIC,
                                                      USBDEVICE_SUPER_MAGIC,
                                                      RDTGROUP_SUPER_MAGIC,
                                                      0x65735543 /* fusectl */,
                                                      0x62656570 /* configfs */,
                                                      0x19800202 /* mqueue */};

Error unknowable(std::string_view what) {
    return {ErrorCode::unsupported, 0, std::string(what)};
}

Error refusal(int errno_value, std::string_view what) {
    return errno_error(what, errno_value);
}

FileTime file_time(const statx_timestamp& time) {
    return {time.tv_sec, time.tv_nsec, 0};
}

FileStatus file_status(const struct statx& x) {
    return {.device = makedev(x.stx_dev_major, x.stx_dev_minor),
            .inode = x.stx_ino,
            .links = x.stx_nlink,
            .size_bytes = x.stx_size,
            .blocks = x.stx_blocks,
            .raw_device = makedev(x.stx_rdev_major, x.stx_rdev_minor),
            .mode = x.stx_mode,
            .uid = x.stx_uid,
            .gid = x.stx_gid,
            .block_size = x.stx_blksize,
            .accessed = file_time(x.stx_atime),
            .modified = file_time(x.stx_mtime),
            .changed = file_time(x.stx_ctime),
            .born = x.stx_mask & STATX_BTIME ? file_time(x.stx_btime) : FileTime{}};
}

// Does not synchronise with a file server, as the target may be waiting for us.
Result<FileStatus> status_of(int directory, const char* name, int flags) {
    struct statx x {};
    if (::statx(directory, name, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
                STATX_BASIC_STATS | STATX_BTIME, &x) != 0)
        return errno_error("statx");
    return file_status(x);
}

bool is_pseudo_file(int fd) {
    struct statfs fs {};
    if (::fstatfs(fd, &fs) != 0) return true;
    return std::find(pseudo_file_systems.begin(), pseudo_file_systems.end(), fs.f_type) !=
           pseudo_file_systems.end();
}

Result<UniqueFd> open_location(int base, const char* path, bool follow, std::uint64_t resolve) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    if (!follow) how.flags |= O_NOFOLLOW;
    how.resolve = resolve;
    UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, base, path, &how, sizeof how)));
    if (fd) return fd;
    // A magic link, or a way out of the tree that cannot be followed as the process would.
    if (errno == ELOOP || errno == EXDEV || errno == EAGAIN || errno == ENOSYS)
        return unknowable("a path that only the process itself can follow");
    return errno_error(path);
}

// Opens the file of `location`, an O_PATH descriptor of a regular file.
Result<UniqueFd> open_for_reading(const UniqueFd& location) {
    auto link = fmt::format("/proc/self/fd/{}", location.get());
    constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    UniqueFd fd(::open(link.c_str(), flags | O_NOATIME));
    if (!fd && errno == EPERM) fd.reset(::open(link.c_str(), flags));
    if (!fd) return unknowable("a file that shadowprof may not read");
    return fd;
}

bool same_file(const FileStatus& a, const FileStatus& b) {
    return a.device == b.device && a.inode == b.inode;
}

bool same_root_directory(const std::string& root) {
    auto theirs = status_at(AT_FDCWD, root.c_str());
    auto ours = status_at(AT_FDCWD, "/");
    return theirs && ours && same_file(*theirs, *ours);
}

Error no_such_thread() {
    return {ErrorCode::invalid, 0, "no such thread"};
}

}  // namespace

Result<FileStatus> status_of_fd(int fd) {
    return status_of(fd, "", AT_EMPTY_PATH);
}

Result<FileStatus> status_at(int directory, const char* name) {
    return status_of(directory, name, 0);
}

std::string ProcEnvironment::proc_path(std::string_view name) const {
    return fmt::format("/proc/{}/{}", captured_.pid, name);
}

std::string ProcEnvironment::directory_path(std::string_view name,
                                            const std::shared_ptr<const UniqueFd>& taken) const {
    return taken ? fmt::format("/proc/self/fd/{}", taken->get()) : proc_path(name);
}

std::string ProcEnvironment::root_path() const {
    return directory_path("root", captured_.root_directory);
}

Error ProcEnvironment::missing(std::string_view what) const {
    // A zombie still has a directory in /proc, but no working directory.
    char byte = 0;
    const auto working_directory = fmt::format("/proc/{}/cwd", frozen_);
    if (::readlink(working_directory.c_str(), &byte, 1) < 0 && errno != EACCES)
        return {ErrorCode::gone, ESRCH, fmt::format("process {} is gone", frozen_)};
    return unknowable(what);
}

const CapturedProcess::Descriptor* ProcEnvironment::captured(int fd) const {
    const auto& all = captured_.descriptors;
    auto it = std::lower_bound(all.begin(), all.end(), fd,
                               [](const auto& descriptor, int n) { return descriptor.fd < n; });
    return it != all.end() && it->fd == fd ? &*it : nullptr;
}

bool ProcEnvironment::is_newer_than_snapshot(const FileTime& time) const {
    if (kind_ == Frozen::process) return false;
    // The clock of the kernel's time stamps is never behind the coarse one.
    return time.seconds * 1'000'000'000 + time.nanoseconds >=
           captured_.clock_ns[CLOCK_REALTIME_COARSE];
}

Result<SampleClocks> ProcEnvironment::clocks(std::uint32_t thread) {
    if (thread >= captured_.threads.size()) return no_such_thread();
    timespec resolution{};
    ::clock_getres(CLOCK_REALTIME_COARSE, &resolution);
    SampleClocks clocks{captured_.clock_ns, resolution.tv_sec * 1'000'000'000 + resolution.tv_nsec};
    clocks.ns[CLOCK_THREAD_CPUTIME_ID] = captured_.threads[thread].cpu_ns;
    return clocks;
}

Result<SampleFacts> ProcEnvironment::facts(std::uint32_t thread) {
    if (thread >= captured_.threads.size()) return no_such_thread();
    const auto known = facts_.find(thread);
    if (known != facts_.end()) return known->second;
    Error error = missing("facts");
    if (error.code == ErrorCode::gone) return error;
    TRY_ASSIGN(auto facts, read_sample_facts(captured_, captured_.threads[thread], frozen_));
    facts_.emplace(thread, facts);
    return facts;
}

bool ProcEnvironment::is_as_captured(int fd, const FileStatus& status) const {
    const auto* known = captured(fd);
    if (known)
        return same_file(known->facts.status, status) &&
               known->facts.status.raw_device == status.raw_device;
    return kind_ == Frozen::process;
}

Result<DescriptorFacts> ProcEnvironment::describe(int fd) {
    const auto* known = captured(fd);
    if (!known && captured_.all_descriptors) return refusal(EBADF, "descriptor");
    if (known && known->flags_known) return known->facts;
    auto text = read_proc_file(proc_path(fmt::format("fdinfo/{}", fd)));
    if (!text && !known && kind_ == Frozen::process) {
        Error error = missing("descriptor");
        return error.code == ErrorCode::gone ? error : refusal(EBADF, "descriptor");
    }
    auto status = status_at(AT_FDCWD, proc_path(fmt::format("fd/{}", fd)).c_str());
    DescriptorFacts facts;
    if (!text || !parse_fdinfo(*text, facts) || !status || !is_as_captured(fd, *status))
        return missing("a descriptor whose state at the start of the sample is not known");
    facts.status = *status;
    facts.offset_known = !status->is_regular() || kind_ == Frozen::process;
    return facts;
}

Result<bool> ProcEnvironment::same_description(int fd_a, int fd_b) {
    const auto* a = captured(fd_a);
    const auto* b = captured(fd_b);
    if (a && b && a->flags_known && b->flags_known) {
        int first_of_a = a->shares_with < 0 ? fd_a : a->shares_with;
        int first_of_b = b->shares_with < 0 ? fd_b : b->shares_with;
        return first_of_a == first_of_b;
    }
    if (kind_ == Frozen::replica)
        return unknowable("descriptors whose state at the start of the sample is not known");
    long order = ::syscall(SYS_kcmp, captured_.pid, captured_.pid, KCMP_FILE, fd_a, fd_b);
    if (order < 0) return missing("kcmp");
    return order == 0;
}

Result<TerminalFacts> ProcEnvironment::terminal(int fd) {
    // Opening a terminal has effects; duplicating the open descriptor has none.
    UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, captured_.pid, 0)));
    if (!process) return errno_error("pidfd_open");
    UniqueFd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), fd, 0)));
    auto status = status_of_fd(copy.get());
    if (!copy || !status || !is_as_captured(fd, *status)) return missing("pidfd_getfd");
    TerminalFacts facts;
    // The system call, not tcgetattr(3), whose structure differs.
    if (::syscall(SYS_ioctl, copy.get(), TCGETS, facts.termios.data()) != 0)
        return errno_error("TCGETS");
    if (::ioctl(copy.get(), TIOCGWINSZ, facts.window_size.data()) != 0)
        return errno_error("TIOCGWINSZ");
    return facts;
}

Result<UniqueFd> ProcEnvironment::base_directory(const PathRef& ref) const {
    std::string path =
        ref.path.front() == '/' ? root_path() : directory_path("cwd", captured_.working_directory);
    std::shared_ptr<const UniqueFd> location;
    if (ref.path.front() != '/' && ref.base != AT_FDCWD) {
        TRY_ASSIGN(location, location_of(ref.base));
        path = fmt::format("/proc/self/fd/{}", location->get());
    }
    UniqueFd base(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!base && errno == ENOTDIR) return refusal(ENOTDIR, "base directory");
    if (!base) return missing("base directory");
    return base;
}

// Resolves a path without opening its file: no device, pipe or magic link is touched.
Result<UniqueFd> ProcEnvironment::locate(const PathRef& ref) const {
    if (ref.path.empty() || ref.path.find('\0') != std::string::npos)
        return refusal(ENOENT, "empty path");
    TRY_ASSIGN(UniqueFd base, base_directory(ref));
    std::uint64_t resolve = RESOLVE_NO_MAGICLINKS;
    if (!same_root_directory(root_path()))
        resolve |= ref.path.front() == '/' ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
    TRY_ASSIGN(UniqueFd location, open_location(base.get(), ref.path.c_str(), ref.follow, resolve));
    if (is_pseudo_file(location.get()))
        return unknowable("a file that the kernel makes up, as in /proc");
    return location;
}

// A file that was made after the snapshot does not exist for the sample.
Result<FileStatus> ProcEnvironment::located_status(const UniqueFd& file) const {
    TRY_ASSIGN(FileStatus status, status_of_fd(file.get()));
    if (status.born.seconds != 0 && is_newer_than_snapshot(status.born))
        return refusal(ENOENT, "made after the snapshot");
    return status;
}

Result<OpenedFile> ProcEnvironment::keep_open(const UniqueFd& location) {
    TRY_ASSIGN(FileStatus status, status_of_fd(location.get()));
    if (!status.is_regular() || is_pseudo_file(location.get()))
        return unknowable("not a regular file that stores data");
    if (files_.size() >= max_open_files) return unknowable("too many open files in one sample");
    TRY_ASSIGN(UniqueFd file, open_for_reading(location));
    FileHandle handle{static_cast<std::uint32_t>(files_.size()) + 1};
    files_.emplace(handle, std::move(file));
    return OpenedFile{handle, status};
}

Result<std::shared_ptr<const UniqueFd>> ProcEnvironment::location_of(int fd) const {
    const auto* known = captured(fd);
    if (known && known->location) return known->location;
    auto path = proc_path(fmt::format("fd/{}", fd));
    auto location = std::make_shared<UniqueFd>(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!*location) return missing("a descriptor that is no longer open");
    TRY_ASSIGN(FileStatus status, status_of_fd(location->get()));
    if (!is_as_captured(fd, status)) return unknowable("a descriptor that was opened anew");
    return std::shared_ptr<const UniqueFd>(std::move(location));
}

Result<OpenedFile> ProcEnvironment::open_descriptor(int fd) {
    if (auto it = handles_of_descriptors_.find(fd); it != handles_of_descriptors_.end()) {
        TRY_ASSIGN(FileStatus status, status_of_fd(files_.at(it->second).get()));
        return OpenedFile{it->second, status};
    }
    TRY_ASSIGN(auto location, location_of(fd));
    TRY_ASSIGN(OpenedFile opened, keep_open(*location));
    handles_of_descriptors_.emplace(fd, opened.handle);
    return opened;
}

Result<OpenedFile> ProcEnvironment::open_path(const PathRef& path) {
    TRY_ASSIGN(UniqueFd location, locate(path));
    TRY_ASSIGN(FileStatus status, located_status(location));
    TRY_ASSIGN(SampleFacts process, facts(0));
    if (!may_access(process, status, R_OK, false)) return refusal(EACCES, path.path);
    return keep_open(location);
}

Result<FileRead> ProcEnvironment::read(FileHandle handle, std::uint64_t offset,
                                       std::span<std::byte> to) {
    auto it = files_.find(handle);
    if (it == files_.end()) return Error{ErrorCode::invalid, 0, "no such file handle"};
    constexpr std::uint64_t max_offset = INT64_MAX;
    if (offset > max_offset || to.size() > max_offset - offset) return FileRead{};
    FileRead result;
    while (result.bytes < to.size()) {
        ssize_t got = ::pread(it->second.get(), to.data() + result.bytes, to.size() - result.bytes,
                              static_cast<off_t>(offset + result.bytes));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return unknowable("pread");
        if (got == 0) break;
        result.bytes += static_cast<std::size_t>(got);
    }
    // After the read, so that a write during it is noticed.
    TRY_ASSIGN(FileStatus status, status_of_fd(it->second.get()));
    result.changed = is_newer_than_snapshot(status.modified);
    return result;
}

Result<FileStatus> ProcEnvironment::stat_path(const PathRef& path) {
    TRY_ASSIGN(UniqueFd location, locate(path));
    return located_status(location);
}

Result<std::string> ProcEnvironment::read_link(const PathRef& ref) {
    std::string target(SampleFacts::max_path_bytes, '\0');
    ssize_t length = -1;
    if (ref.path == "/proc/self/exe" || ref.path == "/proc/thread-self/exe") {
        if (!same_root_directory(root_path()))
            return unknowable("the process has another root directory than shadowprof");
        length =
            ::readlink(fmt::format("/proc/{}/exe", frozen_).c_str(), target.data(), target.size());
    } else {
        TRY_ASSIGN(UniqueFd location, locate({ref.base, ref.path, false}));
        TRY_ASSIGN(FileStatus status, located_status(location));
        if (!S_ISLNK(status.mode)) return refusal(EINVAL, "not a link");
        length = ::readlinkat(location.get(), "", target.data(), target.size());
    }
    if (length < 0) return unknowable("readlink");
    target.resize(static_cast<std::size_t>(length));
    return target;
}

Result<std::span<const std::byte>> ProcEnvironment::take_input(const InputCall& call) {
    taken_input_.clear();
    if (!recording_) return SampleEnvironment::take_input(call);
    if (call.thread >= captured_.threads.size())
        return unknowable("input of a thread that began in the sample");
    TRY_ASSIGN(const auto input, recording_->take(captured_.threads[call.thread].tid, call));
    taken_input_ = encode(*input);
    return std::span<const std::byte>(taken_input_);
}

}  // namespace shadowprof
