#include "ptrace/replica/fork_server.h"

#include <fmt/format.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "base/urgency.h"
#include "ptrace/proc/child_namespaces.h"
#include "ptrace/proc/proc.h"
#include "ptrace/process/target.h"
#include "ptrace/remote/scratch_word.h"
#include "ptrace/replica/orphan_heir.h"

namespace shadowprof {
namespace {

using Clock = std::chrono::steady_clock;

// With CLONE_FILES no descriptor is duplicated, even for a moment. Without an exit signal the
// parent is not notified of the end.
constexpr std::uint64_t server_flags = CLONE_VM | CLONE_FILES;
constexpr std::uint64_t replica_flags = CLONE_FILES;
// The time that end() waits for the last replicas to die.
constexpr std::chrono::seconds reap_limit{2};
// The time that closing the target's files may take.
constexpr std::chrono::milliseconds closing_limit{200};

// During its lifetime we inherit the children of our descendants that end.
class Inheritance {
  public:
    Inheritance() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
    ~Inheritance() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
    Inheritance(const Inheritance&) = delete;
    Inheritance& operator=(const Inheritance&) = delete;
};

// Who becomes the parent of the server.
enum class Parent : std::uint8_t {
    ours_at_once,  // we are, as the target's parent
    ours,          // we are, by inheriting the server
    reaper,        // the process that inherits orphans in our PID namespace
};

bool descends_from_us(pid_t pid) {
    while (pid > 1) {
        const auto stat = read_proc_stat(pid);
        if (!stat) return false;
        if (stat->parent_pid == ::getpid()) return true;
        pid = stat->parent_pid;
    }
    return false;
}

Error visible_to_others(std::string reason) {
    return {ErrorCode::permission, 0, std::move(reason)};
}

Result<Parent> find_parent(ScopedStop& stop) {
    const Target& target = stop.target();
    if (target.is_own_child()) return Parent::ours_at_once;
    if (!shares_our_pid_namespace(target.pid()))
        return visible_to_others(
            "it is in another PID namespace, whose first process would see its forked copies as "
            "children");
    if (target.pid() == 1 || read_namespace_pid(target.pid()).value_or(0) == 1)
        return visible_to_others(
            "it is the first process of its PID namespace and would see its forked copies as "
            "children");
    TRY_ASSIGN(const bool has_heir, has_orphan_heir(stop));
    if (has_heir)
        return visible_to_others(
            "it or an ancestor inherits orphans (PR_SET_CHILD_SUBREAPER) and would see its forked "
            "copies");
    if (target.is_born() && descends_from_us(target.pid())) return Parent::ours;
    if (!reaps_strangers(1))
        return visible_to_others(
            "process 1 is not an init that shadowprof knows (docker run --init starts one), and "
            "would see children end that it never had");
    return Parent::reaper;
}

// An untraced process above the target may inherit orphans too. Nobody else knows that in advance.
Result<void> check_parent(pid_t pid, Parent parent) {
    TRY_ASSIGN(const auto stat, read_proc_stat(pid));
    const bool is_expected =
        parent == Parent::ours ? stat.parent_pid == ::getpid() : reaps_strangers(stat.parent_pid);
    if (is_expected) return {};
    return visible_to_others(fmt::format(
        "process {} inherits orphans (PR_SET_CHILD_SUBREAPER) and would see its forked copies",
        stat.parent_pid));
}

// Lets `first`, a child of the target, create another process with the same memory, and kills
// `first`. The process that inherits orphans then becomes the parent of the other one.
Result<OwnedProcess> orphan(OwnedProcess first, GuestAddress instruction, Parent parent) {
    TRY_ASSIGN(auto session,
               RemoteSyscall::begin(first.thread(), instruction, owned_process_options));
    auto heir = OwnedProcess::bear(session, first.hub(), server_flags, nullptr);
    TRY(session.finish());
    if (heir) TRY(heir->take_over());
    {
        std::optional<Inheritance> inheritance;
        if (parent == Parent::ours) inheritance.emplace();
        first.end();
    }
    return heir;
}

// Makes the server through a child of the target. Nothing remains of that child in the target.
Result<OwnedProcess> make_by_child(RemoteSyscall& session, GuestAddress instruction, Target& target,
                                   Parent parent) {
    auto made = [&]() -> Result<OwnedProcess> {
        TRY_ASSIGN(auto first,
                   OwnedProcess::bear(session, target.hub(), server_flags, target.zombies()));
        TRY(first.take_over());
        return orphan(std::move(first), instruction, parent);
    }();
    TRY(reap_zombies(session, *target.zombies()));
    TRY(session.finish());
    return made;
}

Result<OwnedProcess> make_through(StoppedThread& thread, GuestAddress instruction, Target& target,
                                  Parent parent) {
    TRY(check_child_namespaces(thread.tid()));
    TRY_ASSIGN(auto session, target.borrow(thread));
    if (parent != Parent::ours_at_once) return make_by_child(session, instruction, target, parent);
    auto made = OwnedProcess::bear(session, target.hub(), server_flags | CLONE_PARENT, nullptr);
    // Takes over the server before the way home ends, which would make it exit.
    if (made) TRY(made->take_over());
    TRY(session.finish());
    return made;
}

}  // namespace

Result<ForkServer*> ForkServer::of(ScopedStop& stop) {
    Target& target = stop.target();
    auto* server = dynamic_cast<ForkServer*>(target.companion());
    if (!server) {
        TRY_ASSIGN(auto started, start(stop));
        server = started.get();
        target.keep(std::move(started));
    }
    TRY(target.ask_for_end(stop));
    return server;
}

Result<std::unique_ptr<ForkServer>> ForkServer::start(ScopedStop& stop) {
    Target& target = stop.target();
    TRY_ASSIGN(const Parent parent, find_parent(stop));
    TRY_ASSIGN(const GuestAddress instruction, target.syscall_instruction());
    std::optional<Error> refusal;
    for (StoppedThread* thread : RemoteSyscall::threads_to_borrow(stop.threads())) {
        auto process = make_through(*thread, instruction, target, parent);
        if (process) {
            std::unique_ptr<ForkServer> server(
                new ForkServer(std::move(*process), instruction, parent != Parent::reaper));
            if (parent != Parent::ours_at_once) TRY(check_parent(server->pid(), parent));
            TRY(server->leave_surroundings(*thread));
            return server;
        }
        if (process.error().code == ErrorCode::system) return std::move(process).error();
        // Reports a refusal that may pass (unsupported) rather than a lasting one, so that the
        // caller tries again.
        if (!refusal || refusal->code == ErrorCode::permission)
            refusal = std::move(process).error();
    }
    if (refusal) return *std::move(refusal);
    return Error{ErrorCode::unsupported, 0, "no thread of the program could be stopped"};
}

ForkServer::ForkServer(OwnedProcess process, GuestAddress instruction, bool is_ours)
    : process_(std::move(process)),
      instruction_(instruction),
      zombies_(is_ours ? nullptr : std::make_shared<std::vector<pid_t>>()) {}

ForkServer::~ForkServer() {
    end();
}

// A kernel without close_range(2) keeps the server in the target's table of files. Closing may
// write files back (NFS), or wait for the program itself (FUSE), which is stopped.
Result<void> ForkServer::leave_surroundings(const StoppedThread& thread) {
    TRY_ASSIGN(auto session,
               RemoteSyscall::begin(process_.thread(), instruction_, owned_process_options));
    constexpr std::string_view what = "close the program's files in its forked copy";
    auto closed = session.call(SYS_close_range, {0, ~0u, CLOSE_RANGE_UNSHARE}, closing_limit);
    if (!closed) return std::move(closed).error().with_context(what);
    if (*closed != 0 && *closed != -ENOSYS) return errno_error(what, static_cast<int>(-*closed));
    TRY(session.call(SYS_setsid));
    // Otherwise a file system that the program has left could not be unmounted.
    if (auto path = ScratchWord::find(thread); path && path->write('/'))
        TRY(session.call(SYS_chdir, {path->address().value}));
    return session.finish();
}

Result<OwnedProcess> ForkServer::fork(GuestAddress instruction,
                                      std::span<const UnforkedRange> unforked) {
    instruction_ = instruction;
    const Urgency urgency(process_.pid());
    auto session = RemoteSyscall::begin(process_.thread(), instruction, owned_process_options);
    // A server that was killed has no memory any more.
    if (!session && session.error().code == ErrorCode::unsupported)
        return Error{ErrorCode::gone, ESRCH, "the fork server was killed"};
    if (!session) return std::move(session).error();
    auto replica = [&] {
        const ForkedRanges all(*session, unforked);
        return OwnedProcess::bear(*session, process_.hub(),
                                  replica_flags | (zombies_ ? 0 : std::uint64_t{CLONE_PARENT}),
                                  zombies_);
    }();
    if (zombies_) TRY(reap_zombies(*session, *zombies_));
    TRY(session->finish());
    if (!replica) return replica;
    TRY(replica->take_over());
    std::erase_if(replicas_, [](const auto& each) { return each.is_void(); });
    replicas_.push_back(replica->handle());
    return replica;
}

void ForkServer::end_replicas() {
    for (const auto& replica : replicas_) replica.end();
    replicas_.clear();
}

void ForkServer::end() {
    const auto limit = Clock::now() + reap_limit;
    while (zombies_ && !zombies_->empty() && Clock::now() < limit) {
        process_.hub().reap_discarded();
        if (!reap()) break;
        if (!zombies_->empty()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    if (zombies_) exit();
    process_.end();
}

// The server exits by itself, because some inits take note of a child that was killed.
void ForkServer::exit() {
    auto session = RemoteSyscall::begin(process_.thread(), instruction_, owned_process_options);
    if (session) static_cast<void>(session->call(SYS_exit_group, {0}, closing_limit));
}

Result<void> ForkServer::reap() {
    TRY_ASSIGN(auto session,
               RemoteSyscall::begin(process_.thread(), instruction_, owned_process_options));
    TRY(reap_zombies(session, *zombies_));
    return session.finish();
}

}  // namespace shadowprof
