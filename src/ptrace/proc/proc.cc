#include "ptrace/proc/proc.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/files/fd.h"
#include "base/text/status_field.h"

namespace shadowprof {
namespace {

constexpr std::size_t longest_proc_file_bytes = 256u << 20;
// Shorter texts are read at once, without a look at the clock.
constexpr std::size_t looks_at_clock_bytes = 16u << 10;

// In /proc, ENOENT means that the process is gone.
Error proc_error(const std::string& path) {
    return errno_error(fmt::format("read '{}'", path), errno == ENOENT ? ESRCH : errno);
}

template <typename T>
std::optional<T> to_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    return value;
}

template <typename T>
T status_number(std::string_view text, std::string_view name) {
    return to_number<T>(status_field(text, name)).value_or(T{});
}

// Returns the fields after the command, which is in parentheses and may hold any character.
std::vector<std::string_view> stat_fields_from_state(std::string_view text) {
    std::vector<std::string_view> fields;
    const auto close = text.rfind(')');
    if (close == std::string_view::npos) return fields;
    text.remove_prefix(close + 1);
    while (!text.empty()) {
        const std::size_t start = std::min(text.find_first_not_of(" \n"), text.size());
        text.remove_prefix(start);
        const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
        if (end > 0) fields.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return fields;
}

std::uint64_t signal_set(std::string_view text, std::string_view name) {
    const auto field = status_field(text, name);
    std::uint64_t set = 0;
    std::from_chars(field.data(), field.data() + field.size(), set, 16);
    return set;
}

Error invalid(std::string_view what) {
    return {ErrorCode::invalid, 0, fmt::format("{} has an unexpected format", what)};
}

}  // namespace

Result<std::string> read_proc_text(const std::string& path,
                                   std::optional<std::chrono::steady_clock::time_point> until) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return proc_error(path);
    std::string text;
    std::array<char, 16384> chunk;
    for (;;) {
        const ssize_t count = ::read(fd.get(), chunk.data(), chunk.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return proc_error(path);
        if (count == 0) return text;
        text.append(chunk.data(), static_cast<std::size_t>(count));
        const bool is_long = text.size() > looks_at_clock_bytes;
        if (until && is_long && std::chrono::steady_clock::now() >= *until)
            return Error{ErrorCode::interrupted, 0,
                         fmt::format("'{}' could not be read in time", path)};
        if (text.size() > longest_proc_file_bytes)
            return Error{ErrorCode::invalid, 0, fmt::format("'{}' does not end", path)};
    }
}

void offer_to_oom_killer(pid_t pid) {
    constexpr std::string_view most = "1000";
    const UniqueFd fd(
        ::open(fmt::format("/proc/{}/oom_score_adj", pid).c_str(), O_WRONLY | O_CLOEXEC));
    if (fd && ::write(fd.get(), most.data(), most.size()) < 0) return;
}

Result<ProcStatus> ProcStatus::parse(std::string_view text) {
    const auto state = status_field(text, "State");
    const auto tgid = to_number<pid_t>(status_field(text, "Tgid"));
    if (state.empty() || !tgid) return invalid("/proc/PID/status");
    const auto uids = status_field(text, "Uid");
    const auto effective = uids.substr(std::min(uids.find('\t'), uids.size()));
    return ProcStatus{
        .state = state.front(),
        .tgid = *tgid,
        .parent_pid = status_number<pid_t>(text, "PPid"),
        .tracer_pid = status_number<pid_t>(text, "TracerPid"),
        .effective_uid =
            to_number<std::uint32_t>(effective.substr(effective.empty() ? 0 : 1)).value_or(0),
        .seccomp = status_number<int>(text, "Seccomp"),
        .seccomp_filters = status_number<int>(text, "Seccomp_filters"),
        .pending_signals = signal_set(text, "SigPnd") | signal_set(text, "ShdPnd"),
        .blocked_signals = signal_set(text, "SigBlk"),
        .ignored_signals = signal_set(text, "SigIgn"),
        .caught_signals = signal_set(text, "SigCgt"),
        .kernel_thread = status_field(text, "VmSize").empty() && state.front() != 'Z',
    };
}

Result<ProcStat> ProcStat::parse(std::string_view text) {
    // Indices count from the state, which is field 3 in proc(5).
    constexpr std::size_t state = 0, ppid = 1, flags = 6, minflt = 7, utime = 11, stime = 12,
                          processor = 36;
    constexpr std::uint32_t exiting = 4;  // PF_EXITING, include/linux/sched.h
    const auto fields = stat_fields_from_state(text);
    if (fields.size() <= processor) return invalid("/proc/PID/stat");
    const auto parent = to_number<pid_t>(fields[ppid]);
    const auto kernel_flags = to_number<std::uint32_t>(fields[flags]);
    const auto faults = to_number<std::uint64_t>(fields[minflt]);
    const auto user = to_number<std::uint64_t>(fields[utime]);
    const auto system = to_number<std::uint64_t>(fields[stime]);
    const auto cpu = to_number<int>(fields[processor]);
    if (!parent || !kernel_flags || !faults || !user || !system || !cpu)
        return invalid("/proc/PID/stat");
    const auto tick_ns = 1'000'000'000ull / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    return ProcStat{.state = fields[state].front(),
                    .parent_pid = *parent,
                    .is_exiting = (*kernel_flags & exiting) != 0,
                    .minor_faults = *faults,
                    .user_ns = *user * tick_ns,
                    .system_ns = *system * tick_ns,
                    .cpu = *cpu};
}

