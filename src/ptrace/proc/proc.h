// What /proc says about processes. Functions return ErrorCode::gone if the process no longer
// exists.
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

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/result.h"

namespace shadowprof {

// Fields of /proc/PID/status.
struct ProcStatus {
    char state = '?';  // R, S, D (uninterruptible), T (group stop), t (traced), Z, X, ...
    pid_t tgid = 0;
    pid_t parent_pid = 0;
    pid_t tracer_pid = 0;  // 0 if there is none
    std::uint32_t effective_uid = 0;
    int seccomp = 0;  // 0 none, 1 strict, 2 filters
    int seccomp_filters = 0;
    std::uint64_t pending_signals = 0;  // for the thread or the process; bit 0 is signal 1
    std::uint64_t blocked_signals = 0;
    std::uint64_t ignored_signals = 0;
    std::uint64_t caught_signals = 0;  // those with a handler
    bool kernel_thread = false;

    // Missing fields keep their defaults. Without State and Tgid the text is ErrorCode::invalid.
    static Result<ProcStatus> parse(std::string_view text);
};

// Fields of /proc/PID/stat.
struct ProcStat {
    char state = '?';
    pid_t parent_pid = 0;
    bool is_exiting = false;  // it executes nothing more, though it may sleep before its end
    std::uint64_t minor_faults = 0;
    std::uint64_t user_ns = 0, system_ns = 0;  // processor time, in steps of the kernel's tick
    int cpu = 0;                               // processor on which it ran last

    static Result<ProcStat> parse(std::string_view text);
};

struct AuxiliaryEntry {
    std::uint64_t type = 0;  // AT_...
    std::uint64_t value = 0;
};

// Reads a file of /proc or a similar file system, whose length is known only when it is read.
// Returns ErrorCode::interrupted if it is long and was not read completely before `until`.
Result<std::string> read_proc_text(
    const std::string& path,
    std::optional<std::chrono::steady_clock::time_point> until = std::nullopt);
// Reads the text that MemoryMap::parse() takes. It is not empty: ErrorCode::gone also stands for a
// process that has no memory any more.
Result<std::string> read_maps_text(pid_t pid);
// Returns ErrorCode::interrupted if it takes longer than `until`.
Result<std::string> read_maps_text(pid_t pid, std::chrono::steady_clock::time_point until);
Result<MemoryMap> read_memory_map(pid_t pid);
// The kernel looks at every page of the process for this text.
Result<std::string> read_smaps_text(pid_t pid);
Result<ProcStatus> read_proc_status(pid_t pid);
Result<ProcStat> read_proc_stat(pid_t pid);
// The resident pages that no file backs, as the kernel counts them.
Result<std::uint64_t> read_anonymous_pages(pid_t pid);
// Whether the process runs without address space layout randomisation.
Result<bool> has_fixed_addresses(pid_t pid);
// How far the stack may grow. RLIM_INFINITY if there is no limit, and the usual limit if the kernel
// does not tell. For a replica this is the limit of an earlier moment.
std::uint64_t stack_limit_bytes(pid_t pid);
// Processor time of all threads. 0 if the process is gone.
std::uint64_t read_cpu_ns(pid_t pid);
// Read /proc/PID/task/TID/stat. The second function returns only the state.
Result<ProcStat> read_thread_stat(pid_t pid, pid_t tid);
Result<char> read_thread_state(pid_t pid, pid_t tid);
// Whether the thread executes nothing more: it is a zombie, or gone.
bool has_thread_ended(pid_t pid, pid_t tid);
// Fields of /proc/PID/task/TID/schedstat.
struct ThreadRuns {
    std::uint64_t run_ns = 0;   // processor time; slightly out of date for a thread that runs
    std::uint64_t wait_ns = 0;  // ready without a processor, until it was last given one
    std::uint64_t runs = 0;     // how often it was given a processor
};
Result<ThreadRuns> read_thread_runs(pid_t pid, pid_t tid);
// The same file, kept open: reading it then takes a microsecond. ErrorCode::gone: it could not be
// opened, or the thread has ended.
class ThreadRunsFile {
  public:
    ThreadRunsFile(pid_t pid, pid_t tid);
    Result<ThreadRuns> read() const;

  private:
    UniqueFd fd_;
};

// Whether two processes share their memory (kcmp(2)). Nothing if the kernel does not say.
std::optional<bool> have_same_memory(pid_t a, pid_t b);
// The auxiliary vector without the AT_NULL at its end.
Result<std::vector<AuxiliaryEntry>> read_auxiliary_vector(pid_t pid);
// The words of the command line, as far as the process has left them in its memory.
Result<std::vector<std::string>> read_command(pid_t pid);
// The same without empty words at the end, which are the room that a shorter title left
// (setproctitle).
Result<std::vector<std::string>> read_title(pid_t pid);
// The name as the thread has set it.
Result<std::string> read_thread_name(pid_t pid, pid_t tid);
// The process id in the innermost of its PID namespaces.
Result<pid_t> read_namespace_pid(pid_t pid);
// The target of /proc/PID/exe. Keeps the " (deleted)" that the kernel may append.
Result<std::string> read_exe_path(pid_t pid);
Result<std::vector<pid_t>> read_thread_ids(pid_t pid);
// Whether `tid` is a thread of process `pid`.
bool is_thread_of(pid_t pid, pid_t tid);

// Makes the process the first of this user's processes that the kernel kills when memory runs out.
// Does not affect other processes.
void offer_to_oom_killer(pid_t pid);

// Kinds of program files, by their first bytes.
enum class ProgramKind : std::uint8_t { elf_x86_64, elf_other, script, unknown };
// A file shorter than an ELF header is `unknown`, unless it is a script.
ProgramKind classify_program(std::span<const std::byte> first_bytes);
// Returns the kind of the program that the process executes.
Result<ProgramKind> read_exe_kind(pid_t pid);

}  // namespace shadowprof
