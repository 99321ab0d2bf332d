#include "base/files/safe_output.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace shadowprof {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

struct Remedy {
    int error_number;
    std::string_view text;
};
constexpr std::array<Remedy, 10> remedies{{
    {ENOENT, "create the directory first, or name another file with -o"},
    {ENOTDIR, "name another file with -o"},
    {EISDIR, "name a file in it"},
    {EACCES, "name a file in a directory that you may write to with -o"},
    {EPERM, "name a file in a directory that you may write to with -o"},
    {EROFS, "name a file on another file system with -o"},
    {ENOSPC, "free some space, or name a file on another file system with -o"},
    {EDQUOT, "free some of your quota, or name a file on another file system with -o"},
    {ENAMETOOLONG, "choose a shorter name with -o"},
    {EPIPE, "the reader of the output has gone: let it read to the end"},
}};

std::string_view remedy(int error_number) {
    for (const Remedy& r : remedies)
        if (r.error_number == error_number) return r.text;
    return "name another file with -o";
}

std::string remedy(int error_number, NamedBy named_by) {
    constexpr std::string_view option = " with -o";
    const std::string_view text = remedy(error_number);
    const bool names_option = named_by == NamedBy::command && text.ends_with(option);
    return std::string(text.substr(0, text.size() - (names_option ? option.size() : 0)));
}

struct SplitPath {
    std::string directory;  // ends in '/', or is empty
    std::string base;
};
SplitPath split(const std::string& path) {
    std::size_t slash = path.rfind('/') + 1;  // npos + 1 is 0
    return {path.substr(0, slash), path.substr(slash)};
}

// Follows symbolic links. Returns `path` itself if it names nothing yet.
std::string resolved(const std::string& path) {
    std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
    return real ? std::string(real.get()) : path;
}

// Returns a pattern that expands to `name`, whatever the pid.
std::string escaped(std::string_view name) {
    std::string pattern;
    for (char c : name) pattern.append(c == '%' ? 2 : 1, c);
    return pattern;
}

// Whether the name leads over /proc/PID/fd to an open descriptor. Replacing the file behind
// /dev/stdout would take it away from others that write to it.
bool names_open_descriptor(std::filesystem::path path) {
    constexpr int max_links = 40;  // as many as the kernel follows
    for (int links = 0; links < max_links; ++links) {
        const UniqueFd link(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct statfs system;
        if (!link || ::fstatfs(link.get(), &system) != 0) return false;
        if (system.f_type == PROC_SUPER_MAGIC) return true;
        std::error_code error;
        const auto target = std::filesystem::read_symlink(path, error);
        if (error) return false;
        path = path.parent_path() / target;
    }
    return false;
}

// Renames `from` to `to`, and keeps an older file `to` as `to`.old. Where the file system can
// exchange names, a file `to` exists at every moment.
Result<void> rename_keeping_old(int directory, const std::string& from, const std::string& to) {
    if (::renameat2(directory, from.c_str(), directory, to.c_str(), RENAME_NOREPLACE) == 0)
        return {};
    std::string old = to + ".old";
    if (errno == EEXIST &&
        ::renameat2(directory, from.c_str(), directory, to.c_str(), RENAME_EXCHANGE) == 0) {
        if (::renameat(directory, from.c_str(), directory, old.c_str()) == 0) return {};
        int reason = errno;
        (void)::renameat2(directory, from.c_str(), directory, to.c_str(), RENAME_EXCHANGE);
        return errno_error(fmt::format("cannot keep the older file as '{}'", old), reason);
    }
    bool had_older = ::renameat(directory, to.c_str(), directory, old.c_str()) == 0;
    if (!had_older && errno != ENOENT)
        return errno_error(fmt::format("cannot keep the older file as '{}'", old));
    if (::renameat(directory, from.c_str(), directory, to.c_str()) == 0) return {};
    int reason = errno;
    if (had_older) (void)::renameat(directory, old.c_str(), directory, to.c_str());
    return errno_error("cannot rename the finished file", reason);
}

Result<void> rename_replacing(int directory, const std::string& from, const std::string& to) {
    if (::renameat(directory, from.c_str(), directory, to.c_str()) == 0) return {};
    return errno_error("cannot rename the finished file");
}

}  // namespace

std::string expand_output_name(std::string_view pattern, pid_t pid) {
    std::string name;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        if (next == 'p')
            name += std::to_string(pid);
        else if (next == '%')
            name += '%';
        else
            name += pattern[i];
        if (next == 'p' || next == '%') ++i;
    }
    return name;
}

