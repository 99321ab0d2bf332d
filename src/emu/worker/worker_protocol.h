// Messages between the supervisor and a worker process: a header, a body as its kind says, and for
// some a payload behind the body, in one packet of a SOCK_SEQPACKET socket.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cpu_state.h"
#include "base/files/fd.h"
#include "base/result.h"
#include "emu/guest/guest_memory.h"
#include "emu/run/emulator.h"
#include "emu/trace/probe_record.h"
#include "emu/watch/awaited_state.h"
#include "emu/worker/outside_channel.h"

namespace shadowprof {

enum class MessageKind : std::uint32_t {
    // supervisor to worker
    start,         // StartMessage, payload: facts for the system calls; may carry a descriptor
    segment_free,  // SegmentMessage
    answer,        // payload: the answer to a request
    stepped,       // StepMessage
    compare,       // CompareMessage; only after an exact run; may carry a descriptor
    prepare,       // PrepareMessage, payload: program counters; carries a descriptor
    probes,        // ProbesMessage: from now on; answered by probes_set
    time_loads,    // LoadsMessage; carries a descriptor. Until loads_done, requests are questions.
    rehearse,      // RehearseMessage, behind done; answered by rehearsed
    stop,          // the run is to end with SampleEnd::size as soon as a segment is full
    // worker to supervisor
    segment_full,  // SegmentMessage, payload: TraceParts
    request,       // payload: what OutsideChannel::call() was given
    step,          // StepMessage; the dirty pages are in the mailbox
    done,          // DoneMessage, payload: report of the system calls
    compared,      // ComparedMessage
    prepared,      // PreparedMessage
    probes_set,    // ProbesSetMessage
    loads_done,    // LoadsDone, payload: its ProbeRecords, then a LoadTally each
    rehearsed,     // RehearsedMessage
};

// What a run begins with.
enum class RunKind : std::uint32_t {
    sample,
    sample_again,  // the last sample, whose pages were recorded
    // Exact runs end at every system call, vDSO call and nondeterministic instruction, and their
    // memory is kept to be compared, and for the next run:
    exact,         // on a new snapshot
    exact_next,    // on the memory of the last run, but for the ranges that the payload lists
    exact_onward,  // where the last run stopped
};
constexpr bool is_exact(RunKind kind) {
    return kind != RunKind::sample && kind != RunKind::sample_again;
}

struct StartMessage {
    CpuState cpu;  // of the first thread, which runs
    GuestThreads::Pace pace = GuestThreads::usual_pace;
    RunLimits limits;
    // How long the text of /proc/PID/maps in the mailbox is. 0: the mappings are as before. The
    // other threads are behind it, at a multiple of 64 bytes: a StartThread each. Only samples have
    // some.
    std::uint64_t maps_bytes;
    std::uint64_t more_threads;
    // Behind these, at a multiple of 64 bytes, is the AwaitedState that ends the run, of the first
    // thread. Only samples have one.
    bool awaits = false;
    RunKind kind;
    // For tests: if not 0, the run sees the lowest bit of this byte of its snapshot inverted.
    GuestAddress flipped;
    // Until then, by CLOCK_MONOTONIC, the snapshot stands still; 0: for as long as it takes. What
    // the run wants later it does not get: it ends with SampleEnd::time.
    std::int64_t stands_still_until_ns = 0;
    // What code is known may be of other files than its mappings said: it is forgotten.
    std::uint64_t forget_code = 0;
    // Only samples: the pages have PageUse::again.
    std::uint64_t uses_pages_again = 0;
    // The same: what is read of the snapshot is recorded, with this number; 0: it is not.
    std::uint64_t recording = 0;
    std::uint64_t stack_limit_bytes = usual_stack_limit_bytes;
    // The same: where the run ends by its time, the worker keeps it until the next message that is
    // not about its segments.
    std::uint64_t may_be_rehearsed = 0;
};

// The kept run goes on, from memory that does not stand still any more, and nobody sees what it
// does; then its sample ends.
struct RehearseMessage {
    std::uint64_t time_ns;  // at most; 0: it does not go on
};

struct RehearsedMessage {
    std::uint64_t instructions;  // about
    std::uint64_t nanoseconds;   // 0: nothing was kept
    std::uint64_t exhausted;     // the worker wants to be replaced
};

// Code is to be translated ahead, from that of a process that may run.
struct PrepareMessage {
    std::uint64_t maps_bytes;  // as in StartMessage
    std::uint64_t with_values;
    std::uint64_t with_references;
    std::uint64_t time_ns;  // about how long it may take
    std::uint64_t forget_code;
};

struct PreparedMessage {
    std::uint64_t instructions;
    std::uint64_t nanoseconds;
    std::uint64_t has_more;  // to translate; or not: 0
};

// The probes of the runs that follow; all code is forgotten. In the mailbox: the places, then the
// texts, each with a zero behind it.
struct ProbesMessage {
    std::uint64_t places;  // a PlaceRange each
    std::uint64_t text_bytes;
};

struct ProbesSetMessage {
    std::uint64_t understood;  // or not: 0
};

// When a latency burst ends, and what of it counts.
struct LoadLimits {
    std::uint64_t loads = 0;             // that were timed and counted
    std::uint64_t accesses = 0;          // instructions that access memory
    std::uint64_t skipped_loads = 0;     // are timed and not counted, before others are
    std::uint64_t skipped_accesses = 0;  // or as many of these, if that is sooner
};

// One thread is emulated from the memory of the target, which stands still; of data only the cache
// lines that it accesses are read, each load of a line that was not accessed before being timed by
// the supervisor first (LoadQuestion).
struct LoadsMessage {
    CpuState cpu;
    LoadLimits limits;
    std::uint64_t maps_bytes;  // as in StartMessage
    std::int64_t stands_still_until_ns;
    std::uint64_t forget_code;
};

// A load that is about to be emulated. The answer is a LoadAnswer.
struct LoadQuestion {
    GuestAddress pc;
    GuestAddress address;
    std::uint64_t size_bytes;
    std::uint64_t counts;  // not 0: it is to be in the profile
};

struct LoadAnswer {
    enum class Outcome : std::uint8_t {
        timed,
        skipped,  // it may not be timed; it is to be emulated all the same
        faulted,
    };
    Outcome outcome;
    std::uint8_t first, last;  // the bytes that were loaded
    std::uint64_t cycles;      // that it took
};

// What a burst says of the loads of one instruction, but for their times.
struct LoadTally {
    GuestAddress pc;
    std::uint64_t reused;  // from lines that were accessed before in the same burst
    std::uint64_t line_crossings, page_crossings;  // of these
    // Behind another one of the same instruction (emu/watch/load_moves.h).
    std::uint64_t constant, moved, chased;
    std::int64_t stride;  // the most frequent one
    std::uint64_t strided;
};

struct LoadCounts {
    std::uint64_t accesses;      // instructions that access memory
    std::uint64_t timed;         // and counted
    std::uint64_t skipped;       // the supervisor would not time them
    std::uint64_t not_plain;     // locked, masked or string accesses and stores, of new lines
    std::uint64_t in_code;       // of mappings that may have code, which is read by pages
    std::uint64_t partly_known;  // across lines of which one was accessed before
    std::uint64_t changed;       // what was loaded was not what was read then
};

struct LoadsDone {
    SampleEnd end;
    LoadCounts counts;
    std::uint64_t translation_ns;
    std::uint64_t exhausted;  // the worker wants to be replaced
    std::uint64_t probe_records;
};

struct StartThread {
    CpuState cpu;
    std::uint32_t runs;  // or waits
    GuestThreads::Pace pace;
};

// Where StartThreads begin in the mailbox.
constexpr std::size_t threads_offset(std::uint64_t maps_bytes) {
    return (maps_bytes + alignof(StartThread) - 1) / alignof(StartThread) * alignof(StartThread);
}

// Where the AwaitedState begins in the mailbox.
constexpr std::size_t awaited_offset(std::uint64_t maps_bytes, std::uint64_t more_threads) {
    return threads_offset(maps_bytes) + more_threads * sizeof(StartThread);
}
static_assert(sizeof(StartThread) % alignof(AwaitedState) == 0);

// Compare every page that the runs since the last comparison wrote to with what the memory
// descriptor shows now, but for a range that the kernel writes to on its own (struct rseq).
struct CompareMessage {
    GuestAddress excluded_start;
    GuestAddress excluded_end;
};

struct ComparedMessage {
    static constexpr std::size_t max_differences = 16;

