// A worker process as its supervisor sees it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/cpu_state.h"
#include "base/result.h"
#include "emu/guest/guest_memory.h"
#include "emu/watch/probe_watch.h"
#include "emu/worker/shared_area.h"
#include "emu/worker/worker_protocol.h"

namespace shadowprof {

struct SampleRequest {
    CpuState cpu;                                        // the first thread, which runs
    GuestThreads::Pace pace = GuestThreads::usual_pace;  // pace of the first thread
    std::span<const StartThread> more_threads;           // by GuestThreads::Index, from 1 on
    const AwaitedState* awaited = nullptr;               // Emulator::await()
    RunLimits limits;
    std::string_view maps_text;              // /proc/PID/maps of the snapshot
    std::span<const std::byte> facts;        // for SampleSyscalls::begin()
    int memory_fd = -1;                      // the snapshot's memory, open for reading
    std::int64_t stands_still_until_ns = 0;  // this and the next three: see StartMessage
    bool forget_code = false;
    bool uses_pages_again = false;
    bool records_pages = false;
    std::uint64_t stack_limit_bytes = usual_stack_limit_bytes;
    bool may_be_rehearsed = false;  // see StartMessage; rehearse() must then follow
};

struct PrepareRequest {
    std::string_view maps_text;
    int memory_fd = -1;  // memory of the process, which may be running
    std::span<const GuestAddress> program_counters;
    BurstLevels bursts;
    std::chrono::nanoseconds time{0};
    bool forget_code = false;  // see StartMessage
};

// See RunKind. If the run continues the last one, `maps_text` may be empty, no descriptor is
// needed, and `changed` lists where the snapshot's memory differs from the last run's.
struct ExactRequest {
    RunKind kind = RunKind::exact;
    CpuState cpu;  // this and the next three: see StartMessage
    GuestThreads::Index thread = 0;
    GuestThreads::State state = GuestThreads::State::runs;
    GuestAddress rseq = {};
    std::span<const StartThread> more_threads = {};  // with RunKind::exact
    RunLimits limits = {.instructions = RunLimits::unlimited};
    std::string_view maps_text = {};
    std::span<const MemoryRange> changed = {};
    int memory_fd = -1;
    RunCalls calls = RunCalls::end_run;
    std::uint64_t earlier_processor_ns = 0;  // this and the next one: see ProcessLinks
    bool shares_memory = false;
    GuestTime time = {};
    GuestAddress flipped = {};
    std::uint64_t stack_limit_bytes = usual_stack_limit_bytes;
};

// Trace words in a segment of the shared memory, with the oldest at their end. Hostile.
struct TraceSegment {
    std::size_t index = 0;
    std::span<const std::uint64_t> words;
    std::span<const ProbeRecord> probes;  // what probes saw between the words
    std::vector<TracePart> parts;         // what the words consist of, oldest first
};
// Calls take(words) and note(ProbeRecord) in the order of execution, for the next `part` of the
// segment. `taken` is the number of the segment's words before, `next` the index of the next
// record; the call advances both.
struct TracePosition {
    std::size_t taken = 0, next = 0;
};
template <typename Take, typename Note>
void for_each_piece(const TraceSegment& segment, const TracePart& part, TracePosition& place,
                    Take&& take, Note&& note) {
    const auto take_up_to = [&](std::size_t end) {
        const auto size = segment.words.size();
        if (end > place.taken) take(segment.words.subspan(size - end, end - place.taken));
        place.taken = std::max(place.taken, end);
    };
    const std::size_t end = place.taken + part.words;
    for (; place.next < segment.probes.size(); ++place.next) {
        const ProbeRecord record = segment.probes[place.next];
        if (record.thread != part.thread || record.place > end) break;
        take_up_to(record.place);
        note(record);
    }
    take_up_to(end);
}

// Receives what a sample produces while it runs. Called in the thread that runs the sample.
class SampleListener {
  public:
    virtual ~SampleListener() = default;
    // Announces a thread whose words will come. Called at least once before they come and before
    // on_emulated(). `thread` is less than GuestThreads::max_threads.
    virtual void on_thread(GuestThreads::Index thread) = 0;
    // The next words of the trace, with the oldest at their end. A record may continue in the next
    // batch, which is then of the same thread. Hostile.
    virtual void on_trace(GuestThreads::Index thread, std::span<const std::uint64_t> words,
                          const BlockTable& table) = 0;
    // What a probe saw between the batches before and after. Hostile.
    virtual void on_probe(const ProbeRecord&) {}
    // The emulation is over, and the snapshot's memory is no longer needed. Batches that were
    // traced before may still follow.
    virtual void on_emulated() = 0;
    // A request of the sample's system calls. Hostile. Returns the answer.
    virtual std::vector<std::byte> on_request(std::span<const std::byte> request) = 0;
    // Executes one instruction on the replica, after writing `pages` to it.
    virtual std::optional<SampleEnd> on_step(CpuState& cpu, std::span<const StepPage> pages) = 0;
};

struct SampleOutcome {
    RunResult result;
    CpuState cpu;  // of `thread`, at the end; this and the next two: see DoneMessage
    GuestThreads::Index thread = 0;
    std::vector<StartThread> threads = {};
    WorkerCounters counters = {};
    GuestTime time = {};
    std::vector<std::byte> syscall_report;
    bool worker_exhausted = false;
};

struct LoadsRequest {
    CpuState cpu;
    LoadLimits limits;
    std::string_view maps_text;
    int memory_fd = -1;
    std::chrono::steady_clock::time_point until;  // until when the target stands still
    bool forget_code = false;
};

struct LoadsOutcome {
    LoadsDone done = {};
    std::vector<LoadTally> tallies;
    std::vector<ProbeRecord> probed;
};

struct WorkerProbeRequest {
    std::span<const std::string> texts;
    std::span<const PlaceRange> places;          // where place tests hold
    std::span<const AllocatorEntry> allocators;  // whose calls are noted
    // Whether calls of counted functions are noted, and their entries.
    bool has_counted = false;
    std::span<const GuestAddress> counted = {};
    bool is_program_new = false;  // no thread is in one of them
    PythonProgram python = {};    // whose frames are noted; without a version: none are
};

class WorkerProcess {
  public:
    // Starts this program again (/proc/self/exe) with `arguments`, whose main must call
    // run_worker(). The process is a plain child: the caller of waitpid reaps it.
    static Result<WorkerProcess> start(std::span<const char* const> arguments);

