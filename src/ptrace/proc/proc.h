// What /proc says about processes. ErrorCode::gone where the process no longer exists.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_map.h"
#include "base/result.h"

namespace shadowprof {

// From /proc/PID/status.
struct ProcStatus {
    char state = '?';  // R, S, D (uninterruptible), T (group stop), t (traced), Z, X, ...
    pid_t tgid = 0;
    pid_t parent_pid = 0;
    pid_t tracer_pid = 0;  // 0: none
    std::uint32_t effective_uid = 0;
    int seccomp = 0;  // 0 none, 1 strict, 2 filters
    int seccomp_filters = 0;
    std::uint64_t pending_signals = 0;  // of the thread or of the process; bit 0 is signal 1
    std::uint64_t blocked_signals = 0;
    std::uint64_t ignored_signals = 0;
    bool kernel_thread = false;

    // Fields that are missing keep their defaults; a text without State and Tgid is
    // ErrorCode::invalid.
    static Result<ProcStatus> parse(std::string_view text);
};

// From /proc/PID/stat.
struct ProcStat {
    char state = '?';
    pid_t parent_pid = 0;
    std::uint64_t minor_faults = 0;
    std::uint64_t user_ns = 0, system_ns = 0;  // processor time, in steps of the kernel's tick
    int cpu = 0;                               // on which it ran last

    static Result<ProcStat> parse(std::string_view text);
};

struct AuxiliaryEntry {
    std::uint64_t type = 0;  // AT_...
    std::uint64_t value = 0;
};

// A file of /proc or a file system like it, whose length is known only when it is read.
// ErrorCode::interrupted if it is long and not all of it was read before `until`.
Result<std::string> read_proc_text(
    const std::string& path,
    std::optional<std::chrono::steady_clock::time_point> until = std::nullopt);
// What MemoryMap::parse() reads, not empty. Error `gone` also where the process has no memory any
// more.
Result<std::string> read_maps_text(pid_t pid);
// The same; ErrorCode::interrupted if it takes longer than `until`.
Result<std::string> read_maps_text(pid_t pid, std::chrono::steady_clock::time_point until);
Result<MemoryMap> read_memory_map(pid_t pid);
// The same with what the kernel knows of each mapping; it looks at every page for that.
Result<std::string> read_smaps_text(pid_t pid);
Result<ProcStatus> read_proc_status(pid_t pid);
Result<ProcStat> read_proc_stat(pid_t pid);
// Pages of its memory that no file backs, as the kernel counts them.
Result<std::uint64_t> read_anonymous_pages(pid_t pid);
// No address space layout randomisation for the program that it executes.
Result<bool> has_fixed_addresses(pid_t pid);
// How far its stack may grow, RLIM_INFINITY where there is no limit; what is usual if the kernel
// does not tell. A replica answers with the limit of an earlier moment.
std::uint64_t stack_limit_bytes(pid_t pid);
// Processor time of all its threads; 0 if it is gone.
std::uint64_t read_cpu_ns(pid_t pid);
// What /proc/PID/task/TID/stat says of one thread. The second answers with its state only.
Result<ProcStat> read_thread_stat(pid_t pid, pid_t tid);
Result<char> read_thread_state(pid_t pid, pid_t tid);
// From /proc/PID/task/TID/schedstat.
struct ThreadRuns {
    std::uint64_t run_ns = 0;  // processor time; of a thread that runs, until a moment ago
    std::uint64_t runs = 0;    // how often it was given a processor
};
Result<ThreadRuns> read_thread_runs(pid_t pid, pid_t tid);

// Two processes share their memory (kcmp(2)). Nothing where the kernel does not say.
std::optional<bool> have_same_memory(pid_t a, pid_t b);
// Without the AT_NULL at its end.
Result<std::vector<AuxiliaryEntry>> read_auxiliary_vector(pid_t pid);
// The words of its command line, as far as the process has left them there.
Result<std::vector<std::string>> read_command(pid_t pid);
// As the thread has set it.
Result<std::string> read_thread_name(pid_t pid, pid_t tid);
// Its id in the innermost of its pid namespaces.
Result<pid_t> read_namespace_pid(pid_t pid);
// The target of /proc/PID/exe: " (deleted)" is left at its end where the kernel puts it.
Result<std::string> read_exe_path(pid_t pid);
Result<std::vector<pid_t>> read_thread_ids(pid_t pid);
// Whether `tid` is a thread of process `pid`.
bool is_thread_of(pid_t pid, pid_t tid);

// Makes the process the first that the kernel kills where memory runs out. Of processes of the same
// user, without effect on others.
void offer_to_oom_killer(pid_t pid);

// What the first bytes of a program file say.
enum class ProgramKind : std::uint8_t { elf_x86_64, elf_other, script, unknown };
// A file shorter than an ELF header is `unknown`, or a script.
ProgramKind classify_program(std::span<const std::byte> first_bytes);
// Tells what kind of program the process executes.
Result<ProgramKind> read_exe_kind(pid_t pid);

}  // namespace shadowprof
