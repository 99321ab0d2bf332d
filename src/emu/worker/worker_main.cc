#include "emu/worker/worker_main.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/stopwatch.h"
#include "emu/watch/region_watch.h"
#include "emu/worker/confinement.h"
#include "emu/worker/load_watcher.h"
#include "emu/worker/own_place.h"
#include "emu/worker/page_comparison.h"
#include "emu/worker/snapshot_pages.h"
#include "emu/worker/worker_conversation.h"
#include "emu/worker/worker_protocol.h"

namespace shadowprof {
namespace {

// A sink for a trace that is not needed.
class DroppedTrace final : public TraceSink {
  public:
    // Ends the run when `deadline`, which must outlive this object, passes; null: never.
    explicit DroppedTrace(Deadline* deadline = nullptr) : deadline_(deadline) {}

    TraceBuffer acquire() override {
        if (deadline_ && deadline_->passed()) return {};
        return memory_.buffer();
    }
    void submit(std::span<const std::uint64_t>, GuestThreads::Index) override {}

  private:
    static constexpr std::size_t words = 4096;
    Deadline* deadline_;
    TraceMemory memory_{words};
};

class Worker {
  public:
    Worker(WorkerSocket socket, SharedArea area, SampleSyscalls& syscalls)
        : socket_(std::move(socket)),
          area_(std::move(area)),
          syscalls_(syscalls),
          tables_(area_.blocks(), area_.slots(), area_.parts(), area_.references(),
                  BlockTables::Access::nowhere),
          conversation_(socket_, area_),
          recording_(area_.recorded_pages()) {}

    Result<void> prepare() {
        TRY_ASSIGN(emulator_, Emulator::create(tables_));
        conversation_.on_shared_file([this](WorkerSocket::Message& message) { share(message); });
        reported_ = counters();
        return confine_worker(socket_.fd());
    }

    int serve() {
        while (!conversation_.lost()) {
            auto message = socket_.receive();
            if (!message) return message.error().code == ErrorCode::gone ? 0 : 1;
            if (!serve(*message)) return 1;
        }
        return 0;
    }

  private:
    // A sample that was cut by its time and may be continued.
    struct Held {
        GuestThreads threads;
        RunLimits limits;  // what is left of the limits
    };

    bool serve(WorkerSocket::Message& message) {
        const auto kind = message.kind;
        const bool is_about_sample = kind == MessageKind::segment_free ||
                                     kind == MessageKind::stop || kind == MessageKind::rehearse;
        if (held_ && !is_about_sample) end_sample();
        switch (kind) {
            case MessageKind::segment_free:
                conversation_.take_back(message);
                return true;
            case MessageKind::stop:  // the run has ended already
                return true;
            case MessageKind::shared_file:
                files_.push_back(std::move(message));
                return true;
            case MessageKind::start:
                return run_sample(message);
            case MessageKind::rehearse:
                return rehearse(message);
            case MessageKind::compare:
                return compare(message);
            case MessageKind::give:
                return give();
            case MessageKind::prepare:
                return translate_ahead(message);
            case MessageKind::time_loads:
                return time_loads(message);
            case MessageKind::probes:
                return set_probes(message);
            default:
                return false;
        }
    }
    Result<MemoryMap> map_in_mailbox(std::size_t bytes);
    std::optional<GuestThreads> threads_in_mailbox(const StartMessage& start);
    bool take_awaited(const StartMessage& start);
    bool run_sample(WorkerSocket::Message& message);
    std::unique_ptr<PageSource> pages_of(const StartMessage& start, UniqueFd memory);
    std::optional<std::span<const StartThread>> more_threads(const StartMessage& start);
    std::vector<GuestAddress> rseq_in_mailbox(const StartMessage& start);
    bool take_threads(const StartMessage& start);
    std::uint32_t leave_threads(GuestThreads& threads);
    SyscallHandler* handler_of(const StartMessage& start, std::span<const std::byte> facts);
    std::optional<SampleEnd> begin(const StartMessage& start, WorkerSocket::Message& message);
    bool rehearse(const WorkerSocket::Message& message);
    RehearsedMessage rehearse(Held& held, std::uint64_t time_ns);
    void end_sample();
    bool compare(WorkerSocket::Message& message);
    bool give();
    bool translate_ahead(WorkerSocket::Message& message);
    bool time_loads(WorkerSocket::Message& message);
    bool set_probes(const WorkerSocket::Message& message);
    void share(WorkerSocket::Message& message);
    WorkerCounters counters() const;

