#include "emu/worker/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "emu/worker/own_place.h"
#include "emu/worker/worker_main.h"

extern char** environ;

namespace shadowprof {
namespace {

// A worker that sends nothing for so long is taken to be hung.
constexpr int silence_limit_ms = 20'000;

// How many trace words are consumed between two looks at the socket.
constexpr std::uint64_t slice_words = 8192;

// Keeps only what a worker needs: other variables that the user set are meant for the target.
std::vector<char*> worker_environment() {
    std::vector<char*> kept;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        if (text.starts_with("LD_LIBRARY_PATH=") || text.find("SAN_OPTIONS=") < text.find('='))
            kept.push_back(*entry);
    }
    kept.push_back(nullptr);
    return kept;
}

Error nonsense() {
    return {ErrorCode::invalid, 0, "the emulator's process sent an unexpected message"};
}

Result<std::vector<TracePart>> parts_of(const WorkerSocket::Message& message) {
    if (message.bytes.size() < sizeof(SegmentMessage)) return nonsense();
    const auto bytes = std::span(message.bytes).subspan(sizeof(SegmentMessage));
    if (bytes.size() % sizeof(TracePart) != 0) return nonsense();
    std::vector<TracePart> parts(bytes.size() / sizeof(TracePart));
    std::memcpy(parts.data(), bytes.data(), bytes.size());
    const bool known = std::ranges::all_of(
        parts, [](const auto& part) { return part.thread < GuestThreads::max_threads; });
    if (!known) return nonsense();
    return parts;
}

class NobodyListens final : public SampleListener {
  public:
    void on_thread(GuestThreads::Index) override {}
    void on_trace(GuestThreads::Index, std::span<const std::uint64_t>, const BlockTable&) override {
    }
    void on_emulated() override {}
    std::vector<std::byte> on_request(std::span<const std::byte>) override { return {}; }
    std::optional<SampleEnd> on_step(CpuState&, std::span<const StepPage>) override {
        return SampleEnd::unsupported_instruction;
    }
};

}  // namespace

Result<WorkerProcess> WorkerProcess::start(std::span<const char* const> arguments) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("cannot make a socket for the emulator's process");
    UniqueFd ours(ends[0]), theirs(ends[1]);
    TRY_ASSIGN(UniqueFd memory, SharedArea::create_file());
    TRY_ASSIGN(SharedArea area, SharedArea::map_for_supervisor(memory.get()));

    // Neither descriptor may have the number that the other one is to get.
    UniqueFd high_socket(fcntl(theirs.get(), F_DUPFD_CLOEXEC, 64));
    UniqueFd high_memory(fcntl(memory.get(), F_DUPFD_CLOEXEC, 64));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, high_socket.get(), worker_socket_fd);
    posix_spawn_file_actions_adddup2(&actions, high_memory.get(), worker_memory_fd);
    posix_spawn_file_actions_addclosefrom_np(&actions, worker_memory_fd + 1);
    // A process group of its own, as Ctrl-C is meant for the target.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t no_signals;
    sigemptyset(&no_signals);
    posix_spawnattr_setsigmask(&attributes, &no_signals);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);

    std::vector<char*> argv;
    for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
    argv.push_back(nullptr);
    pid_t pid = -1;
    const OutOfTheWay place;
    const int error = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv.data(),
                                  worker_environment().data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error) return errno_error("cannot start the emulator's process", error);
    return WorkerProcess(pid, WorkerSocket(std::move(ours)), std::move(area));
}

Result<void> WorkerProcess::begin_sample(const SampleRequest& request) {
    return start_sample(request, RunKind::sample);
}