namespace {

// A process that ends loses its memory before its files in /proc.
Result<std::string> unless_empty(Result<std::string> maps_text, pid_t pid) {
    if (!maps_text || !maps_text->empty()) return maps_text;
    return Error{ErrorCode::gone, ESRCH, fmt::format("process {} has no memory any more", pid)};
}

}  // namespace

Result<std::string> read_maps_text(pid_t pid) {
    return unless_empty(read_proc_text(fmt::format("/proc/{}/maps", pid)), pid);
}

Result<std::string> read_maps_text(pid_t pid, std::chrono::steady_clock::time_point until) {
    return unless_empty(read_proc_text(fmt::format("/proc/{}/maps", pid), until), pid);
}

Result<std::string> read_smaps_text(pid_t pid) {
    return read_proc_text(fmt::format("/proc/{}/smaps", pid));
}

Result<MemoryMap> read_memory_map(pid_t pid) {
    TRY_ASSIGN(const std::string text, read_maps_text(pid));
    return MemoryMap::parse(text);
}

Result<ProcStatus> read_proc_status(pid_t pid) {
    TRY_ASSIGN(const std::string text, read_proc_text(fmt::format("/proc/{}/status", pid)));
    return ProcStatus::parse(text);
}

Result<std::uint64_t> read_anonymous_pages(pid_t pid) {
    TRY_ASSIGN(const auto text, read_proc_text(fmt::format("/proc/{}/statm", pid)));
    unsigned long long size = 0, resident = 0, of_files = 0;
    if (std::sscanf(text.c_str(), "%llu %llu %llu", &size, &resident, &of_files) != 3)
        return Error{ErrorCode::invalid, 0, "/proc/PID/statm has an unexpected format"};
    return resident - std::min(resident, of_files);
}

Result<bool> has_fixed_addresses(pid_t pid) {
    TRY_ASSIGN(const auto text, read_proc_text(fmt::format("/proc/{}/personality", pid)));
    unsigned long persona = 0;
    if (std::sscanf(text.c_str(), "%lx", &persona) != 1)
        return Error{ErrorCode::invalid, 0, "/proc/PID/personality has an unexpected format"};
    return (persona & ADDR_NO_RANDOMIZE) != 0;
}

std::uint64_t stack_limit_bytes(pid_t pid) {
    constexpr std::uint64_t usual = std::uint64_t{8} << 20;
    rlimit limit;
    return ::prlimit(pid, RLIMIT_STACK, nullptr, &limit) == 0 ? limit.rlim_cur : usual;
}

std::uint64_t read_cpu_ns(pid_t pid) {
    clockid_t clock = 0;
    if (::clock_getcpuclockid(pid, &clock) != 0) return 0;
    return static_cast<std::uint64_t>(read_clock_ns(clock));
}

Result<ProcStat> read_proc_stat(pid_t pid) {
    TRY_ASSIGN(const std::string text, read_proc_text(fmt::format("/proc/{}/stat", pid)));
    return ProcStat::parse(text);
}

Result<ProcStat> read_thread_stat(pid_t pid, pid_t tid) {
    TRY_ASSIGN(const std::string text,
               read_proc_text(fmt::format("/proc/{}/task/{}/stat", pid, tid)));
    return ProcStat::parse(text);
}

Result<ThreadRuns> read_thread_runs(pid_t pid, pid_t tid) {
    return ThreadRunsFile(pid, tid).read();
}

ThreadRunsFile::ThreadRunsFile(pid_t pid, pid_t tid)
    : fd_(::open(fmt::format("/proc/{}/task/{}/schedstat", pid, tid).c_str(),
                 O_RDONLY | O_CLOEXEC)) {}

Result<ThreadRuns> ThreadRunsFile::read() const {
    if (!fd_) return Error{ErrorCode::gone, ESRCH, "read /proc/PID/task/TID/schedstat"};
    std::array<char, 128> text;
    const ssize_t count = ::pread(fd_.get(), text.data(), text.size(), 0);
    if (count < 0) return proc_error("/proc/PID/task/TID/schedstat");
    ThreadRuns runs;
    const char* at = text.data();
    const char* const end = at + count;
    for (std::uint64_t* each : {&runs.run_ns, &runs.wait_ns, &runs.runs}) {
        while (at != end && *at == ' ') ++at;
        const auto [next, error] = std::from_chars(at, end, *each);
        if (error != std::errc{})
            return Error{ErrorCode::invalid, 0, "/proc/PID/schedstat has an unexpected format"};
        at = next;
    }
    return runs;
}

