#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/text/status_field.h"
#include "guest_kernel/environment/environment_proc.h"
#include "guest_kernel/environment/environment_proc_text.h"

namespace shadowprof {
namespace {

// The clock id of the processor time of a process (kind 2) or a thread (kind 6):
// clock_getcpuclockid(3).
clockid_t cpu_clock(pid_t id, int kind) {
    return static_cast<clockid_t>(~static_cast<unsigned>(id) << 3 | static_cast<unsigned>(kind));
}

void capture_clocks(CapturedProcess& captured) {
    for (std::size_t id = 0; id < clock_count; ++id) {
        if (id == CLOCK_PROCESS_CPUTIME_ID)
            captured.clock_ns[id] = read_clock_ns(cpu_clock(captured.pid, 2));
        else if (id != CLOCK_THREAD_CPUTIME_ID)
            captured.clock_ns[id] = read_clock_ns(static_cast<clockid_t>(id));
    }
}

CapturedProcess::Thread capture_thread(pid_t tid) {
    CapturedProcess::Thread thread{.tid = tid, .cpu_ns = read_clock_ns(cpu_clock(tid, 6))};
    std::uint64_t mask = 0;
    if (::ptrace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask) == 0) thread.blocked_signals = mask;
    return thread;
}

bool read_fdinfo(int fdinfo_directory, const char* number, DescriptorFacts& facts) {
    UniqueFd file(::openat(fdinfo_directory, number, O_RDONLY | O_CLOEXEC));
    if (!file) return false;
    std::array<char, 256> text;
    ssize_t got = ::read(file.get(), text.data(), text.size());
    return got > 0 && parse_fdinfo({text.data(), static_cast<std::size_t>(got)}, facts);
}

std::vector<int> list_numbers(int directory, bool& complete) {
    std::vector<int> numbers;
    // Enough for about 150 descriptors; others are described later.
    alignas(dirent64) std::array<char, 4096> buffer;
    long got = ::syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
    for (std::size_t at = 0; got > 0 && at < static_cast<std::size_t>(got);) {
        auto* entry = reinterpret_cast<const dirent64*>(&buffer[at]);
        std::string_view name = entry->d_name;
        int number = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc{})
            numbers.push_back(number);
        at += entry->d_reclen;
    }
    // An entry takes at most 32 bytes: if there is room for one more, all were listed.
    complete = got >= 0 && static_cast<std::size_t>(got) + 32 < buffer.size();
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

// Descriptors from dup(2) or fork(2) share an offset. The kernel is asked about candidates only.
void find_shared_description(CapturedProcess& captured, CapturedProcess::Descriptor& descriptor) {
    const DescriptorFacts& facts = descriptor.facts;
    for (const auto& other : captured.descriptors) {
        bool possible = other.facts.status.inode == facts.status.inode &&
                        other.facts.status.device == facts.status.device &&
                        other.facts.offset == facts.offset && other.facts.flags == facts.flags;
        if (!possible || !other.facts.status.is_regular()) continue;
        // If the kernel does not tell, equal offsets and flags are taken to mean that they share.
        if (::syscall(SYS_kcmp, captured.pid, captured.pid, KCMP_FILE, other.fd, descriptor.fd) > 0)
            continue;
        descriptor.shares_with = other.fd;
        return;
    }
}

bool capture_descriptor(CapturedProcess& captured, int fd, int links, int infos,
                        CapturedProcess::Flags flags) {
    std::string number = std::to_string(fd);
    auto location = std::make_shared<UniqueFd>(::openat(links, number.c_str(), O_PATH | O_CLOEXEC));
    if (!*location) return false;
    auto status = status_of_fd(location->get());
    if (!status) return false;
    CapturedProcess::Descriptor descriptor{.fd = fd, .facts = {.status = *status}};
    bool regular = status->is_regular();
    if (regular || status->is_directory()) descriptor.location = std::move(location);
    if (regular || fd <= STDERR_FILENO || flags == CapturedProcess::Flags::of_all)
        descriptor.flags_known = read_fdinfo(infos, number.c_str(), descriptor.facts);
    descriptor.facts.offset_known = descriptor.flags_known;
    if (regular) find_shared_description(captured, descriptor);
    captured.descriptors.push_back(std::move(descriptor));
    return regular;
}

Result<void> capture_descriptors(CapturedProcess& captured, CapturedProcess::Flags flags) {
    std::string base = fmt::format("/proc/{}/", captured.pid);
    UniqueFd links(::open((base + "fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!links) return errno_error(base + "fd", errno == ENOENT ? ESRCH : errno);
    UniqueFd infos(::open((base + "fdinfo").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::size_t files = 0;
    for (int fd : list_numbers(links.get(), captured.all_descriptors)) {
        if (captured.descriptors.size() == CapturedProcess::max_descriptors ||
            files == CapturedProcess::max_files) {
            captured.all_descriptors = false;
            break;
        }
        if (capture_descriptor(captured, fd, links.get(), infos.get(), flags)) ++files;
    }
    return {};
}

// Through any of the process's threads: one that has ended has no directories.
Result<std::shared_ptr<const UniqueFd>> open_directory(std::span<const pid_t> tids,
                                                       std::string_view name) {
    Error missing{ErrorCode::gone, ESRCH, "the process has no thread"};
    for (const pid_t tid : tids) {
        const auto path = fmt::format("/proc/{}/{}", tid, name);
        UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (fd) return std::make_shared<const UniqueFd>(std::move(fd));
        missing = errno_error(path, errno == ENOENT ? ESRCH : errno);
    }
    return missing;
}

Result<void> capture_directories_and_ids(CapturedProcess& captured, std::span<const pid_t> tids) {
    TRY_ASSIGN(captured.status, read_proc_file(fmt::format("/proc/{}/status", captured.pid)));
    TRY_ASSIGN(captured.working_directory, open_directory(tids, "cwd"));
    TRY_ASSIGN(captured.root_directory, open_directory(tids, "root"));
    return {};
}

}  // namespace

bool parse_fdinfo(std::string_view text, DescriptorFacts& facts) {
    auto offset = parse_numbers(status_field(text, "pos"));
    auto flags = parse_numbers(status_field(text, "flags"), 8);
    if (offset.empty() || flags.empty()) return false;
    facts.offset = offset[0];
    facts.close_on_exec = (flags[0] & O_CLOEXEC) != 0;
    facts.flags = static_cast<std::uint32_t>(flags[0] & ~static_cast<std::uint64_t>(O_CLOEXEC));
    return true;
}

Result<CapturedProcess> CapturedProcess::take(pid_t pid, std::span<const pid_t> tids, Flags flags) {
    CapturedProcess captured;
    captured.pid = pid;
    capture_clocks(captured);
    for (const pid_t tid : tids) captured.threads.push_back(capture_thread(tid));
    if (flags == Flags::none_but_clocks) return captured;
    TRY(capture_directories_and_ids(captured, tids));
    TRY(capture_descriptors(captured, flags));
    return captured;
}

}  // namespace shadowprof
