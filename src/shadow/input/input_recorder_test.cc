#include "shadow/input/input_recorder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "guest_kernel/input/input_calls.h"
#include "ptrace/process/target.h"
#include "ptrace/test_support.h"

namespace shadowprof::input_recorder_test {
namespace {

struct Progress {
    std::atomic<std::uint64_t> reads{0};
    std::atomic<std::uint64_t> signals{0};
    std::atomic<bool> go{false}, stop{false};
};
Shared<Progress>* progress;  // for signal handlers

// Called in the traced process; counts as the first signal.
void handle_sigusr1(void (*handler)(int), int flags) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    ::sigaction(SIGUSR1, &action, nullptr);
    ++(*progress)->signals;
}

// Keeps the calls that the target made, as a sample would ask for them.
class Tee final : public SyscallWatcher {
  public:
    explicit Tee(InputRecorder& recorder) : recorder_(recorder) {}
    bool watches(pid_t tid) const override { return recorder_.watches(tid); }
    void on_syscall_stop(const StoppedThread& thread) override {
        const auto stop = read_syscall_stop(thread);
        if (stop && stop->is_entry)
            calls.push_back({.number = static_cast<std::uint32_t>(stop->number),
                             .arguments = stop->arguments,
                             .instruction_end = stop->instruction_end.value,
                             .stack = stop->stack.value});
        recorder_.on_syscall_stop(thread);
    }
    void on_signal(pid_t tid, int signal) override { recorder_.on_signal(tid, signal); }
    void on_thread_end(pid_t tid) override { recorder_.on_thread_end(tid); }

    // The last call of this number that the target made.
    InputCall last(std::uint32_t number) const {
        for (auto it = calls.rbegin(); it != calls.rend(); ++it)
            if (it->number == number) return *it;
        FAIL("no such call");
        return {};
    }
    std::vector<InputCall> calls;

  private:
    InputRecorder& recorder_;
};

struct Pipe {
    Pipe() { REQUIRE(::pipe(ends) == 0); }
    ~Pipe() {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    void send(std::string_view text) {
        REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }
    int ends[2];
};

// A child under a recorder.
class Traced {
  public:
    explicit Traced(const std::function<int()>& body) : child_(hub_, body) {
        auto target = Target::attach(hub_, child_.pid());
        target_ = std::move(need(target));
        target_->watch_syscalls(&tee);
    }
    InputRecorder::Lease record(std::uint64_t max_stops = 1'000'000) {
        auto stop = target_->stop();
        need(stop);
        const pid_t tid = child_.pid();
        return recorder.record(std::span(&tid, 1), max_stops);
    }
    bool until(const std::function<bool()>& condition) {
        return pump_until(hub_, *target_, condition);
    }
    pid_t pid() const { return child_.pid(); }
    bool end() { return pump_to_end(hub_, *target_); }

    InputRecorder recorder;
    Tee tee{recorder};