bool has_thread_ended(pid_t pid, pid_t tid) {
    const char state = read_thread_state(pid, tid).value_or('X');
    return state == 'Z' || state == 'X';
}

Result<char> read_thread_state(pid_t pid, pid_t tid) {
    TRY_ASSIGN(const ProcStat stat, read_thread_stat(pid, tid));
    return stat.state;
}

std::optional<bool> have_same_memory(pid_t a, pid_t b) {
    const long order = ::syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
    if (order < 0) return std::nullopt;
    return order == 0;
}

Result<std::vector<AuxiliaryEntry>> read_auxiliary_vector(pid_t pid) {
    TRY_ASSIGN(const std::string bytes, read_proc_text(fmt::format("/proc/{}/auxv", pid)));
    std::vector<AuxiliaryEntry> entries;
    for (std::size_t at = 0; at + sizeof(AuxiliaryEntry) <= bytes.size();
         at += sizeof(AuxiliaryEntry)) {
        AuxiliaryEntry entry;
        std::memcpy(&entry, bytes.data() + at, sizeof entry);
        if (entry.type == AT_NULL) break;
        entries.push_back(entry);
    }
    return entries;
}

Result<std::string> read_exe_path(pid_t pid) {
    const std::string link = fmt::format("/proc/{}/exe", pid);
    std::string path(4096 + 16, '\0');
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    if (length < 0) return proc_error(link);
    path.resize(static_cast<std::size_t>(length));
    return path;
}

Result<std::vector<std::string>> read_command(pid_t pid) {
    TRY_ASSIGN(const std::string bytes, read_proc_text(fmt::format("/proc/{}/cmdline", pid)));
    std::vector<std::string> words;
    for (std::size_t start = 0; start < bytes.size();) {
        const std::size_t end = std::min(bytes.find('\0', start), bytes.size());
        words.push_back(bytes.substr(start, end - start));
        start = end + 1;
    }
    return words;
}

Result<std::vector<std::string>> read_title(pid_t pid) {
    TRY_ASSIGN(auto words, read_command(pid));
    while (!words.empty() && words.back().empty()) words.pop_back();
    return words;
}

Result<std::string> read_thread_name(pid_t pid, pid_t tid) {
    TRY_ASSIGN(std::string name, read_proc_text(fmt::format("/proc/{}/task/{}/comm", pid, tid)));
    if (name.ends_with('\n')) name.pop_back();
    return name;
}

Result<pid_t> read_namespace_pid(pid_t pid) {
    TRY_ASSIGN(const std::string text, read_proc_text(fmt::format("/proc/{}/status", pid)));
    const auto ids = status_field(text, "NSpid");
    const auto last = ids.substr(ids.rfind('\t') + 1);
    return to_number<pid_t>(last).value_or(pid);
}

Result<std::vector<pid_t>> read_thread_ids(pid_t pid) {
    const std::string path = fmt::format("/proc/{}/task", pid);
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
    if (!directory) return proc_error(path);
    std::vector<pid_t> tids;
    while (const dirent* entry = ::readdir(directory.get())) {
        if (const auto tid = to_number<pid_t>(entry->d_name)) tids.push_back(*tid);
    }
    return tids;
}

bool is_thread_of(pid_t pid, pid_t tid) {
    return ::access(fmt::format("/proc/{}/task/{}", pid, tid).c_str(), F_OK) == 0;
}

ProgramKind classify_program(std::span<const std::byte> first_bytes) {
    const auto* text = reinterpret_cast<const char*>(first_bytes.data());
    if (std::string_view(text, first_bytes.size()).starts_with("#!")) return ProgramKind::script;
    Elf64_Ehdr header;
    if (first_bytes.size() < sizeof header) return ProgramKind::unknown;
    std::memcpy(&header, first_bytes.data(), sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return ProgramKind::unknown;
    const bool native = header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64;
    return native ? ProgramKind::elf_x86_64 : ProgramKind::elf_other;
}

Result<ProgramKind> read_exe_kind(pid_t pid) {
    const std::string path = fmt::format("/proc/{}/exe", pid);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return proc_error(path);
    std::array<std::byte, sizeof(Elf64_Ehdr)> bytes;
    const ssize_t count = ::pread(fd.get(), bytes.data(), bytes.size(), 0);
    if (count < 0) return proc_error(path);
    return classify_program(std::span(bytes).first(static_cast<std::size_t>(count)));
}

}  // namespace shadowprof