    std::uint64_t pages_compared;
    std::uint64_t pages_different;
    std::uint64_t pages_unreadable;
    MemoryDifference differences[max_differences];  // the first byte of each page
};

// A segment that is full is followed by what lies in it, the oldest part first: a TracePart each.
struct SegmentMessage {
    std::uint64_t index;
    std::uint64_t first_word;  // in the segment
    std::uint64_t end_word;
    std::uint64_t probe_records;  // at the segment's beginning, in their order
};
// So many of these a segment has room for.
inline constexpr std::size_t max_probe_records = 4096;
inline constexpr std::size_t probe_record_words = sizeof(ProbeRecord) / sizeof(std::uint64_t);

// Whole records that one thread left.
struct TracePart {
    GuestThreads::Index thread;
    std::uint32_t words;
};
inline constexpr std::size_t max_trace_parts = 4096;  // of a segment

struct StepMessage {
    CpuState cpu;
    std::uint64_t pages;  // in the mailbox: a StepPage each
    std::uint32_t ok;     // in `stepped`
    std::uint32_t end;    // SampleEnd, where not ok
};

// A page that the sample has written to.
struct StepPage {
    GuestAddress address;
    std::byte bytes[page_bytes];
};

struct WorkerCounters {
    std::uint64_t translated_blocks;
    std::uint64_t translated_instructions;
    std::uint64_t untranslatable_instructions;
    std::uint64_t retired_blocks;
    std::uint64_t translation_ns;
    std::uint64_t page_fetches;
    std::uint64_t pages_fetched;
    std::uint64_t pages_reread;
    std::uint64_t code_writes;
    std::uint64_t cpu_ns;
    std::uint64_t emulation_ns;  // by the clock, from the sample's arrival to its end
};

// Every field of WorkerCounters, by the name that a profile gives it.
inline constexpr std::array<std::pair<std::string_view, std::uint64_t WorkerCounters::*>, 11>
    worker_counters = {{
        {"translated_blocks", &WorkerCounters::translated_blocks},
        {"translated_instructions", &WorkerCounters::translated_instructions},
        {"untranslatable_instructions", &WorkerCounters::untranslatable_instructions},
        {"retired_blocks", &WorkerCounters::retired_blocks},
        {"translation_ns", &WorkerCounters::translation_ns},
        {"page_fetches", &WorkerCounters::page_fetches},
        {"pages_fetched", &WorkerCounters::pages_fetched},
        {"pages_reread", &WorkerCounters::pages_reread},
        {"code_writes", &WorkerCounters::code_writes},
        {"worker_cpu_ns", &WorkerCounters::cpu_ns},
        {"emulation_ns", &WorkerCounters::emulation_ns},
    }};
static_assert(sizeof(WorkerCounters) == worker_counters.size() * sizeof(std::uint64_t));

struct DoneMessage {
    RunResult result;
    CpuState cpu;             // at the end
    WorkerCounters counters;  // of this sample alone
    std::uint32_t exhausted;  // the worker wants to be replaced
};

// One end of the socket.
class WorkerSocket {
  public:
    struct Message {
        MessageKind kind;
        std::vector<std::byte> bytes;  // body and payload
        UniqueFd fd;                   // if one came along
    };