Result<void> WorkerProcess::start_sample(const SampleRequest& request, RunKind kind) {
    inbox_.clear();
    emulated_ = false;
    in_haste_ = request.stands_still_until_ns != 0;
    const auto threads = std::as_bytes(request.more_threads);
    const auto offset = threads_offset(request.maps_text.size());
    const auto awaited =
        std::as_bytes(std::span(request.awaited, request.awaited == nullptr ? 0u : 1u));
    if (offset + threads.size() + awaited.size() > area_.mailbox().size())
        return Error{ErrorCode::unsupported, 0, "the program has too many memory mappings"};
    std::memcpy(area_.mailbox().data(), request.maps_text.data(), request.maps_text.size());
    std::ranges::copy(threads, area_.mailbox().begin() + static_cast<std::ptrdiff_t>(offset));
    std::ranges::copy(
        awaited, area_.mailbox().begin() + static_cast<std::ptrdiff_t>(offset + threads.size()));
    const StartMessage start{.cpu = request.cpu,
                             .pace = request.pace,
                             .limits = request.limits,
                             .maps_bytes = request.maps_text.size(),
                             .more_threads = request.more_threads.size(),
                             .awaits = request.awaited != nullptr,
                             .kind = kind,
                             .flipped = {},
                             .stands_still_until_ns = request.stands_still_until_ns,
                             .forget_code = request.forget_code,
                             .uses_pages_again = request.uses_pages_again,
                             .recording = request.records_pages ? ++recording_ : 0,
                             .stack_limit_bytes = request.stack_limit_bytes,
                             .may_be_rehearsed = request.may_be_rehearsed};
    return socket_.send(MessageKind::start, start, request.facts, request.memory_fd);
}

std::optional<RecordedPagesView> WorkerProcess::recorded_pages() const {
    return RecordedPagesView::of(area_.recorded_pages(), recording_);
}

Result<SampleOutcome> WorkerProcess::run_again(const SampleRequest& request) {
    auto again = request;
    again.memory_fd = -1;
    again.stands_still_until_ns = 0;
    again.forget_code = again.records_pages = again.may_be_rehearsed = false;
    TRY(start_sample(again, RunKind::sample_again));
    NobodyListens nobody;
    return finish_sample(nobody);
}

Result<WorkerProcess::Followed> WorkerProcess::follow_sample(
    std::chrono::steady_clock::time_point until, const OnThread& on_thread) {
    while (!has_all()) {
        auto message = socket_.receive_until(until);
        if (!message && message.error().code == ErrorCode::interrupted)
            return Followed::to_the_time;
        if (!message) return std::move(message).error();
        TRY(put(std::move(*message), on_thread));
        const bool trace = inbox_.back().kind == MessageKind::segment_full;
        const bool waits = !trace || inbox_.size() == SharedArea::segments;
        if (waits && !has_all()) return Followed::to_a_question;
    }
    return Followed::to_the_end_of_emulation;
}

Result<SampleOutcome> WorkerProcess::finish_sample(SampleListener& listener) {
    while (true) {
        TRY(fetch_messages(listener));
        const auto message = next_message();
        if (!message) {
            TRY_ASSIGN(auto first, socket_.receive(silence_limit_ms));
            TRY(put(std::move(first), [&](auto thread) { listener.on_thread(thread); }));
            continue;
        }
        switch (message->kind) {
            case MessageKind::segment_full:
                TRY(on_segment(*message, listener));
                break;
            case MessageKind::request:
                TRY(socket_.send(MessageKind::answer, {}, listener.on_request(message->bytes)));
                break;
            case MessageKind::step:
                TRY(on_step(*message, listener));
                break;
            case MessageKind::done:
                return conclude(*message);
            default:
                return nonsense();
        }
    }
}

// If the snapshot's time is short, messages that the worker waits for come first.
std::optional<WorkerSocket::Message> WorkerProcess::next_message() {
    auto next = inbox_.begin();
    if (in_haste_ && !emulated_ && inbox_.size() < SharedArea::segments)
        next = std::ranges::find_if(
            inbox_, [](const auto& message) { return message.kind != MessageKind::segment_full; });
    if (next == inbox_.end()) return std::nullopt;
    auto message = std::move(*next);
    inbox_.erase(next);
    return message;
}

// Whether the last message of a sample has come.
bool WorkerProcess::has_all() const {
    return !inbox_.empty() && inbox_.back().kind == MessageKind::done;
}

Result<void> WorkerProcess::put(WorkerSocket::Message message, const OnThread& on_thread) {
    // A worker has no more segments, and asks one question at a time.
    if (inbox_.size() == SharedArea::segments + 2) return nonsense();
    inbox_.push_back(std::move(message));
    if (inbox_.back().kind != MessageKind::segment_full) return {};
    TRY_ASSIGN(const auto parts, parts_of(inbox_.back()));
    for (const auto& part : parts) on_thread(part.thread);
    return {};
}

