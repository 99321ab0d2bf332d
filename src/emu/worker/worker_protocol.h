// Messages between the supervisor and a worker process. A message is one packet of a SOCK_SEQPACKET
// socket: a header, a body by its kind, and for some kinds a payload behind the body.
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
    give,          // only after an exact run; the process gets all that it wrote; answered by given
    prepare,       // PrepareMessage, payload: program counters; carries a descriptor
    probes,        // ProbesMessage: sets probes for all later runs; answered by probes_set
    time_loads,    // LoadsMessage; carries a descriptor; requests are then LoadQuestions
    rehearse,      // RehearseMessage, behind done; answered by rehearsed
    shared_file,   // SharedFileMessage; carries a descriptor; before start or answer
    stop,          // ends the run with SampleEnd::size as soon as a segment is full
    // worker to supervisor
    segment_full,  // SegmentMessage, payload: TraceParts
    request,       // payload: the argument of OutsideChannel::call()
    step,          // StepMessage; the dirty pages are in the mailbox
    done,          // DoneMessage, payload: report of the system calls
    compared,      // ComparedMessage
    given,         // GivenMessage
    prepared,      // PreparedMessage
    probes_set,    // ProbesSetMessage
    loads_done,    // LoadsDone, payload: its ProbeRecords, then its LoadTallies
    rehearsed,     // RehearsedMessage
};

// How an exact run treats system calls.
enum class RunCalls : std::uint32_t {
    end_run,  // it ends at each call
    // The process behind the memory descriptor makes them: SampleSyscalls::forward(). At the run's
    // end the process has all that the run wrote.
    forwarded,
    // As forwarded, and the run ends before the first call. Its memory is kept to be compared. Only
    // with RunKind::exact_next.
    one_turn,
};

// What a run starts from.
enum class RunKind : std::uint32_t {
    sample,
    sample_again,  // the last sample, whose pages were recorded
    // Exact runs end at every system call, vDSO call and nondeterministic instruction, unless these
    // are forwarded. Their memory is kept to be compared, and for the next run.
    exact,         // on a new snapshot
    exact_next,    // on the memory of the last run, except for the ranges in the payload
    exact_onward,  // where the last run stopped
};
constexpr bool is_exact(RunKind kind) {
    return kind != RunKind::sample && kind != RunKind::sample_again;
}

struct StartMessage {
    CpuState cpu;  // of `thread`
    // With RunKind::exact_next and calls other than end_run, the threads are those of the last run,
    // except for this one. Otherwise it is the first one.
    GuestThreads::Index thread = 0;
    GuestThreads::State state = GuestThreads::State::runs;  // of `thread`
    GuestAddress rseq;  // of `thread`, with RunKind::exact: see StartThread
    GuestThreads::Pace pace = GuestThreads::usual_pace;
    RunLimits limits;
    // Size of the text of /proc/PID/maps in the mailbox. 0: the mappings are unchanged. Behind the
    // text, at a multiple of 64 bytes, is a StartThread for each other thread. Only samples and
    // RunKind::exact have other threads.
    std::uint64_t maps_bytes;
    std::uint64_t more_threads;
    // Whether there is an AwaitedState for the first thread. It is behind the threads, at a
    // multiple of 64 bytes. Only samples have one.
    bool awaits = false;
    RunKind kind;
    RunCalls calls = RunCalls::end_run;
    std::uint64_t earlier_processor_ns = 0, shares_memory = 0;  // see ProcessLinks
    GuestTime time;                                             // of exact runs, at their begin
    // For tests: if not 0, the run sees the lowest bit of this byte of its snapshot inverted.
    GuestAddress flipped;
    // The snapshot stands still until then, by CLOCK_MONOTONIC; 0: as long as necessary. A run that
    // reads memory later ends with SampleEnd::time.
    std::int64_t stands_still_until_ns = 0;
    // Not 0: forgets all code, as the files may not be those that the mappings named.
    std::uint64_t forget_code = 0;
    // Only for samples: the pages have PageUse::again.
    std::uint64_t uses_pages_again = 0;
    // Only for samples: the number of a recording of the pages that are read; 0: none is made.
    std::uint64_t recording = 0;
    std::uint64_t stack_limit_bytes = usual_stack_limit_bytes;
    // Only for samples: if the time ends the run, the worker keeps it until the next message that
    // is not about its segments.
    std::uint64_t may_be_rehearsed = 0;
};

