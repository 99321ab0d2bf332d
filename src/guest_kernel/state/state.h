// The state of a sample besides registers and memory.
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
#include "guest_kernel/state/futex_queue.h"
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
    std::map<int, SignalAction> signal_actions;  // those set by the sample
};

// Members that are not set were neither changed nor asked for in the sample.
struct ThreadState {
    std::optional<SampleFacts> facts;
    std::optional<SampleClocks> clocks;
    std::optional<std::uint64_t> blocked_signals;
    std::optional<SignalStack> signal_stack;
    std::optional<std::array<char, 16>> name;
    std::optional<GuestAddress> cleared_at_exit;  // the address given with CLONE_CHILD_CLEARTID
    bool rseq_registered = false;
};

// Rules for answering a sample's calls that do not follow from the snapshot. Trivially copyable, as
// they are sent to other processes as bytes.
struct SampleRules {
    std::uint64_t random_seed = 0;  // seed of getrandom(2)
    // Input calls are answered with what the program got from them.
    bool has_recorded_input = false;
    // Threads that the sample starts execute too. Otherwise they stand still, as if no processor
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
    // Facts and clocks of the current thread. Each is requested once, when a call first needs it.
    Emulated<const SampleFacts*> facts();
    Emulated<const SampleClocks*> clocks();
    // RLIMIT_NOFILE, or a usual value if the limits are not known.
    Emulated<std::uint64_t> descriptor_limit();
    // Clock `id` (0 to clock_count - 1) at `elapsed_ns` of the sample.
    Emulated<std::int64_t> clock_ns(std::size_t id, std::uint64_t elapsed_ns);
    // Makes a file that exists in the sample only, with time stamps of `elapsed_ns`.
    Emulated<FileNodeRef> create_file(std::uint32_t mode, std::uint64_t elapsed_ns);

    SampleEnvironment& outside;
    FileStore files;
    DescriptorTable descriptors;
    PathOverlay names;
    PathRef working_directory;  // base of relative paths; without a path, the snapshot's
    bool moved = false;         // the sample changed its working directory
    std::optional<std::uint64_t> brk;
    ProcessState process;
    GuestThreads::Index thread_index = 0;  // the thread that makes the call
    std::map<GuestThreads::Index, ThreadState> threads;
    FutexQueue futex_waiters;
    bool futex_waiters_known = false;
    SampleRandom random;
    const SampleRules rules;
    std::uint64_t waited_ns = 0;   // time in input calls whose results were recorded
    std::int32_t new_threads = 0;  // how many threads the sample started
};

}  // namespace shadowprof
