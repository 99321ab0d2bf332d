#include "guest_kernel/state/state.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstring>

namespace shadowprof {
namespace {

constexpr std::uint64_t usual_descriptor_limit = 1024;

// Processor-time clocks stand still while a thread waits in a system call.
bool goes_on_in_waits(std::size_t clock) {
    return clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID;
}

bool is_coarse(std::size_t clock) {
    return clock == CLOCK_REALTIME_COARSE || clock == CLOCK_MONOTONIC_COARSE;
}

}  // namespace

void SampleRandom::fill(std::span<std::byte> to) {
    while (!to.empty()) {
        std::uint64_t word = next();
        std::size_t size = std::min(to.size(), sizeof word);
        std::memcpy(to.data(), &word, size);
        to = to.subspan(size);
    }
}

Emulated<const SampleFacts*> SampleState::facts() {
    auto& known = thread().facts;
    if (!known) {
        TRY_ASSIGN(known, emulated(outside.facts(thread_index)));
    }
    return &*known;
}

Emulated<std::uint64_t> SampleState::descriptor_limit() {
    auto changed = process.limits.find(RLIMIT_NOFILE);
    if (changed != process.limits.end()) return changed->second.soft;
    TRY_ASSIGN(const SampleFacts* known, facts());
    return known->limits_known ? known->limits[RLIMIT_NOFILE].soft : usual_descriptor_limit;
}

Emulated<const SampleClocks*> SampleState::clocks() {
    auto& known = thread().clocks;
    if (!known) {
        TRY_ASSIGN(known, emulated(outside.clocks(thread_index)));
    }
    return &*known;
}

Emulated<std::int64_t> SampleState::clock_ns(std::size_t id, std::uint64_t elapsed_ns) {
    TRY_ASSIGN(const SampleClocks* known, clocks());
    if (goes_on_in_waits(id)) elapsed_ns += waited_ns;
    auto passed = static_cast<std::int64_t>(std::min<std::uint64_t>(elapsed_ns, INT64_MAX / 4));
    if (is_coarse(id)) passed -= passed % known->coarse_resolution_ns;
    return known->ns[id] + passed;
}

Emulated<FileNodeRef> SampleState::create_file(std::uint32_t mode, std::uint64_t elapsed_ns) {
    TRY_ASSIGN(const SampleFacts* known, facts());
    TRY_ASSIGN(std::int64_t now_ns, clock_ns(CLOCK_REALTIME_COARSE, elapsed_ns));
    return files.create(mode, *known, now_ns);
}

}  // namespace shadowprof