    explicit WorkerSocket(UniqueFd fd) : fd_(std::move(fd)) {}

    // Sends a message; `fd` >= 0 goes along. Error `gone` if the other end is closed.
    Result<void> send(MessageKind kind, std::span<const std::byte> body,
                      std::span<const std::byte> payload = {}, int fd = -1);
    template <typename Body>
    Result<void> send(MessageKind kind, const Body& body, std::span<const std::byte> payload = {},
                      int fd = -1) {
        static_assert(std::is_trivially_copyable_v<Body>);
        return send(kind, std::as_bytes(std::span(&body, 1)), payload, fd);
    }
    // The next message. Error `gone` at the end of the stream, `interrupted` after `timeout_ms`
    // (negative: waits for ever), `invalid` for a packet that is not one of ours.
    Result<Message> receive(int timeout_ms = -1);
    // The same; `interrupted` when it is `until` and nothing has come.
    Result<Message> receive_until(std::chrono::steady_clock::time_point until);

    int fd() const { return fd_.get(); }

  private:
    UniqueFd fd_;
    std::vector<std::byte> packet_;  // room for the longest
};

// The body at the beginning of a message; nothing if it is too short.
template <typename Body>
std::optional<Body> body_of(const WorkerSocket::Message& message) {
    static_assert(std::is_trivially_copyable_v<Body>);
    if (message.bytes.size() < sizeof(Body)) return std::nullopt;
    Body body;
    std::memcpy(&body, message.bytes.data(), sizeof body);
    return body;
}

}  // namespace shadowprof