    pid_t pid() const { return pid_; }
    // Becomes readable when the worker says something.
    int socket_fd() const { return socket_.fd(); }
    // Lets the worker begin a sample. An error, here and below, means that the worker is lost: it
    // must be killed and replaced.
    Result<void> begin_sample(const SampleRequest& request);
    // Follows the sample that was begun as long as the worker needs no answer, and calls
    // `on_thread` as SampleListener::on_thread(). finish_sample() must follow, whatever it returns.
    enum class Followed : std::uint8_t { to_the_end_of_emulation, to_a_question, to_the_time };
    Result<Followed> follow_sample(std::chrono::steady_clock::time_point until,
                                   const std::function<void(GuestThreads::Index)>& on_thread);
    // Listens to the sample that was begun until its end; blocks. If the snapshot stands still only
    // for a limited time, the trace is consumed after the emulation where possible.
    Result<SampleOutcome> finish_sample(SampleListener& listener);
    // To be called right after a sample that `may_be_rehearsed`; blocks. If its time has cut the
    // sample, the worker continues it while its process runs, so that the next sample finds code
    // translated and pages in place. With a `time` of 0, or after another end, the sample is only
    // ended, which takes time that no stop should wait for.
    Result<RehearsedMessage> rehearse(std::chrono::nanoseconds time);
    // To be called right after a sample that `records_pages`; blocks. Runs the sample once more,
    // without its snapshot, until it reaches `request.awaited` or needs a page that was not
    // recorded. Its trace is dropped, and a request of its system calls ends it.
    Result<SampleOutcome> run_again(const SampleRequest& request);
    // The pages that the last sample with `records_pages` has read of its snapshot. Nothing if some
    // are missing or another sample has recorded since. The view refers to shared memory.
    std::optional<RecordedPagesView> recorded_pages() const;
    // Begins and finishes a sample.
    Result<SampleOutcome> run_sample(const SampleRequest& request, SampleListener& listener) {
        TRY(begin_sample(request));
        return finish_sample(listener);
    }
    // Sets what is noted in the runs that follow. Must not be called in a sample; blocks.
    Result<void> set_probes(const WorkerProbeRequest& request);
    // Lets the worker translate ahead. Must not be called in a sample; blocks.
    Result<PreparedMessage> prepare(const PrepareRequest& request);
    // Begins a latency session. Each question needs an answer. next_of_loads() returns the error
    // `interrupted` at `until` if nothing has come; the outcome must still be waited for before
    // anything else is begun.
    Result<void> begin_loads(const LoadsRequest& request);
    Result<std::variant<LoadQuestion, LoadsOutcome>> next_of_loads(
        std::chrono::steady_clock::time_point until);
    Result<void> answer_load(const LoadAnswer& answer) {
        return socket_.send(MessageKind::answer, answer);
    }
    // Begins an exact run. The worker does not reuse its segments before free_segment(), which
    // another thread may call, also in later runs.
    Result<void> begin_exact(const ExactRequest& request);
    // The exact run's next segment, its next question or its outcome; ErrorCode::interrupted after
    // `timeout_ms` without one. A question is one of the run's system calls (RunCalls::forwarded),
    // and waits for answer_call(). Hostile.
    using Question = std::vector<std::byte>;
    Result<std::variant<TraceSegment, Question, SampleOutcome>> next_of_exact(int timeout_ms);
    // Gives the worker a file that the guest maps shared, for the next exact run, or for the rest
    // of this one if it waits for an answer.
    Result<void> share_file(const SharedFileMessage& file, int fd) {
        return socket_.send(MessageKind::shared_file, file, {}, fd);
    }
    // `maps_text` is put into the mailbox first.
    Result<void> answer_call(std::span<const std::byte> answer, std::string_view maps_text);
    // Asks the run to end.
    Result<void> stop_exact() { return socket_.send(MessageKind::stop, {}); }
    Result<void> free_segment(std::size_t index) {
        return socket_.send(MessageKind::segment_free, SegmentMessage{index, 0, 0, 0});
    }
    BlockTable table() const {
        return {area_.blocks(), area_.slots(), area_.parts(), area_.references()};
    }
    // After an exact run: compares the memory that it wrote to with what its descriptor, or
    // `memory_fd`, shows now.
    Result<ComparedMessage> compare_memory(const CompareMessage& request, int memory_fd = -1);

