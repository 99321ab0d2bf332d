#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/text/status_field.h"
#include "guest_kernel/environment/environment_proc.h"
#include "guest_kernel/environment/environment_proc_text.h"

namespace shadowprof {
namespace {

std::string proc(pid_t pid, std::string_view name) {
    return fmt::format("/proc/{}/{}", pid, name);
}

std::uint64_t number_of(std::string_view status, std::string_view name, int base = 10) {
    auto numbers = parse_numbers(status_field(status, name), base);
    return numbers.empty() ? 0 : numbers[0];
}

// The id in the innermost namespace: the last number of a list such as NSpid.
std::int32_t innermost(std::string_view status, std::string_view name) {
    auto numbers = parse_numbers(status_field(status, name));
    return numbers.empty() ? 0 : static_cast<std::int32_t>(numbers.back());
}

// The parent's id as the process sees it: 0 if the parent is outside of its namespace.
std::int32_t parent_of(std::string_view status) {
    auto parent = static_cast<pid_t>(number_of(status, "PPid"));
    auto parent_status = read_proc_file(proc(parent, "status"));
    if (parent == 0 || !parent_status) return 0;
    auto depth = parse_numbers(status_field(status, "NSpid")).size();
    auto parent_ids = parse_numbers(status_field(*parent_status, "NSpid"));
    return parent_ids.size() == depth && depth > 0 ? static_cast<std::int32_t>(parent_ids.back())
                                                   : 0;
}

// A thread may have ended while its replica is emulated. Its id is still known if it was in our
// namespace.
Result<void> fill_ids(SampleFacts& facts, const CapturedProcess& captured, pid_t tid,
                      std::string_view status) {
    auto thread = read_proc_file(proc(captured.pid, fmt::format("task/{}/status", tid)));
    const bool ours = parse_numbers(status_field(status, "NSpid")).size() == 1;
    if (!thread && !ours) return std::move(thread).error();
    facts.pid = innermost(status, "NSpid");
    facts.tid = thread ? innermost(*thread, "NSpid") : tid;
    facts.process_group = innermost(status, "NSpgid");
    facts.session = innermost(status, "NSsid");
    facts.parent_pid = parent_of(status);
    return {};
}

void fill_credentials(SampleFacts& facts, pid_t pid, std::string_view status) {
    std::string uid_map = read_proc_file(proc(pid, "uid_map")).value_or("0 0 4294967295");
    std::string gid_map = read_proc_file(proc(pid, "gid_map")).value_or("0 0 4294967295");
    auto mapped = [](const std::string& map, std::uint64_t id) {
        return map_id(map, static_cast<std::uint32_t>(id));
    };
    auto uids = parse_numbers(status_field(status, "Uid"));
    auto gids = parse_numbers(status_field(status, "Gid"));
    uids.resize(4);
    gids.resize(4);
    facts.uid = mapped(uid_map, uids[0]);
    facts.effective_uid = mapped(uid_map, uids[1]);
    facts.saved_uid = mapped(uid_map, uids[2]);
    facts.fs_uid = mapped(uid_map, uids[3]);
    facts.gid = mapped(gid_map, gids[0]);
    facts.effective_gid = mapped(gid_map, gids[1]);
    facts.saved_gid = mapped(gid_map, gids[2]);
    facts.fs_gid = mapped(gid_map, gids[3]);
    auto groups = parse_numbers(status_field(status, "Groups"));
    facts.group_count = static_cast<std::uint32_t>(groups.size());
    for (std::size_t i = 0; i < std::min(groups.size(), facts.groups.size()); ++i)
        facts.groups[i] = mapped(gid_map, groups[i]);
}

void fill_signals(SampleFacts& facts, const CapturedProcess::Thread& thread,
                  std::string_view status) {
    facts.ignored_signals = number_of(status, "SigIgn", 16);
    facts.caught_signals = number_of(status, "SigCgt", 16);
    facts.pending_signals = number_of(status, "SigPnd", 16) | number_of(status, "ShdPnd", 16);
    facts.blocked_signals = thread.blocked_signals.value_or(number_of(status, "SigBlk", 16));
    facts.umask = static_cast<std::uint32_t>(number_of(status, "Umask", 8));
}

// times(2) counts from an arbitrary moment: its value at snapshot time is the present one minus the
// time since.
std::int64_t ticks_at_snapshot(const CapturedProcess& captured) {
    std::int64_t passed_ns = read_clock_ns(CLOCK_MONOTONIC) - captured.clock_ns[CLOCK_MONOTONIC];
    return ::times(nullptr) - passed_ns * ::sysconf(_SC_CLK_TCK) / 1'000'000'000;
}

void fill_times(SampleFacts& facts, const CapturedProcess& captured, std::string_view stat) {
    facts.ticks = ticks_at_snapshot(captured);
    // The total is exact; the shares of user and system time are in ticks.
    auto user = static_cast<double>(stat_field(stat, 14).value_or(0));
    auto system = static_cast<double>(stat_field(stat, 15).value_or(0));
    auto total = static_cast<double>(captured.clock_ns[CLOCK_PROCESS_CPUTIME_ID]);
    double user_share = user + system > 0 ? user / (user + system) : 1;
    facts.user_ns = static_cast<std::uint64_t>(total * user_share);
    facts.system_ns = static_cast<std::uint64_t>(total * (1 - user_share));
    facts.minor_faults = stat_field(stat, 10).value_or(0);
    facts.major_faults = stat_field(stat, 12).value_or(0);
}

std::uint32_t node_of_cpu(std::uint32_t cpu) {
    for (std::uint32_t node = 0; node < 64; ++node) {
        auto link = fmt::format("/sys/devices/system/cpu/cpu{}/node{}", cpu, node);
        if (::access(link.c_str(), F_OK) == 0) return node;
    }
    return 0;
}

void fill_scheduling(SampleFacts& facts, pid_t tid, std::string_view stat) {
    facts.nice = static_cast<std::int32_t>(stat_field(stat, 19).value_or(0));
    facts.cpu = static_cast<std::uint32_t>(stat_field(stat, 39).value_or(0));
    facts.scheduling_priority = static_cast<std::int32_t>(stat_field(stat, 40).value_or(0));
    facts.scheduling_policy = static_cast<std::int32_t>(stat_field(stat, 41).value_or(0));
    facts.node = node_of_cpu(facts.cpu);
    // Not the C library's wrapper, which hides how many bytes the kernel filled.
    long bytes = ::syscall(SYS_sched_getaffinity, tid, sizeof facts.affinity, &facts.affinity);
    facts.affinity_bytes = bytes > 0 ? static_cast<std::uint32_t>(bytes) : 0;
}

void fill_limits(SampleFacts& facts, pid_t pid) {
    facts.limits_known = 1;
    for (std::size_t i = 0; i < facts.limits.size(); ++i) {
        static_assert(sizeof(SampleFacts::Limit) == sizeof(struct rlimit64));
        if (::syscall(SYS_prlimit64, pid, i, nullptr, &facts.limits[i]) != 0)
            facts.limits_known = 0;
    }
}

// The host name depends on the namespace; the rest is the kernel's.
void fill_uname(SampleFacts& facts, pid_t pid) {
    struct stat theirs {
    }, ours{};
    utsname name{};
    static_assert(sizeof facts.uname == sizeof name);
    bool same = ::stat(proc(pid, "ns/uts").c_str(), &theirs) == 0 &&
                ::stat("/proc/self/ns/uts", &ours) == 0 && theirs.st_ino == ours.st_ino;
    if (!same || ::uname(&name) != 0) return;
    std::memcpy(facts.uname.data(), &name, sizeof name);
    facts.uname_known = 1;
}

void fill_machine(SampleFacts& facts) {
    struct sysinfo info {};
    static_assert(sizeof info == sizeof facts.sysinfo);
    if (::sysinfo(&info) == 0) std::memcpy(facts.sysinfo.data(), &info, sizeof info);
    long commands = ::syscall(SYS_membarrier, 0, 0, 0);
    facts.membarrier_commands = commands > 0 ? static_cast<std::uint64_t>(commands) : 0;
}

void fill_names(SampleFacts& facts, const CapturedProcess& captured, pid_t tid) {
    auto comm = read_proc_file(proc(captured.pid, fmt::format("task/{}/comm", tid)));
    if (comm) comm->copy(facts.command.data(), facts.command.size() - 1);
    auto* end = std::find(facts.command.begin(), facts.command.end(), '\n');
    if (end != facts.command.end()) *end = 0;
    const auto link_of = [&](const std::shared_ptr<const UniqueFd>& taken, const char* name) {
        return taken ? fmt::format("/proc/self/fd/{}", taken->get()) : proc(captured.pid, name);
    };
    // With another root directory our paths mean nothing to the process: it stays unknown.
    struct stat theirs {
    }, ours{};
    bool same_root = ::stat(link_of(captured.root_directory, "root").c_str(), &theirs) == 0 &&
                     ::stat("/", &ours) == 0 && theirs.st_ino == ours.st_ino &&
                     theirs.st_dev == ours.st_dev;
    if (!same_root) return;
    ssize_t length = ::readlink(link_of(captured.working_directory, "cwd").c_str(),
                                facts.working_directory.data(), facts.working_directory.size() - 1);
    std::string_view path(facts.working_directory.data(),
                          static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    if (path.ends_with(" (deleted)")) facts.working_directory.fill(0);
}

}  // namespace

Result<SampleFacts> read_sample_facts(const CapturedProcess& captured,
                                      const CapturedProcess::Thread& thread, pid_t frozen) {
    SampleFacts facts;
    std::string status = captured.status;
    if (status.empty()) {
        TRY_ASSIGN(status, read_proc_file(proc(captured.pid, "status")));
    }
    TRY_ASSIGN(std::string frozen_stat, read_proc_file(proc(frozen, "stat")));
    std::string stat = read_proc_file(proc(captured.pid, "stat")).value_or(frozen_stat);
    auto thread_stat = read_proc_file(proc(captured.pid, fmt::format("task/{}/stat", thread.tid)));
    TRY(fill_ids(facts, captured, thread.tid, status));
    fill_credentials(facts, captured.pid, status);
    fill_signals(facts, thread, status);
    fill_times(facts, captured, stat);
    fill_scheduling(facts, thread.tid, thread_stat.value_or(stat));
    fill_limits(facts, captured.pid);
    fill_uname(facts, captured.pid);
    fill_machine(facts);
    fill_names(facts, captured, thread.tid);
    facts.max_resident_kib = number_of(status, "VmHWM");
    facts.start_brk = stat_field(frozen_stat, 47).value_or(0);
    sanitize(facts);
    return facts;
}

}  // namespace shadowprof