// Takes all messages that have come, so that the end of the emulation is known at once and not only
// when the whole trace is consumed.
Result<void> WorkerProcess::fetch_messages(SampleListener& listener) {
    while (!has_all()) {
        auto message = socket_.receive(0);
        if (!message) {
            if (message.error().code == ErrorCode::interrupted) return {};
            return std::move(message).error();
        }
        TRY(put(std::move(*message), [&](auto thread) { listener.on_thread(thread); }));
    }
    if (!std::exchange(emulated_, true)) listener.on_emulated();
    return {};
}

Result<RehearsedMessage> WorkerProcess::rehearse(std::chrono::nanoseconds time) {
    const RehearseMessage request{.time_ns = static_cast<std::uint64_t>(time.count())};
    TRY(socket_.send(MessageKind::rehearse, request));
    TRY_ASSIGN(const auto answer, socket_.receive(silence_limit_ms));
    const auto rehearsed = body_of<RehearsedMessage>(answer);
    if (answer.kind != MessageKind::rehearsed || !rehearsed) return nonsense();
    return *rehearsed;
}

Result<SampleOutcome> WorkerProcess::conclude(const WorkerSocket::Message& message) const {
    const auto done = body_of<DoneMessage>(message);
    if (!done || done->result.end >= SampleEnd::count) return nonsense();
    SampleOutcome outcome{
        .result = done->result,
        .cpu = done->cpu,
        .thread = done->thread,
        .counters = done->counters,
        .time = done->time,
        .syscall_report = {message.bytes.begin() + sizeof *done, message.bytes.end()},
        .worker_exhausted = done->exhausted != 0};
    if (done->threads > GuestThreads::max_threads) return nonsense();
    outcome.threads.resize(done->threads);
    const auto bytes = std::as_writable_bytes(std::span(outcome.threads));
    std::memcpy(bytes.data(), area_.mailbox().data(), bytes.size());
    const auto is_known = [](const StartThread& thread) {
        return thread.state <= GuestThreads::State::calls;
    };
    if (done->thread >= std::max<std::size_t>(1, done->threads) ||
        !std::ranges::all_of(outcome.threads, is_known))
        return nonsense();
    return outcome;
}

Result<void> WorkerProcess::set_probes(const WorkerProbeRequest& request) {
    const auto mailbox = area_.mailbox();
    std::string text;
    for (const std::string& each : request.texts) text.append(each).push_back('\0');
    const std::array parts{std::as_bytes(request.places), std::as_bytes(request.allocators),
                           std::as_bytes(request.counted), std::as_bytes(std::span(text))};
    std::size_t bytes = 0;
    for (const auto part : parts) bytes += part.size();
    if (bytes > mailbox.size())
        return Error{
            ErrorCode::unsupported, 0,
            "--probe and --count-in name too many places in the code; use narrower patterns"};
    auto end = mailbox.begin();
    for (const auto part : parts) end = std::ranges::copy(part, end).out;
    TRY(socket_.send(MessageKind::probes, ProbesMessage{.places = request.places.size(),
                                                        .allocators = request.allocators.size(),
                                                        .text_bytes = text.size(),
                                                        .counted = request.counted.size(),
                                                        .has_counted = request.has_counted,
                                                        .is_program_new = request.is_program_new,
                                                        .python = request.python}));
    TRY_ASSIGN(const auto message, socket_.receive(silence_limit_ms));
    const auto answer = body_of<ProbesSetMessage>(message);
    if (message.kind != MessageKind::probes_set || !answer || answer->understood == 0)
        return nonsense();
    return {};
}

