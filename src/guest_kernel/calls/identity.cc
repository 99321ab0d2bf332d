// Process, user and group ids.
#include "guest_kernel/calls/identity.h"

#include <array>

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/state.h"
#include "syscalls/handlers.h"

namespace shadowprof {
namespace {

SyscallOutcome from_facts(SyscallCall& call, std::int64_t (*field)(const SampleFacts&)) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    return answer(field(*facts));
}

SyscallOutcome store_three(SyscallCall& call, const std::array<std::uint32_t, 3>& ids) {
    for (int i = 0; i < 3; ++i)
        if (!guest_store(call.space, call.address(i), ids[static_cast<std::size_t>(i)]))
            return failure(EFAULT);
    return answer(0);
}

}  // namespace

SyscallOutcome other_process() {
    return ends(SampleEnd::unsafe_syscall, "asks about another process");
}

Emulated<const SampleFacts*> facts_of(SyscallCall& call, int id) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    if (id != 0 && id != facts->pid && id != facts->tid) return other_process();
    return facts;
}

SyscallOutcome sys_getpid(SyscallCall& call) {
    return from_facts(call, [](const SampleFacts& f) { return std::int64_t{f.pid}; });
}
SyscallOutcome sys_gettid(SyscallCall& call) {
    return from_facts(call, [](const SampleFacts& f) { return std::int64_t{f.tid}; });
}
SyscallOutcome sys_getppid(SyscallCall& call) {
    return from_facts(call, [](const SampleFacts& f) { return std::int64_t{f.parent_pid}; });
}
SyscallOutcome sys_getuid(SyscallCall& call) {
    return from_facts(call, [](const SampleFacts& f) { return std::int64_t{f.uid}; });
}
SyscallOutcome sys_geteuid(SyscallCall& call) {
    return from_facts(call, [](const SampleFacts& f) { return std::int64_t{f.effective_uid}; });
}
SyscallOutcome sys_getgid(SyscallCall& call) {
    return from_facts(call, [](const SampleFacts& f) { return std::int64_t{f.gid}; });
}
SyscallOutcome sys_getegid(SyscallCall& call) {
    return from_facts(call, [](const SampleFacts& f) { return std::int64_t{f.effective_gid}; });
}
SyscallOutcome sys_getpgrp(SyscallCall& call) {
    return from_facts(call, [](const SampleFacts& f) { return std::int64_t{f.process_group}; });
}

SyscallOutcome sys_getpgid(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, facts_of(call, call.int_arg(0)));
    return answer(facts->process_group);
}

SyscallOutcome sys_getsid(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, facts_of(call, call.int_arg(0)));
    return answer(facts->session);
}

SyscallOutcome sys_getresuid(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    return store_three(call, {facts->uid, facts->effective_uid, facts->saved_uid});
}

SyscallOutcome sys_getresgid(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    return store_three(call, {facts->gid, facts->effective_gid, facts->saved_gid});
}

SyscallOutcome sys_getgroups(SyscallCall& call) {
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    int room = call.int_arg(0);
    if (room < 0) return failure(EINVAL);
    if (room == 0) return answer(facts->group_count);
    if (static_cast<std::uint32_t>(room) < facts->group_count) return failure(EINVAL);
    if (facts->group_count > SampleFacts::max_groups)
        return ends(SampleEnd::unsafe_syscall, "the process is in too many groups");
    auto bytes = std::as_bytes(std::span(facts->groups).first(facts->group_count));
    return call.space.write(call.address(1), bytes) ? answer(facts->group_count) : failure(EFAULT);
}

}  // namespace shadowprof