    // After an exact run: brings all that it wrote to its process, whose memory descriptor must be
    // writable. Returns false if the process has no such memory.
    Result<bool> give_memory();

  private:
    WorkerProcess(pid_t pid, WorkerSocket socket, SharedArea area)
        : pid_(pid), socket_(std::move(socket)), area_(std::move(area)) {}
    Result<SampleOutcome> conclude(const WorkerSocket::Message& message) const;
    Result<void> start_sample(const SampleRequest& request, RunKind kind);
    using OnThread = std::function<void(GuestThreads::Index)>;
    Result<void> put(WorkerSocket::Message message, const OnThread& on_thread);
    bool has_all() const;
    Result<void> fetch_messages(SampleListener& listener);
    std::optional<WorkerSocket::Message> next_message();
    Result<TraceSegment> segment_of(const WorkerSocket::Message& message) const;
    Result<void> on_segment(const WorkerSocket::Message& message, SampleListener& listener);
    Result<void> on_step(const WorkerSocket::Message& message, SampleListener& listener);

    pid_t pid_;
    WorkerSocket socket_;
    SharedArea area_;
    // Messages of the current sample that are not yet handled.
    std::deque<WorkerSocket::Message> inbox_;
    bool in_haste_ = false;
    bool emulated_ = false;        // the end of emulation has been reported
    std::uint64_t recording_ = 0;  // number of the last recording
};

}  // namespace shadowprof
