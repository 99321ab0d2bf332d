// Worker processes: this test program starts itself as a worker.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <array>
#include <cstring>
#include <set>

#include "base/clock.h"
#include "emu/worker/own_place.h"
#include "emu/worker/test_worker.h"
#include "emu/worker/worker_main.h"

namespace shadowprof::worker_test {
namespace {

// Asks the supervisor at every system call, and reports how many there were.
class AskingSyscalls final : public SampleSyscalls {
    struct Handler final : SyscallHandler {
        explicit Handler(OutsideChannel& channel) : outside(channel) {}
        std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace&,
                                            std::uint64_t) override {
            ++calls;
            auto& cpu = threads.cpu();
            const auto number = static_cast<std::uint64_t>(cpu[Gpr::rax]);
            const auto answer = outside.call(std::as_bytes(std::span(&number, 1)));
            if (!answer || answer->size() != sizeof number) return SampleEnd::unsafe_syscall;
            std::memcpy(&cpu[Gpr::rax], answer->data(), sizeof number);
            return std::nullopt;
        }
        std::optional<SampleEnd> on_vdso(VdsoFunction, GuestThreads&, GuestSpace&,
                                         std::uint64_t) override {
            return SampleEnd::unsafe_syscall;
        }
        OutsideChannel& outside;
        std::uint64_t calls = 0;
    };

  public:
    std::unique_ptr<SyscallHandler> begin(std::span<const std::byte>,
                                          OutsideChannel& outside) override {
        return std::make_unique<Handler>(outside);
    }
    std::unique_ptr<SyscallHandler> forward(const ProcessLinks& links) override {
        return std::make_unique<Handler>(links.outside);
    }
    std::vector<std::byte> report(const SyscallHandler& handler) override {
        const auto calls = std::as_bytes(std::span(&static_cast<const Handler&>(handler).calls, 1));
        return {calls.begin(), calls.end()};
    }
};

}  // namespace

