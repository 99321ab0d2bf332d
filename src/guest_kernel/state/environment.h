// What a sample may ask about the world outside its snapshot. Every question is read-only: none
// moves an offset, updates a time stamp, opens a device or runs anything.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "base/result.h"

namespace shadowprof {

// The clocks of clock_gettime(2), indexed by their ids 0 (realtime) to 11 (TAI).
inline constexpr std::size_t clock_count = 12;

// Apart from SampleFacts, as almost every program asks for them and they cost nothing.
struct SampleClocks {
    std::array<std::int64_t, clock_count> ns{};
    std::int64_t coarse_resolution_ns = 0;
};
static_assert(std::is_trivially_copyable_v<SampleClocks>);

// The process at snapshot time, as its own system calls would report it (ids in its own
// namespaces). Trivially copyable, as it is sent to other processes as bytes.
struct SampleFacts {
    static constexpr std::size_t max_groups = 64;
    static constexpr std::size_t max_path_bytes = 4096;

    struct Limit {
        std::uint64_t soft = 0, hard = 0;
    };

    std::int32_t pid = 0, tid = 0, parent_pid = 0, process_group = 0, session = 0;
    std::uint32_t uid = 0, effective_uid = 0, saved_uid = 0, fs_uid = 0;
    std::uint32_t gid = 0, effective_gid = 0, saved_gid = 0, fs_gid = 0;
    std::uint32_t group_count = 0;  // may exceed max_groups: then the rest is not known
    std::array<std::uint32_t, max_groups> groups{};
    std::int64_t ticks = 0;                    // return value of times(2)
    std::uint64_t user_ns = 0, system_ns = 0;  // processor time of the process
    std::uint64_t minor_faults = 0, major_faults = 0, max_resident_kib = 0;

    std::uint64_t start_brk = 0;
    // Bit n - 1 stands for signal n.
    std::uint64_t blocked_signals = 0, ignored_signals = 0, caught_signals = 0;
    std::uint64_t pending_signals = 0;
    std::uint32_t umask = 022;
    std::int32_t nice = 0, scheduling_policy = 0, scheduling_priority = 0;
    std::uint32_t cpu = 0, node = 0;
    std::uint32_t affinity_bytes = 0;  // as the system call returns it; at most sizeof(affinity)
    std::array<std::uint64_t, 16> affinity{};
    std::array<Limit, 16> limits{};
    std::uint8_t limits_known = 0, uname_known = 0;

    std::array<char, 16> command{};                        // the thread's name, NUL-terminated
    std::array<std::array<char, 65>, 6> uname{};           // as struct utsname
    std::array<char, max_path_bytes> working_directory{};  // NUL-terminated; empty: not known
    std::array<std::uint64_t, 14> sysinfo{};               // struct sysinfo as the kernel fills it
    std::uint64_t membarrier_commands = 0;
};
static_assert(std::is_trivially_copyable_v<SampleFacts>);

struct FileTime {
    std::int64_t seconds = 0;
    std::uint32_t nanoseconds = 0;
    std::uint32_t unused = 0;
};

// stat(2) of a file.
struct FileStatus {
    std::uint64_t device = 0, inode = 0, links = 0, size_bytes = 0, blocks = 0, raw_device = 0;
    std::uint32_t mode = 0, uid = 0, gid = 0, block_size = 0;
    FileTime accessed, modified, changed, born;

    bool is_regular() const { return S_ISREG(mode); }
    bool is_directory() const { return S_ISDIR(mode); }
};

// An open file descriptor of the process.
struct DescriptorFacts {
    FileStatus status;
    std::uint64_t offset = 0;  // at snapshot time
    std::uint32_t flags = 0;   // open(2) flags as F_GETFL reports them
    std::uint8_t close_on_exec = 0;
    std::uint8_t offset_known = 0;  // 0: `offset` and `status` may be newer than the snapshot
    std::uint8_t unused[2] = {};
};

// A terminal's settings: the bytes that ioctls TCGETS and TIOCGWINSZ fill in.
struct TerminalFacts {
    std::array<std::byte, 36> termios{};
    std::array<std::byte, 8> window_size{};
};

// A path as the process would resolve it: relative to a descriptor that it had at snapshot time,
// or to its working directory (AT_FDCWD).
struct PathRef {
    int base = AT_FDCWD;
    std::string path;
    bool follow = true;  // follows a symbolic link in the last component
};

// A regular file that the environment holds open for the sample.
enum class FileHandle : std::uint32_t {};

struct OpenedFile {
    FileHandle handle{};
    FileStatus status;
};

struct FileRead {
    std::size_t bytes = 0;  // fewer than requested only at the end of the file
    bool changed = false;   // the file was modified since the snapshot: the bytes may be newer
};

// An input call of the sample, as the thread made it. Trivially copyable.
struct InputCall {
    std::uint32_t thread = 0;  // index in the sample; unused if recorded from the program
    std::uint32_t number = 0;
    std::array<std::uint64_t, 6> arguments{};
    std::uint64_t instruction_end = 0;  // rip: behind the `syscall` instruction
    std::uint64_t stack = 0;            // rsp
};
static_assert(std::is_trivially_copyable_v<InputCall>);

// Errors: a refusal that the process itself would get (no such file, not a directory, no
// permission...) has its errno in `sys_errno`. ErrorCode::unsupported means that the answer cannot
// be known and the sample has to end; its message is one of a few reasons. ErrorCode::gone means
// that the snapshot's process is gone.
class SampleEnvironment {
  public:
    virtual ~SampleEnvironment() = default;

    // As seen by one thread of the sample, which is given by its index in GuestThreads.
    virtual Result<SampleClocks> clocks(std::uint32_t thread) = 0;
    virtual Result<SampleFacts> facts(std::uint32_t thread) = 0;
    // EBADF if the descriptor was not open.
    virtual Result<DescriptorFacts> describe(int fd) = 0;
    // Whether two open descriptors share one open file description, and with it the offset.
    virtual Result<bool> same_description(int fd_a, int fd_b) = 0;
    // ENOTTY if the descriptor is not a terminal.
    virtual Result<TerminalFacts> terminal(int fd) = 0;

    // Only for regular files on file systems that store data; ErrorCode::unsupported for others.
    virtual Result<OpenedFile> open_descriptor(int fd) = 0;
    virtual Result<OpenedFile> open_path(const PathRef& path) = 0;
    // Fills `to` from a byte offset.
    virtual Result<FileRead> read(FileHandle file, std::uint64_t offset,
                                  std::span<std::byte> to) = 0;

    virtual Result<FileStatus> stat_path(const PathRef& path) = 0;
    virtual Result<std::string> read_link(const PathRef& path) = 0;

    // The result of the process's own next input call in the same thread, as an encoded
    // RecordedInput. May wait for it. Each result is given once. The bytes are valid until the next
    // take_input(). ErrorCode::interrupted: the process has not made the call yet.
    virtual Result<std::span<const std::byte>> take_input(const InputCall& call);
    // The bytes of the last take_input().
    virtual std::span<const std::byte> taken_input() const { return {}; }
};

// Whether a process with these facts has all rights in `wanted` (R_OK|W_OK|X_OK) on a file by its
// mode bits. Access control lists and directories on the way are not checked.
bool may_access(const SampleFacts& facts, const FileStatus& file, int wanted, bool real_ids);

// Makes facts from another process safe to use: terminates strings and clamps counts.
void sanitize(SampleFacts& facts);
void sanitize(SampleClocks& clocks);

}  // namespace shadowprof