Result<PreparedMessage> WorkerProcess::prepare(const PrepareRequest& request) {
    if (request.maps_text.size() > area_.mailbox().size())
        return Error{ErrorCode::unsupported, 0, "the program has too many memory mappings"};
    std::memcpy(area_.mailbox().data(), request.maps_text.data(), request.maps_text.size());
    const PrepareMessage message{.maps_bytes = request.maps_text.size(),
                                 .with_values = request.bursts.values,
                                 .with_references = request.bursts.references,
                                 .time_ns = static_cast<std::uint64_t>(request.time.count()),
                                 .forget_code = request.forget_code};
    TRY(socket_.send(MessageKind::prepare, message, std::as_bytes(request.program_counters),
                     request.memory_fd));
    TRY_ASSIGN(const auto answer, socket_.receive(silence_limit_ms));
    const auto prepared = body_of<PreparedMessage>(answer);
    if (answer.kind != MessageKind::prepared || !prepared) return nonsense();
    return *prepared;
}

Result<void> WorkerProcess::begin_loads(const LoadsRequest& request) {
    if (request.maps_text.size() > area_.mailbox().size())
        return Error{ErrorCode::unsupported, 0, "the program has too many memory mappings"};
    std::memcpy(area_.mailbox().data(), request.maps_text.data(), request.maps_text.size());
    const auto until = std::chrono::nanoseconds(request.until.time_since_epoch()).count();
    const LoadsMessage message{.cpu = request.cpu,
                               .limits = request.limits,
                               .maps_bytes = request.maps_text.size(),
                               .stands_still_until_ns = until,
                               .forget_code = request.forget_code};
    return socket_.send(MessageKind::time_loads, message, {}, request.memory_fd);
}

Result<std::variant<LoadQuestion, LoadsOutcome>> WorkerProcess::next_of_loads(
    std::chrono::steady_clock::time_point until) {
    using Next = std::variant<LoadQuestion, LoadsOutcome>;
    TRY_ASSIGN(const auto message, socket_.receive_until(until));
    if (message.kind == MessageKind::request) {
        const auto question = body_of<LoadQuestion>(message);
        return question ? Result<Next>(Next(*question)) : nonsense();
    }
    const auto done = body_of<LoadsDone>(message);
    const auto rest = message.bytes.size() - std::min(message.bytes.size(), sizeof(LoadsDone));
    if (message.kind != MessageKind::loads_done || !done || done->end >= SampleEnd::count ||
        done->probe_records > rest / sizeof(ProbeRecord))
        return nonsense();
    const auto probed_bytes = done->probe_records * sizeof(ProbeRecord);
    const auto tally_bytes = rest - probed_bytes;
    if (tally_bytes % sizeof(LoadTally) != 0) return nonsense();
    LoadsOutcome outcome{*done, std::vector<LoadTally>(tally_bytes / sizeof(LoadTally)),
                         std::vector<ProbeRecord>(done->probe_records)};
    const auto* payload = message.bytes.data() + sizeof(LoadsDone);
    std::memcpy(outcome.probed.data(), payload, probed_bytes);
    std::memcpy(outcome.tallies.data(), payload + probed_bytes, tally_bytes);
    return Next(std::move(outcome));
}

Result<void> WorkerProcess::begin_exact(const ExactRequest& request) {
    const auto threads = std::as_bytes(request.more_threads);
    const auto offset = threads_offset(request.maps_text.size());
    if (offset + threads.size() > area_.mailbox().size())
        return Error{ErrorCode::unsupported, 0, "the program has too many memory mappings"};
    std::memcpy(area_.mailbox().data(), request.maps_text.data(), request.maps_text.size());
    std::ranges::copy(threads, area_.mailbox().begin() + static_cast<std::ptrdiff_t>(offset));
    const StartMessage start{.cpu = request.cpu,
                             .thread = request.thread,
                             .state = request.state,
                             .rseq = request.rseq,
                             .limits = request.limits,
                             .maps_bytes = request.maps_text.size(),
                             .more_threads = request.more_threads.size(),
                             .kind = request.kind,
                             .calls = request.calls,
                             .earlier_processor_ns = request.earlier_processor_ns,
                             .shares_memory = request.shares_memory,
                             .time = request.time,
                             .flipped = request.flipped,
                             .stands_still_until_ns = 0,
                             .forget_code = false,
                             .stack_limit_bytes = request.stack_limit_bytes};
    return socket_.send(MessageKind::start, start, std::as_bytes(request.changed),
                        request.memory_fd);
}