  private:
    TestHub hub_;
    Child child_;
    std::unique_ptr<Target> target_;
};

std::string text_of(const Result<std::shared_ptr<const RecordedInput>>& input) {
    if (!input) return "(" + input.error().message + ")";
    std::string text;
    for (const MemoryBytes& part : (*input)->written)
        text.append(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
    return text;
}

bool is_cut(const InputRecorder::Lease& lease, pid_t tid) {
    return !lease.recording()->wants(tid);
}

// Reads a byte at a time.
int read_bytes(Progress& progress_of, int fd) {
    static char byte;
    while (!progress_of.stop)
        if (::syscall(SYS_read, fd, &byte, 1) == 1) ++progress_of.reads;
    return 0;
}

}  // namespace

TEST_CASE("what a program reads from a pipe is recorded, what it reads from files is not") {
    Shared<Progress> shared;
    Pipe pipe;
    Traced traced([&] {
        static char bytes[16];
        const int file = ::open("/proc/self/exe", O_RDONLY);
        const int zero = ::open("/dev/zero", O_RDONLY);
        while (!shared->stop) {
            ::read(file, bytes, 7);
            ::read(zero, bytes, 7);
            ::read(99, bytes, 7);
            if (::read(pipe.ends[0], bytes, sizeof bytes) > 0) ++shared->reads;
        }
        return 0;
    });
    pipe.send("before");
    REQUIRE(traced.until([&] { return shared->reads == 1; }));
    const auto lease = traced.record();
    pipe.send("first");
    REQUIRE(traced.until([&] { return shared->reads == 2; }));
    pipe.send("second");
    REQUIRE(traced.until([&] { return shared->reads == 3; }));
    const InputCall call = traced.tee.last(SYS_read);
    InputCall asked = call;
    asked.arguments[0] = static_cast<std::uint64_t>(pipe.ends[0]);
    asked.arguments[2] = 16;
    auto first = lease.recording()->take(traced.pid(), asked);
    // Only its place tells which of the loop's calls this is.
    for (std::size_t i = traced.tee.calls.size(); !first && i-- > 0;)
        if (traced.tee.calls[i].arguments[0] == asked.arguments[0])
            first = lease.recording()->take(traced.pid(), asked = traced.tee.calls[i]);
    CHECK(text_of(first) == "first");
    CHECK(text_of(lease.recording()->take(traced.pid(), asked)) == "second");
    CHECK(traced.recorder.totals().calls == 2);
    CHECK(traced.recorder.totals().bytes > 11);
    CHECK(traced.recorder.totals().stops >= traced.recorder.totals().calls * 2);
    CHECK(!is_cut(lease, traced.pid()));
}

TEST_CASE("each recording begins with its own snapshot and ends with its lease") {
    Shared<Progress> shared;
    Pipe pipe;
    Traced traced([&] { return read_bytes(*shared, pipe.ends[0]); });
    std::optional<InputRecorder::Lease> first(traced.record());
    pipe.send("a");
    REQUIRE(traced.until([&] { return shared->reads == 1; }));
    auto second = traced.record();
    pipe.send("b");
    REQUIRE(traced.until([&] { return shared->reads == 2; }));
    const InputCall call = traced.tee.last(SYS_read);
    CHECK(text_of(first->recording()->take(traced.pid(), call)) == "a");
    CHECK(text_of(first->recording()->take(traced.pid(), call)) == "b");
    CHECK(text_of(second.recording()->take(traced.pid(), call)) == "b");
    const auto recording = first->recording();
    first.reset();
    CHECK(!recording->wants(traced.pid()));
    CHECK(traced.recorder.watches(traced.pid()));
    { const InputRecorder::Lease ends_here = std::move(second); }
    CHECK(!traced.recorder.watches(traced.pid()));
    const auto stops = traced.recorder.totals().stops;
    for (std::uint64_t reads = 3; reads < 10; ++reads) {
        pipe.send("c");
        REQUIRE(traced.until([&] { return shared->reads == reads; }));
    }
    CHECK(traced.recorder.totals().stops <= stops + 1);
}

TEST_CASE("a recording ends after so many stops, and what it has can still be taken") {
    Shared<Progress> shared;
    Pipe pipe;
    Traced traced([&] { return read_bytes(*shared, pipe.ends[0]); });
    constexpr std::uint64_t max_stops = 8;
    const auto lease = traced.record(max_stops);
    for (std::uint64_t reads = 1; reads < 20; ++reads) {
        pipe.send("c");
        REQUIRE(traced.until([&] { return shared->reads == reads; }));
    }
    CHECK(!traced.recorder.watches(traced.pid()));
    CHECK(traced.recorder.totals().stops >= max_stops);
    CHECK(traced.recorder.totals().stops <= max_stops + 1);
    const InputCall call = traced.tee.last(SYS_read);
    std::uint64_t taken = 0;
    while (text_of(lease.recording()->take(traced.pid(), call)) == "c") ++taken;
    CHECK(taken > 0);
    CHECK(taken <= max_stops / 2);
}

TEST_CASE("a call that a stop interrupts is recorded once, when it is done") {
    Shared<Progress> shared;
    Pipe pipe;
    Traced traced([&] { return read_bytes(*shared, pipe.ends[0]); });
    const auto first = traced.record();
    for (int i = 0; i < 20; ++i) {
        const auto another = traced.record();
        const auto stops = traced.recorder.totals().stops;
        REQUIRE(traced.until([&] { return traced.recorder.totals().stops > stops; }));
    }
    pipe.send("a");
    REQUIRE(traced.until([&] { return shared->reads == 1; }));
    CHECK(traced.recorder.totals().calls == 1);
    CHECK(text_of(first.recording()->take(traced.pid(), traced.tee.last(SYS_read))) == "a");
    CHECK(!is_cut(first, traced.pid()));
}

TEST_CASE("a handler that reads nothing does not end the recording of a call that it restarts") {
    Shared<Progress> shared;
    progress = &shared;
    Pipe pipe;
    Traced traced([&] {
        handle_sigusr1([](int) { ++(*progress)->signals; }, SA_RESTART);
        return read_bytes(*shared, pipe.ends[0]);
    });
    REQUIRE(traced.until([&] { return shared->signals == 1; }));
    const auto lease = traced.record();
    REQUIRE(traced.until([&] { return !traced.tee.calls.empty(); }));
    for (std::uint64_t signals = 2; signals < 10; ++signals) {
        ::kill(traced.pid(), SIGUSR1);
        REQUIRE(traced.until([&] { return shared->signals == signals; }));
    }
    pipe.send("a");
    REQUIRE(traced.until([&] { return shared->reads == 1; }));
    CHECK(text_of(lease.recording()->take(traced.pid(), traced.tee.last(SYS_read))) == "a");
    CHECK(!is_cut(lease, traced.pid()));
    CHECK(traced.recorder.totals().calls == 1);
}

TEST_CASE("a call that a signal ends cuts the recording") {
    Shared<Progress> shared;
    progress = &shared;
    Pipe pipe;
    Traced traced([&] {
        handle_sigusr1([](int) { ++(*progress)->signals; }, 0);
        return read_bytes(*shared, pipe.ends[0]);
    });
    REQUIRE(traced.until([&] { return shared->signals == 1; }));
    const auto lease = traced.record();
    pipe.send("a");
    REQUIRE(traced.until([&] { return shared->reads == 1; }));
    REQUIRE(traced.until([&] { return traced.tee.calls.size() == 2; }));
    const InputCall call = traced.tee.last(SYS_read);
    ::kill(traced.pid(), SIGUSR1);
    REQUIRE(traced.until([&] { return shared->signals == 2; }));
    // The program calls at the same place again, but the sample's next call is the one that failed.
    pipe.send("b");
    REQUIRE(traced.until([&] { return shared->reads == 2; }));
    CHECK(text_of(lease.recording()->take(traced.pid(), call)) == "a");
    CHECK(!lease.recording()->take(traced.pid(), call));
    CHECK(is_cut(lease, traced.pid()));
}

TEST_CASE("a handler that reads cuts the recording") {
    Shared<Progress> shared;
    static Pipe* handlers;
    Pipe pipe, of_handler;
    progress = &shared;
    handlers = &of_handler;
    Traced traced([&] {
        const auto read_in_handler = [](int) {
            char byte = 0;
            ++(*progress)->signals;
            if (::read(handlers->ends[0], &byte, 1) == 1) ++(*progress)->signals;
        };
        handle_sigusr1(read_in_handler, SA_RESTART);
        return read_bytes(*shared, pipe.ends[0]);
    });
    REQUIRE(traced.until([&] { return shared->signals == 1; }));
    const auto lease = traced.record();
    of_handler.send("h");
    ::kill(traced.pid(), SIGUSR1);
    REQUIRE(traced.until([&] { return shared->signals == 3; }));
    CHECK(is_cut(lease, traced.pid()));
    CHECK(traced.recorder.totals().calls == 0);
}

TEST_CASE("a signal that no handler waits for does not matter") {
    Shared<Progress> shared;
    Pipe pipe;
    Traced traced([&] { return read_bytes(*shared, pipe.ends[0]); });
    const auto lease = traced.record();
    REQUIRE(traced.until([&] { return !traced.tee.calls.empty(); }));
    for (int i = 0; i < 5; ++i) ::kill(traced.pid(), SIGCHLD);
    pipe.send("a");
    REQUIRE(traced.until([&] { return shared->reads == 1; }));
    CHECK(text_of(lease.recording()->take(traced.pid(), traced.tee.last(SYS_read))) == "a");
    CHECK(!is_cut(lease, traced.pid()));
}

TEST_CASE("an accepted connection is described") {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    // Binds to an address that the kernel chooses.
    REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address.sun_family) ==
            0);
    REQUIRE(::listen(listener, 4) == 0);
    socklen_t size = sizeof address;
    REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    Shared<Progress> shared;
    Traced traced([&] {
        while (!shared->go) {
        }
        while (!shared->stop)
            if (::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC) >= 0)
                ++shared->reads;
        return 0;
    });
    const auto lease = traced.record();
    shared->go = true;  // a thread that sleeps in accept already would be left alone, and not seen
    const int client = ::socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(::connect(client, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(traced.until([&] { return shared->reads == 1; }));
    const auto input = lease.recording()->take(traced.pid(), traced.tee.last(SYS_accept4));
    REQUIRE(input);
    REQUIRE((*input)->descriptors.size() == 1);
    const NewDescriptor& made = (*input)->descriptors[0];
    CHECK(made.fd == (*input)->value);
    CHECK(S_ISSOCK(made.facts.status.mode));
    CHECK((made.facts.flags & O_NONBLOCK) != 0);
    CHECK(made.facts.close_on_exec);
    ::close(client);
    ::close(listener);
}

TEST_CASE("a new program and the end of the thread end the recording") {
    for (const bool executes : {true, false}) {
        CAPTURE(executes);
        Pipe pipe;
        Traced traced([&] {
            char byte = 0;
            if (::read(pipe.ends[0], &byte, 1) != 1) return 1;
            if (executes) ::execl("/bin/true", "true", nullptr);
            return 0;
        });
        const auto lease = traced.record();
        pipe.send("a");
        REQUIRE(traced.end());
        CHECK(is_cut(lease, traced.pid()));
    }
}

}  // namespace shadowprof::input_recorder_test