// A file that the guest maps shared. With forwarded calls, the worker maps it instead of reading
// it.
struct SharedFileMessage {
    std::uint64_t device, inode;
};

// Continues the kept run on memory that no longer stands still, and then ends its sample. The trace
// is dropped.
struct RehearseMessage {
    std::uint64_t time_ns;  // the limit; 0: the run is not continued
};

struct RehearsedMessage {
    std::uint64_t instructions;  // an estimate
    std::uint64_t nanoseconds;   // 0: no run was kept
    std::uint64_t exhausted;     // not 0: the worker should be replaced
};

// Translates code ahead from the mappings of a process that may be running.
struct PrepareMessage {
    std::uint64_t maps_bytes;  // as in StartMessage
    std::uint64_t with_values;
    std::uint64_t with_references;
    std::uint64_t time_ns;  // an approximate limit
    std::uint64_t forget_code;
};

struct PreparedMessage {
    std::uint64_t instructions;
    std::uint64_t nanoseconds;
    std::uint64_t has_more;  // not 0: there is more to translate
};

// Sets the probes of the runs that follow and forgets all code. The mailbox has the places, then
// the allocators, the entries of counted functions, and the texts, each with a zero behind it.
struct ProbesMessage {
    std::uint64_t places;      // PlaceRanges in the mailbox
    std::uint64_t allocators;  // AllocatorEntries in the mailbox
    std::uint64_t text_bytes;
    std::uint64_t counted;         // GuestAddresses in the mailbox
    std::uint64_t has_counted;     // not 0: calls of such functions are noted (RegionWatch)
    std::uint64_t is_program_new;  // not 0: no thread is in one of them
    PythonProgram python;          // whose frames are noted; without a version: none are
};

struct ProbesSetMessage {
    std::uint64_t understood;  // 0: the texts or places are invalid
};

// When a latency session ends, and which of its loads count.
struct LoadLimits {
    std::uint64_t loads = 0;             // timed and counted loads
    std::uint64_t accesses = 0;          // instructions that access memory
    std::uint64_t skipped_loads = 0;     // loads that are timed first and not counted
    std::uint64_t skipped_accesses = 0;  // or as many accesses, if they come first
};

// Emulates one thread from the memory of the target, which stands still. Only accessed cache lines
// are read of data. The supervisor first times each load of a line that was not accessed before
// (LoadQuestion).
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
    std::uint64_t counts;  // not 0: the load is for the profile
};

struct LoadAnswer {
    enum class Outcome : std::uint8_t {
        timed,
        skipped,  // must not be timed, but is emulated all the same
        faulted,
    };
    Outcome outcome;
    std::uint8_t first, last;  // first and last byte of the loaded value
    std::uint64_t cycles;      // measured time
};

// What a latency session knows of the loads of one instruction, without their times.
struct LoadTally {
    GuestAddress pc;
    std::uint64_t reused;  // loads from lines that were accessed before in the session
    std::uint64_t line_crossings, page_crossings;  // among the reused ones
    // Moves from one load of this instruction to its next (emu/watch/load_moves.h).
    std::uint64_t constant, moved, chased;
    std::int64_t stride;  // the most frequent stride
    std::uint64_t strided;
};