Result<void> WorkerProcess::answer_call(std::span<const std::byte> answer,
                                        std::string_view maps_text) {
    if (maps_text.size() > area_.mailbox().size())
        return Error{ErrorCode::unsupported, 0, "the program has too many memory mappings"};
    std::memcpy(area_.mailbox().data(), maps_text.data(), maps_text.size());
    return socket_.send(MessageKind::answer, {}, answer);
}

Result<std::variant<TraceSegment, WorkerProcess::Question, SampleOutcome>>
WorkerProcess::next_of_exact(int timeout_ms) {
    using Next = std::variant<TraceSegment, Question, SampleOutcome>;
    TRY_ASSIGN(auto message, socket_.receive(timeout_ms));
    if (message.kind == MessageKind::request) return Next(std::move(message.bytes));
    if (message.kind == MessageKind::segment_full) {
        TRY_ASSIGN(const auto segment, segment_of(message));
        return Next(segment);
    }
    if (message.kind != MessageKind::done) return nonsense();
    TRY_ASSIGN(auto outcome, conclude(message));
    return Next(std::move(outcome));
}

Result<ComparedMessage> WorkerProcess::compare_memory(const CompareMessage& request,
                                                      int memory_fd) {
    TRY(socket_.send(MessageKind::compare, request, {}, memory_fd));
    TRY_ASSIGN(const auto message, socket_.receive(silence_limit_ms));
    const auto compared = body_of<ComparedMessage>(message);
    if (message.kind != MessageKind::compared || !compared) return nonsense();
    return *compared;
}

Result<bool> WorkerProcess::give_memory() {
    TRY(socket_.send(MessageKind::give, {}));
    TRY_ASSIGN(const auto message, socket_.receive(silence_limit_ms));
    const auto given = body_of<GivenMessage>(message);
    if (message.kind != MessageKind::given || !given) return nonsense();
    return given->has_all != 0;
}

Result<TraceSegment> WorkerProcess::segment_of(const WorkerSocket::Message& message) const {
    const auto body = body_of<SegmentMessage>(message);
    if (!body || body->index >= SharedArea::segments || body->first_word > body->end_word ||
        body->end_word > SharedArea::segment_words || body->probe_records > max_probe_records)
        return nonsense();
    const auto* base = area_.segment(body->index).data();
    const auto* records = reinterpret_cast<const ProbeRecord*>(base);
    TRY_ASSIGN(auto parts, parts_of(message));
    std::size_t words = 0;
    for (const auto& part : parts) words += part.words;
    if (words != body->end_word - body->first_word) return nonsense();
    return TraceSegment{body->index,
                        {base + body->first_word, base + body->end_word},
                        {records, records + body->probe_records},
                        std::move(parts)};
}

Result<void> WorkerProcess::on_segment(const WorkerSocket::Message& message,
                                       SampleListener& listener) {
    TRY_ASSIGN(const auto segment, segment_of(message));
    TracePosition place;
    Result<void> fetched;
    for (const auto& part : segment.parts) {
        for_each_piece(
            segment, part, place,
            [&](std::span<const std::uint64_t> words) {
                while (!words.empty() && fetched) {
                    const auto slice = words.last(std::min(words.size(), slice_words));
                    listener.on_trace(part.thread, slice, table());
                    words = words.first(words.size() - slice.size());
                    fetched = fetch_messages(listener);
                }
            },
            [&](const ProbeRecord& record) { listener.on_probe(record); });
        if (!fetched) return fetched;
    }
    return free_segment(segment.index);
}

Result<void> WorkerProcess::on_step(const WorkerSocket::Message& message,
                                    SampleListener& listener) {
    auto body = body_of<StepMessage>(message);
    const auto room = area_.mailbox().size() / sizeof(StepPage);
    if (!body || body->pages > room) return nonsense();
    const std::span pages(reinterpret_cast<const StepPage*>(area_.mailbox().data()), body->pages);
    const auto end = listener.on_step(body->cpu, pages);
    body->ok = !end;
    body->end = static_cast<std::uint32_t>(end.value_or(SampleEnd::size));
    return socket_.send(MessageKind::stepped, *body);
}

}  // namespace shadowprof