SafeOutput::SafeOutput(SafeOutput&& other) noexcept
    : pattern_(std::move(other.pattern_)),
      named_by_(other.named_by_),
      readers_(other.readers_),
      directory_(std::move(other.directory_)),
      base_(std::move(other.base_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      buffer_(std::move(other.buffer_)),
      failed_(other.failed_) {}

SafeOutput::~SafeOutput() {
    remove_temporary();
}

Error SafeOutput::error(int error_number, std::string_view what) const {
    Error e = errno_error(fmt::format("{} '{}'", what, pattern_), error_number);
    e.message += fmt::format(" ({})", remedy(error_number, named_by_));
    return e;
}

Result<SafeOutput> SafeOutput::open(std::string pattern, NamedBy named_by, Readers readers) {
    SafeOutput output(std::move(pattern), named_by, readers);
    if (output.pattern_ == "-") {
        TRY(output.open_standard_output());
        return output;
    }
    // The pid is not known yet: 0 stands for any.
    std::string path = expand_output_name(output.pattern_, 0);
    struct stat status;
    bool exists = ::stat(path.c_str(), &status) == 0;
    if (!exists && errno != ENOENT) return output.error(errno, "cannot write");
    if (exists && S_ISDIR(status.st_mode)) return output.error(EISDIR, "cannot write");
    if (exists && (!S_ISREG(status.st_mode) || names_open_descriptor(path)))
        TRY(output.open_in_place(path));
    else
        TRY(output.open_directory(path));
    return output;
}

Result<void> SafeOutput::open_standard_output() {
    int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        return Error{ErrorCode::system, EBADF,
                     "cannot write the profile to standard output: it is closed (name a file with "
                     "-o)"};
    file_.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!file_) return error(errno, "cannot write");
    return {};
}

Result<void> SafeOutput::open_in_place(const std::string& path) {
    file_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_APPEND));
    if (!file_) return error(errno, "cannot write");
    return {};
}

Result<void> SafeOutput::open_directory(const std::string& path) {
    bool has_pid = path != expand_output_name(pattern_, 1);
    auto [directory, base] = split(has_pid ? pattern_ : escaped(resolved(path)));
    base_ = base;
    directory = expand_output_name(directory, 0);
    if (base_.empty() || base_ == "." || base_ == "..") return error(EISDIR, "cannot write");
    if (directory != expand_output_name(split(pattern_).directory, 1) && has_pid)
        return Error{ErrorCode::usage, 0,
                     fmt::format("cannot write '{}': %p in the name of a directory (use it in the "
                                 "file's own name)",
                                 pattern_)};
    directory_.reset(
        ::open(directory.empty() ? "." : directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory_) return error(errno, "cannot write");
    TRY(create_temporary());
    remove_temporary();
    return {};
}

Result<void> SafeOutput::create_temporary() {
    constexpr int max_tries = 100;
    const mode_t mode = readers_ == Readers::owner ? 0600 : 0666;
    for (int i = 0; i < max_tries; ++i) {
        std::string name = fmt::format(".shadowprof-{}-{}.tmp", ::getpid(), i);
        file_.reset(::openat(directory_.get(), name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
        if (file_) return temporary_ = std::move(name), Result<void>{};
        if (errno != EEXIST) break;
    }
    return error(errno, "cannot create a file for");
}

void SafeOutput::remove_temporary() {
    if (temporary_.empty()) return;
    ::unlinkat(directory_.get(), temporary_.c_str(), 0);
    temporary_.clear();
    file_.reset();
}

Result<void> SafeOutput::write(std::string_view bytes) {
    if (failed_) return error(EIO, "cannot write");
    buffer_.append(bytes);
    return buffer_.size() < buffer_bytes ? Result<void>{} : flush();
}

void SafeOutput::restart() {
    remove_temporary();
    buffer_.clear();
    failed_ = false;
}

Result<void> SafeOutput::flush() {
    if (failed_) return error(EIO, "cannot write");
    failed_ = true;
    if (!file_) TRY(create_temporary());
    const auto written = write_all(file_.get(), buffer_);
    buffer_.clear();
    if (!written) return error(written.error().sys_errno, "cannot write");
    failed_ = false;
    return {};
}

Result<std::string> SafeOutput::commit(pid_t pid, OlderFile older) {
    TRY(flush());
    if (temporary_.empty()) {
        file_.reset();
        return pattern_;
    }
    if (::fsync(file_.get()) != 0) return error(errno, "cannot write");
    TRY(install(expand_output_name(base_, pid), older));
    return expand_output_name(pattern_, pid);
}

Result<void> SafeOutput::install(const std::string& name, OlderFile older) {
    const auto rename = older == OlderFile::is_kept ? rename_keeping_old : rename_replacing;
    if (auto renamed = rename(directory_.get(), temporary_, name); !renamed) {
        int reason = renamed.error().sys_errno;
        Error e =
            std::move(renamed).error().with_context(fmt::format("cannot write '{}'", pattern_));
        e.message += fmt::format(" ({})", remedy(reason, named_by_));
        return e;
    }
    temporary_.clear();
    UniqueFd directory(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Some file systems cannot sync directories. The file itself is already on the disk.
    if (directory) (void)::fsync(directory.get());
    return {};
}

}  // namespace shadowprof
