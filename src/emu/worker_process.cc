#include "emu/worker_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "emu/worker_main.h"

extern char** environ;

namespace shadowprof {
namespace {

// A worker that says nothing for so long is taken for hung.
constexpr int silence_limit_ms = 20'000;

// Trace words that are consumed between two looks at the socket.
constexpr std::uint64_t slice_words = 8192;

// What the user put into the environment is meant for the target, not for a worker.
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
    return {ErrorCode::invalid, 0, "a worker sent a message that makes no sense"};
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(std::span<const char* const> arguments) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("cannot make a socket for a worker");
    UniqueFd ours(ends[0]), theirs(ends[1]);
    TRY_ASSIGN(UniqueFd memory, SharedArea::create_file());
    TRY_ASSIGN(SharedArea area, SharedArea::map_for_supervisor(memory.get()));

    // The descriptors must not sit where the other one is to go.
    UniqueFd high_socket(fcntl(theirs.get(), F_DUPFD_CLOEXEC, 64));
    UniqueFd high_memory(fcntl(memory.get(), F_DUPFD_CLOEXEC, 64));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, high_socket.get(), worker_socket_fd);
    posix_spawn_file_actions_adddup2(&actions, high_memory.get(), worker_memory_fd);
    posix_spawn_file_actions_addclosefrom_np(&actions, worker_memory_fd + 1);
    // A process group of its own: Ctrl-C is for the target.
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
    const int error = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv.data(),
                                  worker_environment().data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error) return errno_error("cannot start a worker process", error);
    return WorkerProcess(pid, WorkerSocket(std::move(ours)), std::move(area));
}

Result<void> WorkerProcess::begin_sample(const SampleRequest& request) {
    if (request.maps_text.size() > area_.mailbox().size())
        return Error{ErrorCode::unsupported, 0, "the program has too many memory mappings"};
    std::memcpy(area_.mailbox().data(), request.maps_text.data(), request.maps_text.size());
    const StartMessage start{
        request.cpu, request.limits, request.maps_text.size(), RunKind::sample, {}};
    return socket_.send(MessageKind::start, start, request.facts, request.memory_fd);
}

Result<SampleOutcome> WorkerProcess::finish_sample(SampleListener& listener) {
    Inbox inbox{.listener = listener};
    while (true) {
        TRY(fetch_messages(inbox));
        if (inbox.messages.empty()) {
            TRY_ASSIGN(auto first, socket_.receive(silence_limit_ms));
            inbox.messages.push_back(std::move(first));
            continue;
        }
        const auto message = std::move(inbox.messages.front());
        inbox.messages.pop_front();
        switch (message.kind) {
            case MessageKind::segment_full:
                TRY(on_segment(message, inbox));
                break;
            case MessageKind::request:
                TRY(socket_.send(MessageKind::answer, {}, listener.on_request(message.bytes)));
                break;
            case MessageKind::step:
                TRY(on_step(message, listener));
                break;
            case MessageKind::done:
                return conclude(message);
            default:
                return nonsense();
        }
    }
}

// Takes all messages that are there: the end of the emulation is to be known as soon as it comes,
// not when the last of the trace is consumed.
Result<void> WorkerProcess::fetch_messages(Inbox& inbox) {
    while (!inbox.emulated) {
        if (inbox.messages.empty() || inbox.messages.back().kind != MessageKind::done) {
            auto message = socket_.receive(0);
            if (!message) {
                if (message.error().code == ErrorCode::interrupted) return {};
                return std::move(message).error();
            }
            inbox.messages.push_back(std::move(*message));
        }
        // A worker has no more segments than these, and asks one question at a time.
        if (inbox.messages.size() > SharedArea::segments + 2) return nonsense();
        if (inbox.messages.back().kind != MessageKind::done) continue;
        inbox.emulated = true;
        inbox.listener.on_emulated();
    }
    return {};
}

Result<SampleOutcome> WorkerProcess::conclude(const WorkerSocket::Message& message) const {
    const auto done = body_of<DoneMessage>(message);
    if (!done || done->result.end >= SampleEnd::count) return nonsense();
    return SampleOutcome{done->result,
                         done->cpu,
                         done->counters,
                         {message.bytes.begin() + sizeof *done, message.bytes.end()},
                         done->exhausted != 0};
}

Result<void> WorkerProcess::begin_exact(const ExactRequest& request) {
    if (request.maps_text.size() > area_.mailbox().size())
        return Error{ErrorCode::unsupported, 0, "the program has too many memory mappings"};
    std::memcpy(area_.mailbox().data(), request.maps_text.data(), request.maps_text.size());
    const StartMessage start{request.cpu, request.limits, request.maps_text.size(), request.kind,
                             request.flipped};
    return socket_.send(MessageKind::start, start, std::as_bytes(request.changed),
                        request.memory_fd);
}

Result<std::variant<TraceSegment, SampleOutcome>> WorkerProcess::next_of_exact(int timeout_ms) {
    using Next = std::variant<TraceSegment, SampleOutcome>;
    TRY_ASSIGN(const auto message, socket_.receive(timeout_ms));
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

Result<TraceSegment> WorkerProcess::segment_of(const WorkerSocket::Message& message) const {
    const auto body = body_of<SegmentMessage>(message);
    if (!body || body->index >= SharedArea::segments || body->first_word > body->end_word ||
        body->end_word > SharedArea::segment_words)
        return nonsense();
    const auto* base = area_.segment(body->index).data();
    return TraceSegment{body->index, {base + body->first_word, base + body->end_word}};
}

Result<void> WorkerProcess::on_segment(const WorkerSocket::Message& message, Inbox& inbox) {
    TRY_ASSIGN(const auto segment, segment_of(message));
    for (auto words = segment.words; !words.empty();) {
        const auto slice = words.last(std::min<std::size_t>(words.size(), slice_words));
        inbox.listener.on_trace(slice, table());
        words = words.first(words.size() - slice.size());
        TRY(fetch_messages(inbox));
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