struct LoadCounts {
    std::uint64_t accesses;      // instructions that access memory
    std::uint64_t timed;         // timed and counted loads
    std::uint64_t skipped;       // loads that the supervisor would not time
    std::uint64_t not_plain;     // first accesses: locked, masked or string ones, and stores
    std::uint64_t in_code;       // loads from executable mappings, which are read by pages
    std::uint64_t partly_known;  // loads across lines of which one was accessed before
    std::uint64_t changed;       // loads whose bytes differ from those read afterwards
};

struct LoadsDone {
    SampleEnd end;
    LoadCounts counts;
    std::uint64_t translation_ns;
    std::uint64_t exhausted;  // not 0: the worker should be replaced
    std::uint64_t probe_records;
};

struct StartThread {
    CpuState cpu;
    GuestThreads::State state;
    GuestThreads::Pace pace;
    GuestAddress rseq = {};  // the thread's struct rseq, or 0; only for forwarded calls
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

// Compares every page that the runs since the last comparison wrote to with what the memory
// descriptor shows now, except for a range that the kernel writes to on its own (struct rseq).
struct CompareMessage {
    GuestAddress excluded_start;
    GuestAddress excluded_end;
};

struct ComparedMessage {
    static constexpr std::size_t max_differences = 16;

    std::uint64_t pages_compared;
    std::uint64_t pages_different;
    std::uint64_t pages_unreadable;
    MemoryDifference differences[max_differences];  // the first byte of each differing page
};

struct GivenMessage {
    std::uint64_t has_all;  // 0: the process has no such memory
};

// Announces a full segment. The payload is a TracePart for each part of it, oldest first.
struct SegmentMessage {
    std::uint64_t index;
    std::uint64_t first_word;  // index into the segment
    std::uint64_t end_word;
    std::uint64_t probe_records;  // at the segment's beginning, in order
};
// How many ProbeRecords a segment has room for.
inline constexpr std::size_t max_probe_records = 4096;
inline constexpr std::size_t probe_record_words = sizeof(ProbeRecord) / sizeof(std::uint64_t);

// Whole records of one thread.
struct TracePart {
    GuestThreads::Index thread;
    std::uint32_t words;
};
inline constexpr std::size_t max_trace_parts = 4096;  // in one segment

struct StepMessage {
    CpuState cpu;
    std::uint64_t pages;  // StepPages in the mailbox
    std::uint32_t ok;     // for `stepped`
    std::uint32_t end;    // a SampleEnd, if not ok
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
    std::uint64_t emulation_ns;  // wall-clock time from the sample's arrival to its end
};

// Every field of WorkerCounters with its name in a profile.
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
    CpuState cpu;  // of `thread`, at the end
    // The first; after an exact run, the one that ended it.
    GuestThreads::Index thread;
    // After an exact run of several threads: StartThreads of all at the mailbox's start.
    std::uint32_t threads;
    WorkerCounters counters;  // for this sample alone
    std::uint32_t exhausted;  // not 0: the worker should be replaced
    GuestTime time;           // of an exact run, at its end
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

    // Sends a message, with a descriptor if `fd` >= 0. Error `gone` if the other end is closed.
    Result<void> send(MessageKind kind, std::span<const std::byte> body,
                      std::span<const std::byte> payload = {}, int fd = -1);
    template <typename Body>
    Result<void> send(MessageKind kind, const Body& body, std::span<const std::byte> payload = {},
                      int fd = -1) {
        static_assert(std::is_trivially_copyable_v<Body>);
        return send(kind, std::as_bytes(std::span(&body, 1)), payload, fd);
    }
    // Receives the next message. Error `gone` at the end of the stream, `interrupted` after
    // `timeout_ms` (negative: waits for ever), `invalid` for a malformed packet.
    Result<Message> receive(int timeout_ms = -1);
    // As receive(); `interrupted` if nothing has come by `until`.
    Result<Message> receive_until(std::chrono::steady_clock::time_point until);

    int fd() const { return fd_.get(); }

  private:
    UniqueFd fd_;
    std::vector<std::byte> packet_;  // room for the longest packet
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