    WorkerSocket socket_;
    SharedArea area_;
    SampleSyscalls& syscalls_;
    BlockTables tables_;
    WorkerConversation conversation_;
    std::unique_ptr<ProbeWatch> probes_, load_probes_;
    std::unique_ptr<PythonWatch> python_;
    RegionWatch regions_;
    GuestTime time_;
    std::unique_ptr<Emulator> emulator_;
    DroppedTrace dropped_;
    PageRecording recording_;              // for the last sample with a recording
    std::unique_ptr<PageSource> pages_;    // for the current sample or the last exact run
    DescriptorPages* process_ = nullptr;   // in exact runs: `pages_`
    std::optional<GuestThreads> threads_;  // of the current run
    std::unique_ptr<SyscallHandler> handler_;
    // The same for runs with forwarded calls, which go on from one to the next.
    std::optional<GuestThreads> forwarded_threads_;
    std::unique_ptr<SyscallHandler> forwarded_;
    std::uint64_t emulation_ns_ = 0;
    std::vector<WorkerSocket::Message> files_;  // shared files, for the next run
    std::optional<AwaitedState> awaited_;       // for the current run
    std::optional<Held> held_;
    WorkerCounters reported_ = {};
};

WorkerCounters Worker::counters() const {
    const auto& translation = emulator_->translation();
    const auto& memory = emulator_->memory().counters();
    return {.translated_blocks = translation.blocks,
            .translated_instructions = translation.instructions,
            .untranslatable_instructions = translation.untranslatable,
            .retired_blocks = translation.retired_blocks,
            .translation_ns = translation.nanoseconds,
            .page_fetches = memory.fetches,
            .pages_fetched = memory.pages_fetched,
            .pages_reread = memory.pages_reread,
            .code_writes = memory.code_writes,
            .cpu_ns = static_cast<std::uint64_t>(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)),
            .emulation_ns = emulation_ns_};
}

// Every field is a count that only grows.
WorkerCounters operator-(WorkerCounters after, const WorkerCounters& before) {
    for (const auto& [name, counter] : worker_counters) after.*counter -= before.*counter;
    return after;
}

// The ranges in a payload; nothing if it ends within one.
std::optional<std::vector<MemoryRange>> ranges_of(std::span<const std::byte> payload) {
    if (payload.size() % sizeof(MemoryRange) != 0) return std::nullopt;
    std::vector<MemoryRange> ranges(payload.size() / sizeof(MemoryRange));
    std::memcpy(ranges.data(), payload.data(), payload.size());
    return ranges;
}

// The page source of a run that does not continue the last one.
std::unique_ptr<PageSource> Worker::pages_of(const StartMessage& start, UniqueFd memory) {
    if (start.kind == RunKind::sample_again)
        return std::make_unique<RecordedSource>(recording_.pages());
    auto pages = std::make_unique<DescriptorPages>(std::move(memory), conversation_.deadline(),
                                                   start.flipped);
    process_ = pages.get();
    if (start.recording == 0) return pages;
    recording_.begin(start.recording);
    return std::make_unique<RecordingSource>(std::move(pages), recording_);
}

// Shows the emulator the snapshot of the run. Returns why that failed, or nothing.
std::optional<SampleEnd> Worker::begin(const StartMessage& start, WorkerSocket::Message& message) {
    const bool goes_on = start.kind == RunKind::exact_onward || start.kind == RunKind::exact_next;
    const bool again = start.kind == RunKind::sample_again;
    if (goes_on ? !pages_ : start.maps_bytes == 0 || (!message.fd && !again))
        return SampleEnd::worker_lost;
    if (start.kind == RunKind::exact_onward) return std::nullopt;
    emulator_->memory().set_stack_limit(start.stack_limit_bytes);
    std::optional<MemoryMap> map;
    if (start.maps_bytes != 0) {
        auto parsed = map_in_mailbox(start.maps_bytes);
        if (!parsed) return SampleEnd::worker_lost;
        map = std::move(*parsed);
    }
    bool placed = false;
    if (start.kind == RunKind::exact_next) {
        const auto ranges = ranges_of(std::span(message.bytes).subspan(sizeof start));
        if (!ranges) return SampleEnd::worker_lost;
        placed = emulator_->next_interval(*ranges, std::move(map));
    } else {
        pages_ = pages_of(start, std::move(message.fd));
        const bool exact = start.kind == RunKind::exact;
        const auto manner = exact ? Nondeterminism::single_stepped : Nondeterminism::native;
        auto use = start.uses_pages_again ? PageUse::again : PageUse::once;
        if (exact) use = PageUse::tracked;
        placed = emulator_->begin_sample(std::move(*map), *pages_, manner, use).has_value();
        using enum GuestMemory::Run;
        if (placed) emulator_->memory().read_ahead(again ? repeated : once);
    }
    if (!placed) return SampleEnd::no_room;
    // Translated code may not have been compared with the snapshot's.
    if (conversation_.deadline().missed()) return SampleEnd::time;
    return std::nullopt;
}

void Worker::share(WorkerSocket::Message& message) {
    if (const auto file = body_of<SharedFileMessage>(message))
        emulator_->memory().share_file(file->device, file->inode, std::move(message.fd));
}

// Parses the map that the supervisor has put at the mailbox's start.
Result<MemoryMap> Worker::map_in_mailbox(std::size_t bytes) {
    const auto text = area_.reach_mailbox(bytes);
    if (!text) return Error{ErrorCode::unsupported, 0, "the mailbox has less"};
    return MemoryMap::parse({reinterpret_cast<const char*>(text->data()), text->size()});
}

// The threads of a run; nothing if there are too many or the mailbox is too small.
std::optional<GuestThreads> Worker::threads_in_mailbox(const StartMessage& start) {
    if (start.more_threads >= GuestThreads::max_threads ||
        start.maps_bytes > SharedArea::mailbox_bytes)
        return std::nullopt;
    const auto more = more_threads(start);
    if (!more) return std::nullopt;
    GuestThreads threads;
    threads.add(start.cpu, start.state, start.pace);
    for (const auto& thread : *more) threads.add(thread.cpu, thread.state, thread.pace);
    return threads;
}

// Nothing if the mailbox is too small.
std::optional<std::span<const StartThread>> Worker::more_threads(const StartMessage& start) {
    const auto offset = threads_offset(start.maps_bytes);
    const auto mailbox = area_.reach_mailbox(offset + start.more_threads * sizeof(StartThread));
    if (!mailbox) return std::nullopt;
    return std::span(reinterpret_cast<const StartThread*>(mailbox->data() + offset),
                     start.more_threads);
}

// By thread; needs threads_in_mailbox().
std::vector<GuestAddress> Worker::rseq_in_mailbox(const StartMessage& start) {
    std::vector<GuestAddress> all = {start.rseq};
    const auto more = more_threads(start);
    for (const auto& thread : *more) all.push_back(thread.rseq);
    return all;
}

// Where a run goes on with its threads; false if it cannot.
bool Worker::take_threads(const StartMessage& start) {
    const bool is_forwarded = start.calls != RunCalls::end_run;
    if (start.kind == RunKind::exact) {
        forwarded_threads_.reset();
        forwarded_.reset();
    }
    if (!is_forwarded || !forwarded_threads_) {
        auto& threads = is_forwarded ? forwarded_threads_ : threads_;
        threads = threads_in_mailbox(start);
        return threads.has_value();
    }
    if (start.thread >= forwarded_threads_->size()) return false;
    forwarded_threads_->put(start.thread, start.cpu, start.state);
    return true;
}

// Puts the threads of a run that has ended into the mailbox, if there are several. Returns how many
// are there.
std::uint32_t Worker::leave_threads(GuestThreads& threads) {
    if (threads.size() < 2) return 0;
    const auto mailbox = area_.reach_mailbox(threads.size() * sizeof(StartThread));
    if (!mailbox) return 0;
    auto* to = reinterpret_cast<StartThread*>(mailbox->data());
    for (GuestThreads::Index i = 0; i < threads.size(); ++i)
        to[i] = {threads.cpu(i), threads.state(i), threads.pace(i), {}};
    return static_cast<std::uint32_t>(threads.size());
}

// False if the mailbox is too small.
bool Worker::take_awaited(const StartMessage& start) {
    awaited_.reset();
    if (!start.awaits) return true;
    const auto offset = awaited_offset(start.maps_bytes, start.more_threads);
    const auto mailbox = area_.reach_mailbox(offset + sizeof(AwaitedState));
    if (!mailbox) return false;
    std::memcpy(&awaited_.emplace(), mailbox->data() + offset, sizeof(AwaitedState));
    return true;
}

// Null if what the supervisor sent is malformed. Forwarded calls know of calls under way, so their
// handler stays as long as its threads.
SyscallHandler* Worker::handler_of(const StartMessage& start, std::span<const std::byte> facts) {
    if (start.calls == RunCalls::end_run) {
        handler_ = syscalls_.begin(is_exact(start.kind) ? facts.first(0) : facts, conversation_);
        return handler_.get();
    }
    if (!is_exact(start.kind) || !process_) return nullptr;
    if (forwarded_) {
        forwarded_->on_moved(start.thread, forwarded_threads_->state(start.thread));
        return forwarded_.get();
    }
    forwarded_ = syscalls_.forward(
        {.outside = conversation_,
         .memory = emulator_->memory(),
         .process = *process_,
         .map_in_mailbox = [this](std::size_t bytes) { return map_in_mailbox(bytes); },
         .on_new_layout = [this] { emulator_->on_new_layout(); },
         .rseq = rseq_in_mailbox(start),
         .earlier_processor_ns = start.earlier_processor_ns,
         .time = &time_,
         .shares_memory = start.shares_memory != 0});
    return forwarded_.get();
}

bool Worker::run_sample(WorkerSocket::Message& message) {
    std::optional<Stopwatch> stopwatch(emulation_ns_);
    auto start = body_of<StartMessage>(message);
    if (!start) return false;
    if (!take_threads(*start) || !take_awaited(*start)) return false;
    auto& threads = start->calls != RunCalls::end_run ? forwarded_threads_ : threads_;
    const bool exact = is_exact(start->kind);
    exact ? conversation_.begin_exact()
          : conversation_.begin_sample(Deadline(start->stands_still_until_ns),
                                       start->more_threads != 0);
    const auto payload = std::span(message.bytes).subspan(sizeof *start);
    DoneMessage done = {};
    emulator_->watch_accesses(nullptr);
    time_ = start->time;
    emulator_->keep_time(time_.is_virtual != 0 ? &time_ : nullptr);
    if (start->forget_code) emulator_->forget_code();
    auto refused = begin(*start, message);
    for (auto& file : files_) share(file);
    files_.clear();
    auto* handler = refused ? nullptr : handler_of(*start, payload);
    if (!refused && !handler) refused = SampleEnd::worker_lost;
    if (refused) {
        done.result.end = *refused;
    } else {
        LeaveCalls left;
        auto& calls =
            start->calls == RunCalls::one_turn ? static_cast<SyscallHandler&>(left) : *handler;
        PunctualSyscalls punctual(calls, conversation_.deadline());
        emulator_->await(awaited_ ? &*awaited_ : nullptr);
        done.result = emulator_->run(*threads, start->limits, punctual, conversation_,
                                     exact ? nullptr : &conversation_);
    }
    emulator_->await(nullptr);
    const bool is_current =
        start->calls != RunCalls::forwarded || refused || emulator_->memory().give_all(*process_);
    if (!is_current) done.result.end = SampleEnd::replica_lost;
    if (conversation_.deadline().missed()) done.result.end = SampleEnd::time;
    stopwatch.reset();
    conversation_.send_segment();
    if (exact && conversation_.stopped() && done.result.end == SampleEnd::stopped)
        done.result.end = SampleEnd::size;
    // The guest stands between two blocks: the interval can end here, and another worker can go on.
    if (exact && emulator_->exhausted() && done.result.end == SampleEnd::worker_lost)
        done.result.end = SampleEnd::size;
    if (exact) {
        done.thread = threads->current();
        done.threads = leave_threads(*threads);
    }
    done.cpu = threads->cpu(done.thread);
    const auto now = counters();
    done.counters = now - std::exchange(reported_, now);
    done.exhausted = emulator_->exhausted();
    done.time = time_;
    const auto report = handler ? syscalls_.report(*handler) : std::vector<std::byte>{};
    const bool sent = socket_.send(MessageKind::done, done, report).has_value();
    // Nobody waits for the rest of this function; its time is in the next sample's counters.
    if (exact) return sent;
    const bool is_cut =
        !refused && done.result.end == SampleEnd::time && !conversation_.has_missed_call();
    if (start->may_be_rehearsed != 0 && is_cut) {
        RunLimits left = start->limits;
        left.instructions -= std::min(left.instructions, done.result.of_lead.instructions);
        held_ = Held{std::move(*threads), left};
        threads_.reset();
    } else {
        end_sample();
    }
    return sent;
}

void Worker::end_sample() {
    held_.reset();
    emulator_->end_sample();
    pages_.reset();
    recording_.make_room();
}

bool Worker::rehearse(const WorkerSocket::Message& message) {
    const auto request = body_of<RehearseMessage>(message);
    if (!request) return false;
    RehearsedMessage rehearsed = {};
    if (held_) {
        if (request->time_ns != 0) rehearsed = rehearse(*held_, request->time_ns);
        end_sample();
    }
    rehearsed.exhausted = emulator_->exhausted();
    return socket_.send(MessageKind::rehearsed, rehearsed).has_value();
}

// Its code and pages count for no sample; its processor time counts for the next one.
RehearsedMessage Worker::rehearse(Held& held, std::uint64_t time_ns) {
    std::uint64_t spent_ns = 0;
    std::optional<Stopwatch> stopwatch(spent_ns);
    recording_.close();
    emulator_->memory().stop_learning();
    const auto until_ns = read_clock_ns(CLOCK_MONOTONIC) + static_cast<std::int64_t>(time_ns);
    conversation_.deadline() = Deadline(until_ns);
    EndAtCalls calls(SampleEnd::unsafe_syscall);
    DroppedTrace dropped(&conversation_.deadline());
    const auto result = emulator_->run(held.threads, held.limits, calls, dropped);
    const auto cpu_ns = reported_.cpu_ns;
    reported_ = counters();
    reported_.cpu_ns = cpu_ns;
    stopwatch.reset();
    return {.instructions = result.instructions, .nanoseconds = spent_ns};
}

bool Worker::translate_ahead(WorkerSocket::Message& message) {
    const auto request = body_of<PrepareMessage>(message);
    if (!request || !message.fd) return false;
    const auto start_ns = read_clock_ns(CLOCK_MONOTONIC);
    const auto payload = std::span(message.bytes).subspan(sizeof *request);
    std::vector<GuestAddress> roots(payload.size() / sizeof(GuestAddress));
    std::memcpy(roots.data(), payload.data(), roots.size() * sizeof(GuestAddress));
    PreparedMessage prepared = {};
    emulator_->watch_accesses(nullptr);
    if (request->forget_code) emulator_->forget_code();
    auto map = map_in_mailbox(request->maps_bytes);
    if (map && !emulator_->exhausted()) {
        Deadline none;
        DescriptorPages pages(std::move(message.fd), none);
        const auto goes_on = [&] {
            const auto spent_ns = read_clock_ns(CLOCK_MONOTONIC) - start_ns;
            return static_cast<std::uint64_t>(spent_ns) < request->time_ns;
        };
        const BurstLevels bursts{.values = request->with_values != 0,
                                 .references = request->with_references != 0};
        prepared.has_more =
            emulator_->translate_ahead(std::move(*map), pages, roots, bursts, goes_on);
    }
    const auto now = counters();
    prepared.instructions = (now - std::exchange(reported_, now)).translated_instructions;
    prepared.nanoseconds = static_cast<std::uint64_t>(read_clock_ns(CLOCK_MONOTONIC) - start_ns);
    return socket_.send(MessageKind::prepared, prepared).has_value();
}

bool Worker::time_loads(WorkerSocket::Message& message) {
    const auto request = body_of<LoadsMessage>(message);
    if (!request || !message.fd) return false;
    conversation_.begin_sample(Deadline(request->stands_still_until_ns), false);
    if (request->forget_code) emulator_->forget_code();
    auto map = map_in_mailbox(request->maps_bytes);
    LoadsDone done = {};
    done.end = SampleEnd::no_room;
    std::vector<LoadTally> tallies;
    DescriptorPages memory(std::move(message.fd), conversation_.deadline());
    const MemoryMap layout = map ? *map : MemoryMap{};
    LinePages pages(memory, layout);
    LoadWatcher watcher(request->limits, conversation_, memory, conversation_.deadline(),
                        load_probes_.get());
    emulator_->watch_accesses(&watcher);
    if (map && emulator_->begin_sample(std::move(*map), pages)) {
        // There are few instructions between two accesses, unless an endless loop has none.
        constexpr std::uint64_t instructions_per_access = 16;
        const RunLimits limits{.instructions = instructions_per_access * request->limits.accesses};
        // The result of a system call cannot be known.
        EndAtCalls calls(SampleEnd::unsafe_syscall);
        GuestThreads threads(request->cpu);
        done.end = emulator_->run(threads, limits, calls, dropped_).end;
        tallies = watcher.tallies();
    }
    const auto now = counters();
    done.translation_ns = (now - std::exchange(reported_, now)).translation_ns;
    done.counts = watcher.counts();
    done.exhausted = emulator_->exhausted();
    const auto probed = watcher.probed();
    const auto room =
        OutsideChannel::max_bytes - std::min(OutsideChannel::max_bytes, probed.size_bytes());
    tallies.resize(std::min(tallies.size(), room / sizeof(LoadTally)));
    done.probe_records = probed.size();
    std::vector<std::byte> payload(probed.size_bytes() + tallies.size() * sizeof(LoadTally));
    const auto behind = std::ranges::copy(std::as_bytes(probed), payload.begin()).out;
    std::ranges::copy(std::as_bytes(std::span(tallies)), behind);
    const bool sent = socket_.send(MessageKind::loads_done, done, payload).has_value();
    emulator_->end_sample();
    return sent;
}

bool Worker::set_probes(const WorkerSocket::Message& message) {
    const auto request = body_of<ProbesMessage>(message);
    if (!request || request->places > SharedArea::mailbox_bytes / sizeof(PlaceRange) ||
        request->allocators > SharedArea::mailbox_bytes / sizeof(AllocatorEntry) ||
        request->counted > SharedArea::mailbox_bytes / sizeof(GuestAddress) ||
        request->text_bytes > SharedArea::mailbox_bytes)
        return false;
    const auto mailbox = area_.reach_mailbox(
        request->places * sizeof(PlaceRange) + request->allocators * sizeof(AllocatorEntry) +
        request->counted * sizeof(GuestAddress) + request->text_bytes);
    if (!mailbox) return false;
    const auto* ranges = reinterpret_cast<const PlaceRange*>(mailbox->data());
    const auto* allocators = reinterpret_cast<const AllocatorEntry*>(ranges + request->places);
    const auto* counted = reinterpret_cast<const GuestAddress*>(allocators + request->allocators);
    const auto* text = reinterpret_cast<const char*>(counted + request->counted);
    std::vector<std::string> texts;
    for (std::string_view rest(text, request->text_bytes); !rest.empty();) {
        const auto end = std::min(rest.find('\0'), rest.size());
        texts.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    auto probes = ProbeSet::parse(texts);
    emulator_->watch_probes(nullptr);
    probes_.reset();
    load_probes_.reset();
    if (probes && (!probes->empty() || request->allocators != 0)) {
        const std::vector<PlaceRange> places(ranges, ranges + request->places);
        probes_ = std::make_unique<ProbeWatch>(*probes, places, Probed::executions,
                                               std::span(allocators, request->allocators));
        load_probes_ = std::make_unique<ProbeWatch>(*probes, places, Probed::timed_loads);
    }
    emulator_->watch_probes(probes_.get());
    if (request->is_program_new != 0) regions_ = {};
    regions_.set_entries({counted, counted + request->counted});
    emulator_->watch_regions(request->has_counted != 0 ? &regions_ : nullptr);
    emulator_->watch_python(nullptr);
    python_.reset();
    if (python_layout(request->python.version))
        python_ = std::make_unique<PythonWatch>(request->python, emulator_->memory());
    emulator_->watch_python(python_.get());
    const ProbesSetMessage answer{.understood = probes.has_value()};
    return socket_.send(MessageKind::probes_set, answer).has_value();
}

bool Worker::compare(WorkerSocket::Message& message) {
    const auto request = body_of<CompareMessage>(message);
    if (!request || !pages_) return false;
    const bool elsewhere = static_cast<bool>(message.fd);
    Deadline none;
    DescriptorPages other(std::move(message.fd), none);
    PageSource& native = elsewhere ? static_cast<PageSource&>(other) : *pages_;
    PageComparison comparison(native, *request);
    auto& memory = emulator_->memory();
    comparison.add(memory.replaced_differences());
    memory.for_each_dirty_page([&](GuestAddress page, std::span<const std::byte> bytes) {
        if (!memory.is_left_to_kernel(page)) comparison.add(page, bytes);
    });
    const auto& result = comparison.finish();
    if (!elsewhere) memory.compared();
    return socket_.send(MessageKind::compared, result).has_value();
}

bool Worker::give() {
    const GivenMessage answer{.has_all =
                                  process_ && pages_ && emulator_->memory().give_all(*process_)};
    return socket_.send(MessageKind::given, answer).has_value();
}

Result<int> serve(SampleSyscalls& syscalls) {
    const UniqueFd memory(worker_memory_fd);
    WorkerSocket socket{UniqueFd(worker_socket_fd)};
    TRY_ASSIGN(auto area, SharedArea::map_for_worker(memory.get()));
    Worker worker(std::move(socket), std::move(area), syscalls);
    TRY(worker.prepare());
    return worker.serve();
}

}  // namespace

int run_worker(SampleSyscalls& syscalls, char* const* arguments) {
    move_out_of_the_way(arguments);
    const auto status = serve(syscalls);
    return status ? *status : 1;
}

}  // namespace shadowprof
