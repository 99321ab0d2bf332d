// All that a sample remembers about itself beyond registers and memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "guest_kernel/state/call.h"
#include "guest_kernel/state/descriptor_table.h"
#include "guest_kernel/state/environment.h"
#include "guest_kernel/state/file_store.h"
#include "guest_kernel/state/path_overlay.h"

namespace shadowprof {

inline constexpr std::int64_t ns_per_second = 1'000'000'000;
// O_LARGEFILE, which the C library defines as 0.
inline constexpr std::uint32_t large_file_flag = 0100000;

// splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
class SampleRandom {
  public:
    explicit SampleRandom(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    void fill(std::span<std::byte> to);

  private:
    std::uint64_t state_;
};

// struct kernel_sigaction of x86-64.
struct SignalAction {
    std::uint64_t handler = 0, flags = 0, restorer = 0, mask = 0;
};

// stack_t of x86-64.
struct SignalStack {
    std::uint64_t base = 0;
    std::int32_t flags = 0;
    std::uint32_t unused = 0;
    std::uint64_t size_bytes = 0;
};

struct ProcessState {
    std::optional<std::uint32_t> umask;
    std::map<std::uint32_t, SampleFacts::Limit> limits;
    std::map<int, SignalAction> signal_actions;  // those that the sample set
};

// What is not set was not changed, or asked for, in the sample.
struct ThreadState {
    std::optional<SampleFacts> facts;
    std::optional<SampleClocks> clocks;
    std::optional<std::uint64_t> blocked_signals;
    std::optional<SignalStack> signal_stack;
    std::optional<std::array<char, 16>> name;
    std::optional<GuestAddress> cleared_at_exit;  // the word of CLONE_CHILD_CLEARTID
    bool rseq_registered = false;
};

// A thread that waits on the word at `address`.
struct FutexWaiter {
    GuestAddress address;
    std::uint32_t bits = 0;
    GuestThreads::Index thread = 0;
};

// What the snapshot does not say of how a sample's calls are answered. Trivially copyable: it
// crosses process boundaries as bytes.
struct SampleRules {
    std::uint64_t random_seed = 0;  // getrandom's
    // Input calls are answered by what the program got from them.
    bool has_recorded_input = false;
    // Threads that the sample starts execute, too. Otherwise they stand still, as if no processor
    // was left for them.
    bool follows_new_threads = true;
};

class SampleState {
  public:
    SampleState(SampleEnvironment& environment, const SampleRules& rules_of_sample)
        : outside(environment),
          files(environment),
          descriptors(environment, files),
          random(rules_of_sample.random_seed),
          rules(rules_of_sample) {}

    // The state of the current thread.
    ThreadState& thread() { return threads[thread_index]; }
    // Facts and clocks of the current thread. Each is asked for once, at its first call that needs
    // them.
    Emulated<const SampleFacts*> facts();
    Emulated<const SampleClocks*> clocks();
    // RLIMIT_NOFILE; a usual one if the limits are not known.
    Emulated<std::uint64_t> descriptor_limit();
    // Clock `id` (0 to clock_count - 1) at this time of the sample.
    Emulated<std::int64_t> clock_ns(std::size_t id, std::uint64_t elapsed_ns);
    // A file that exists in the sample only, made at this time.
    Emulated<FileNodeRef> create_file(std::uint32_t mode, std::uint64_t elapsed_ns);

    SampleEnvironment& outside;
    FileStore files;
    DescriptorTable descriptors;
    PathOverlay names;
    PathRef working_directory;  // where a relative path begins; no path: as the snapshot's
    bool moved = false;         // the sample changed its working directory
    std::optional<std::uint64_t> brk;
    ProcessState process;
    GuestThreads::Index thread_index = 0;  // of the thread that makes the call
    std::map<GuestThreads::Index, ThreadState> threads;
    std::vector<FutexWaiter> futex_waiters;  // who came first is first
    bool futex_waiters_known = false;
    SampleRandom random;
    const SampleRules rules;
    std::uint64_t waited_ns = 0;   // in input calls whose input is recorded
    std::int32_t new_threads = 0;  // that the sample started
};

}  // namespace shadowprof