TEST_CASE("a worker emulates samples one after the other") {
    TestWorker worker;
    const Snapshot snapshot(endless);
    for (int i = 0; i < 5; ++i) {
        Collecting listener;
        const auto outcome = worker->run_sample(snapshot.request(), listener);
        REQUIRE(outcome);
        CHECK(outcome->result.end == SampleEnd::size);
        CHECK(listener.unknown == 0);
        CHECK(listener.emulated == 1);
        CHECK(listener.instructions >= 990'000);
        CHECK(listener.instructions <= 1'010'000);
        // The code is translated once, for the first sample.
        CHECK((outcome->counters.translated_blocks == 0) == (i > 0));
    }
}

// If it could, the kernel would take a guest's access below it, to a page not yet mapped, for its
// growth: the guest would read zeros, and later what an earlier guest has written.
TEST_CASE("a worker's stack does not grow over guest memory") {
    constexpr rlim_t max_bytes = 8 << 20;
    TestWorker worker;
    const Snapshot snapshot(endless);
    Collecting listener;
    REQUIRE(worker->run_sample(snapshot.request(), listener));
    rlimit stack;
    REQUIRE(prlimit(worker->pid(), RLIMIT_STACK, nullptr, &stack) == 0);
    CHECK(stack.rlim_cur <= max_bytes);
}

TEST_CASE("a worker's place is lent by this process, and given back") {
    rlimit before, after;
    REQUIRE(getrlimit(RLIMIT_STACK, &before) == 0);
    {
        const OutOfTheWay place;
        if (before.rlim_max == RLIM_INFINITY) CHECK(place.is_taken());
        const OutOfTheWay second;
        CHECK(!second.is_taken());
    }
    TestWorker worker;
    REQUIRE(getrlimit(RLIMIT_STACK, &after) == 0);
    CHECK(after.rlim_cur == before.rlim_cur);
    CHECK(after.rlim_max == before.rlim_max);
}

TEST_CASE("more trace than all segments hold goes through") {
    TestWorker worker;
    const Snapshot snapshot(endless);
    Collecting listener;
    const auto outcome = worker->run_sample(snapshot.request(20'000'000), listener);
    REQUIRE(outcome);
    CHECK(listener.instructions >= 19'800'000);
    CHECK(listener.instructions <= 20'200'000);
}

TEST_CASE("what a snapshot shows when it stands still no longer is not taken") {
    // mov eax, [data]; mov ebx, [data + 0x8000]; jmp to itself
    constexpr std::array<std::uint8_t, 20> code = {0x8b, 0x05, 0xfa, 0xff, 0x00, 0x00, 0x8b,
                                                   0x1d, 0xf4, 0x7f, 0x01, 0x00, 0xeb, 0xfe};
    const Snapshot snapshot(code);
    TestWorker worker;
    auto request = snapshot.request(5000);
    // Nothing is read in time, then everything, then nothing again: pages are not kept either.
    for (const auto& [until_ns, end] :
         {std::pair{std::int64_t{1}, SampleEnd::time}, std::pair{INT64_MAX, SampleEnd::size},
          std::pair{std::int64_t{1}, SampleEnd::time}}) {
        Collecting listener;
        request.stands_still_until_ns = until_ns;
        const auto outcome = worker->run_sample(request, listener);
        REQUIRE(outcome);
        CHECK(outcome->result.end == end);
        CHECK((listener.instructions > 4000) == (end == SampleEnd::size));
        CHECK(listener.emulated == 1);
    }
}

// mov eax, 2^26; dec eax; jne to the dec; mov ecx, [data]; mov ecx, [data + 0x8000]; jmp to itself
constexpr std::array<std::uint8_t, 23> slow_to_its_data = {
    0xb8, 0x00, 0x00, 0x00, 0x04, 0xff, 0xc8, 0x75, 0xfc, 0x8b, 0x0d, 0xf1,
    0xff, 0x00, 0x00, 0x8b, 0x0d, 0xeb, 0x7f, 0x01, 0x00, 0xeb, 0xfe};

SampleRequest live_request(const Snapshot& snapshot) {
    auto request = snapshot.request(200'000'000);
    request.uses_pages_again = request.may_be_rehearsed = true;
    return request;
}

// Has the worker run a sample that its time cuts before the data: the loop before it takes any
// processor longer than 5 ms. On a busy machine the time may be over before the sample begins.
void cut_amid(TestWorker& worker, SampleRequest request) {
    for (std::uint64_t instructions = 0; instructions == 0;) {
        Collecting listener;
        request.stands_still_until_ns = read_clock_ns(CLOCK_MONOTONIC) + 5'000'000;
        const auto outcome = worker->run_sample(request, listener);
        REQUIRE(outcome);
        REQUIRE(outcome->result.end == SampleEnd::time);
        instructions = listener.instructions;
    }
}

TEST_CASE("a sample that was cut by its time is gone on with, for the next one") {
    const Snapshot snapshot(slow_to_its_data);
    TestWorker worker;
    auto request = live_request(snapshot);
    cut_amid(worker, request);
    const auto rehearsed = worker->rehearse(std::chrono::hours(1));
    REQUIRE(rehearsed);
    CHECK(rehearsed->instructions > 10'000'000);
    CHECK(rehearsed->nanoseconds > 0);
    CHECK(rehearsed->exhausted == 0);
    const auto nothing = worker->rehearse(std::chrono::hours(1));
    REQUIRE(nothing);
    CHECK(nothing->nanoseconds == 0);

    Collecting whole;
    request.stands_still_until_ns = 0;
    const auto next = worker->run_sample(request, whole);
    REQUIRE(next);
    CHECK(next->result.end == SampleEnd::size);
    CHECK(next->counters.translated_blocks == 0);
    CHECK(next->counters.pages_reread >= 2);  // the pages with data
}

TEST_CASE("a sample that was cut need not be gone on with") {
    const Snapshot snapshot(slow_to_its_data);
    TestWorker worker;
    auto request = live_request(snapshot);
    cut_amid(worker, request);
    const auto none = worker->rehearse(std::chrono::nanoseconds(0));
    REQUIRE(none);
    CHECK(none->nanoseconds == 0);
    cut_amid(worker, request);
    // Another sample begins without a rehearsal.
    cut_amid(worker, request);
    const auto short_one = worker->rehearse(std::chrono::milliseconds(1));
    REQUIRE(short_one);
    CHECK(short_one->nanoseconds > 0);
}

TEST_CASE("a sample is run again without its snapshot, to a state that it came by") {
    // loop: inc qword [data] ; inc rax ; jmp loop
    constexpr std::array<std::uint8_t, 12> code = {0x48, 0xff, 0x05, 0xf9, 0xff, 0x00,
                                                   0x00, 0x48, 0xff, 0xc0, 0xeb, 0xf4};
    constexpr std::uint64_t turns = 1000;
    TestWorker worker;
    std::optional<Snapshot> snapshot(std::in_place, code);
    auto request = snapshot->request(9000);
    const std::string maps(request.maps_text);
    request.maps_text = maps;
    request.uses_pages_again = request.records_pages = true;
    // At first there is no room for its pages.
    for (const bool is_whole : {false, true}) {
        Collecting listener;
        REQUIRE(worker->run_sample(request, listener));
        CHECK(worker->recorded_pages().has_value() == is_whole);
    }
    std::array<std::byte, page_bytes> page;
    const auto recorded = worker->recorded_pages();
    REQUIRE(recorded);
    REQUIRE(recorded->read({Snapshot::code_at}, page));
    CHECK(std::memcmp(page.data(), code.data(), code.size()) == 0);
    CHECK_FALSE(recorded->has({Snapshot::stack_top}));
    CHECK_FALSE(recorded->read({Snapshot::stack_top}, page));
    snapshot.reset();

    const auto run_again = [&](std::uint64_t rax, std::uint64_t in_memory) {
        AwaitedState awaited;
        awaited.cpu = request.cpu;
        awaited.cpu[Gpr::rax] = rax;
        REQUIRE(awaited.add_memory({Snapshot::data_at}, std::as_bytes(std::span(&in_memory, 1))));
        request.awaited = &awaited;
        const auto result = worker->run_again(request);
        REQUIRE(result);
        return result->result;
    };
    // It can be repeated: each time it begins with the memory that the sample began with.
    for (int i = 0; i < 3; ++i) {
        const auto met = run_again(turns, turns);
        CHECK(met.end == SampleEnd::met);
        CHECK(met.instructions == 3 * turns);
    }
    const auto other_memory = run_again(turns, turns + 1);
    CHECK(other_memory.end == SampleEnd::size);
    CHECK(other_memory.nearly_met);
    CHECK(run_again(1, turns).end == SampleEnd::size);
}

TEST_CASE("an answer that comes when the snapshot stands still no longer ends the sample") {
    constexpr std::array<std::uint8_t, 4> code = {0x0f, 0x05, 0xeb,
                                                  0xfe};  // syscall; jmp to itself
    const Snapshot snapshot(code);
    TestWorker worker;
    int requests = 0;
    // On a slow machine the first times are too short to ask in.
    for (unsigned time_us = 40'000; requests == 0 && time_us < 100'000'000; time_us *= 2) {
        Collecting slow;
        slow.answer_delay_us = time_us;
        auto request = snapshot.request(5000);
        request.stands_still_until_ns =
            read_clock_ns(CLOCK_MONOTONIC) + std::int64_t{time_us} * 1000;
        const auto outcome = worker->run_sample(request, slow);
        REQUIRE(outcome);
        CHECK(outcome->result.end == SampleEnd::time);
        CHECK(slow.instructions <= 1);
        requests = slow.requests;
    }
    CHECK(requests == 1);
}

TEST_CASE("questions are answered by the supervisor") {
    // mov eax, 77 ; syscall ; cmp eax, 77 ; je back to the start ; ud2
    constexpr std::array<std::uint8_t, 14> code = {0xb8, 77,   0,  0,    0,    0x0f, 0x05,
                                                   0x83, 0xf8, 77, 0x74, 0xf4, 0x0f, 0x0b};
    TestWorker worker;
    const Snapshot snapshot(code);
    Collecting listener;
    const auto outcome = worker->run_sample(snapshot.request(4000), listener);
    REQUIRE(outcome);
    CHECK(outcome->result.end == SampleEnd::size);
    CHECK(listener.requests > 900);
    REQUIRE(outcome->syscall_report.size() == 8);
    std::uint64_t calls = 0;
    std::memcpy(&calls, outcome->syscall_report.data(), sizeof calls);
    CHECK(calls == static_cast<std::uint64_t>(listener.requests));
}

TEST_CASE("what cannot be translated is stepped outside, with the dirty pages in place") {
    // mov [rsp - 8], rax ; int 0x80 ; inc rax ; jmp to the inc
    constexpr std::array<std::uint8_t, 12> code = {0x48, 0x89, 0x44, 0x24, 0xf8, 0xcd,
                                                   0x80, 0x48, 0xff, 0xc0, 0xeb, 0xfb};
    TestWorker worker;
    const Snapshot snapshot(code);
    Collecting listener;
    listener.step_length = 2;
    const auto outcome = worker->run_sample(snapshot.request(1000), listener);
    REQUIRE(outcome);
    CHECK(listener.steps == 1);
    CHECK(listener.dirty_pages >= 1);
    CHECK(outcome->result.end == SampleEnd::size);
    CHECK(outcome->result.single_stepped == 1);
}

TEST_CASE("a worker translates ahead what cannot change, and a sample finds it") {
    const Snapshot snapshot(endless);
    const std::array roots = {GuestAddress{Snapshot::code_at}};
    const auto prepare = [&](TestWorker& worker, std::string_view maps) {
        const auto prepared = worker->prepare({.maps_text = maps,
                                               .memory_fd = snapshot.request().memory_fd,
                                               .program_counters = roots,
                                               .bursts = {},
                                               .time = std::chrono::seconds(10)});
        REQUIRE(prepared);
        CHECK(prepared->has_more == 0);
        return prepared->instructions;
    };
    auto request = snapshot.request(100'000);
    request.limits.defers_superblocks = true;
    std::string constant(request.maps_text);
    constant.replace(constant.find("rwxp 0 0:0 0"), 12, "r-xp 0 8:1 7");
    {
        TestWorker worker;
        CHECK(prepare(worker, request.maps_text) == 0);
        CHECK(prepare(worker, "no mappings\n") == 0);
    }
    TestWorker worker;
    CHECK(prepare(worker, constant) == 2);
    CHECK(prepare(worker, constant) == 0);
    request.maps_text = constant;
    Collecting listener;
    const auto outcome = worker->run_sample(request, listener);
    REQUIRE(outcome);
    CHECK(outcome->result.end == SampleEnd::size);
    CHECK(outcome->counters.translated_instructions == 0);
    CHECK(outcome->counters.emulation_ns != 0);
    // This includes the superblock that the sample wanted.
    CHECK(prepare(worker, constant) > 2);
    request.forget_code = true;
    const auto anew = worker->run_sample(request, listener);
    REQUIRE(anew);
    CHECK(anew->counters.translated_instructions == 2);
}

TEST_CASE("a sample in haste is followed to its end, to a question, or for a time") {
    using enum WorkerProcess::Followed;
    using Clock = std::chrono::steady_clock;
    const auto later = Clock::now() + std::chrono::hours(1);
    const Snapshot snapshot(endless);
    // syscall ; jmp back
    const Snapshot asking(std::array<std::uint8_t, 4>{0x0f, 0x05, 0xeb, 0xfc});
    TestWorker worker;
    const auto begin = [&](const Snapshot& what) {
        auto request = what.request(100'000);
        request.stands_still_until_ns = std::chrono::nanoseconds(later.time_since_epoch()).count();
        REQUIRE(worker->begin_sample(request));
    };
    const auto follow = [&](Clock::time_point until) {
        std::set<GuestThreads::Index> threads;
        const auto followed = worker->follow_sample(until, [&](auto i) { threads.insert(i); });
        REQUIRE(followed);
        CHECK(threads.contains(0) == (*followed == to_the_end_of_emulation));
        return *followed;
    };
    const auto finish = [&] {
        Collecting listener;
        listener.announced = {0};
        const auto outcome = worker->finish_sample(listener);
        REQUIRE(outcome);
        CHECK(listener.emulated == 1);
        CHECK(listener.unknown == 0);
        CHECK(listener.instructions > 0);
    };
    begin(snapshot);
    CHECK(follow(later) == to_the_end_of_emulation);
    finish();
    begin(asking);
    CHECK(follow(later) == to_a_question);
    finish();
    begin(asking);
    CHECK(follow(Clock::time_point{}) != to_the_end_of_emulation);
    finish();
}

TEST_CASE("nonsense from the supervisor or its end ends a worker") {
    std::optional<TestWorker> worker(std::in_place);
    const Snapshot snapshot(endless);
    Collecting listener;
    auto request = snapshot.request();
    request.maps_text = "no mappings\n";
    const auto outcome = (*worker)->run_sample(request, listener);
    REQUIRE(outcome);
    CHECK(outcome->result.end == SampleEnd::worker_lost);
}

}  // namespace shadowprof::worker_test

// A worker of the test is the test itself with an argument.
int main(int argc, char** argv) {
    using namespace shadowprof;
    using namespace shadowprof::worker_test;
    if (argc == 2 && std::strcmp(argv[1], worker_argument) == 0) {
        AskingSyscalls syscalls;
        return run_worker(syscalls, argv);
    }
    return doctest::Context(argc, argv).run();
}
