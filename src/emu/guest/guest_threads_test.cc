#include "emu/guest/guest_threads.h"

#include <doctest/doctest.h>

#include <map>

#include "emu/test_guest.h"

namespace shadowprof::guest_threads_test {

extern "C" {
std::uint64_t test_counter(std::uint64_t iterations);
std::uint64_t test_syscall();
}

namespace {

using Index = GuestThreads::Index;

GuestThreads some_threads(std::size_t count) {
    GuestThreads threads(CpuState{});
    for (std::size_t i = 1; i < count; ++i) threads.add({}, true);
    return threads;
}

// Runs turns of up to `most` instructions until no thread goes on. Returns how many each executed.
std::map<Index, std::uint64_t> run(GuestThreads& threads, std::uint64_t most) {
    std::map<Index, std::uint64_t> executed;
    while (threads.next()) {
        while (!threads.is_turn_over()) {
            const auto part = std::min(most, threads.turn_left());
            executed[threads.current()] += part;
            threads.ran(part);
        }
    }
    return executed;
}

class PartsSink final : public TraceSink {
  public:
    TraceBuffer acquire() override { return memory_.buffer(); }
    void submit(std::span<const std::uint64_t> words, Index thread) override {
        order.push_back(thread);
        if (turns_.empty() || turns_.back().first != thread) turns_.emplace_back(thread, 0);
        turns_.back().second += words.size();
        auto& list = words_of[thread];
        list.insert(list.end(), words.rbegin(), words.rend());
    }

    // Which thread had how many words, whatever parts they came in.
    std::vector<std::pair<Index, std::size_t>> turns() const { return turns_; }

    std::map<Index, std::vector<std::uint64_t>> words_of;
    std::vector<Index> order;

  private:
    TraceMemory memory_{1 << 16};
    std::vector<std::pair<Index, std::size_t>> turns_;
};

}  // namespace

TEST_CASE("threads come equally far, for as long as a processor takes") {
    auto threads = some_threads(4);
    threads.begin({.instructions = 1'000'000, .processors = 4, .seed = 1});
    const auto executed = run(threads, 1'000'000);
    CHECK(threads.end() == SampleEnd::size);
    REQUIRE(executed.size() == 4);
    for (const auto& [thread, count] : executed) {
        CHECK(count > 920'000);
        CHECK(count < 1'080'000);
    }
    CHECK(threads.time() > 998'000);
}

TEST_CASE("threads share processors") {
    auto threads = some_threads(4);
    threads.begin({.instructions = 1'000'000, .processors = 2, .seed = 1});
    for (const auto& [thread, count] : run(threads, 10'000)) CHECK(count < 580'000);
    CHECK(threads.end() == SampleEnd::size);
}

TEST_CASE("who stops has executed beside the others until then") {
    auto threads = some_threads(2);
    threads.begin({.instructions = 1'000'000, .processors = 2, .seed = 1});
    REQUIRE(threads.next());
    threads.wait();
    threads.ran(1000);
    CHECK(threads.time() == 500);
}

TEST_CASE("a thread alone has one long turn") {
    auto threads = some_threads(1);
    threads.begin({.instructions = 1'000'000, .processors = 8, .seed = 1});
    REQUIRE(threads.next());
    CHECK(threads.turn_left() == 1'000'000);
    threads.ran(500'000);
    CHECK_FALSE(threads.is_turn_over());
    CHECK(threads.time() == 500'000);
}

TEST_CASE("who waits takes part from the time that it is woken") {
    auto threads = some_threads(1);
    const auto sleeper = threads.add({}, false);
    REQUIRE(sleeper);
    threads.begin({.instructions = 1'000'000, .processors = 2, .seed = 1});
    REQUIRE(threads.next());
    threads.ran(600'000);
    CHECK(threads.waits(*sleeper));
    threads.wake(*sleeper, -11);
    CHECK(threads.cpu(*sleeper)[Gpr::rax] == static_cast<std::uint64_t>(-11));
    const auto executed = run(threads, 10'000);
    CHECK(executed.at(*sleeper) > 350'000);
    CHECK(executed.at(*sleeper) < 450'000);
}

TEST_CASE("a slow thread executes less in the same time") {
    auto threads = some_threads(1);
    threads.add({}, true, 4 * GuestThreads::usual_pace);
    threads.begin({.instructions = 1'000'000, .processors = 2, .seed = 1});
    const auto executed = run(threads, 1'000);
    CHECK(executed.at(0) > 920'000);
    CHECK(executed.at(0) < 1'080'000);
    CHECK(executed.at(1) > 230'000);
    CHECK(executed.at(1) < 270'000);
    CHECK(threads.of_lead().instructions == executed.at(0) + executed.at(1));
    CHECK(threads.of_lead().time == executed.at(0) + 4 * executed.at(1));
}

TEST_CASE("a run of the first thread is as long as that takes") {
    auto threads = some_threads(3);
    threads.begin(
        {.instructions = 1'000'000, .processors = 2, .seed = 1, .lead = GuestThreads::Lead::first});
    REQUIRE(threads.next());
    CHECK(threads.current() == 0);
    const auto executed = run(threads, 10'000);
    CHECK(threads.end() == SampleEnd::size);
    CHECK(executed.at(0) > 990'000);
    CHECK(executed.at(0) <= 1'000'000);
    CHECK(threads.of_lead().instructions == executed.at(0));
    // The other threads together execute a quarter as much.
    const auto others = executed.at(1) + executed.at(2);
    CHECK(others > 200'000);
    CHECK(others < 300'000);
}

TEST_CASE("while the first thread waits, time passes for the others") {
    auto threads = some_threads(2);
    threads.begin(
        {.instructions = 1'000'000, .processors = 2, .seed = 1, .lead = GuestThreads::Lead::first});
    REQUIRE(threads.next());
    threads.ran(100'000);
    threads.wait();
    REQUIRE(threads.next());
    CHECK(threads.current() == 1);
    threads.ran(50'000);
    CHECK(threads.time() == 150'000);
    threads.wake(0, 0);
    threads.ran(50'000);
    CHECK(threads.time() == 150'000);
    REQUIRE(threads.next());
    CHECK(threads.current() == 0);
    threads.stop(SampleEnd::exit);
    CHECK_FALSE(threads.next());
    CHECK(threads.end() == SampleEnd::exit);
}

TEST_CASE("why no thread goes on") {
    auto threads = some_threads(2);
    threads.begin({.instructions = 1'000'000, .processors = 2, .seed = 1});
    REQUIRE(threads.next());
    const auto first = threads.current();
    threads.wait();
    CHECK(threads.is_turn_over());
    REQUIRE(threads.next());
    CHECK(threads.current() != first);
    threads.stop(SampleEnd::input);
    CHECK_FALSE(threads.next());
    CHECK(threads.end() == SampleEnd::input);

    auto one = some_threads(1);
    one.begin({.instructions = 1'000'000, .processors = 1, .seed = 1});
    REQUIRE(one.next());
    one.stop(SampleEnd::exit);
    CHECK(one.end() == SampleEnd::exit);
    one.add({}, false);
    CHECK(one.end() == SampleEnd::idle);
}

TEST_CASE("who yields lets others go first") {
    auto threads = some_threads(2);
    threads.begin({.instructions = 1'000'000, .processors = 2, .seed = 1});
    REQUIRE(threads.next());
    for (int i = 0; i < 10; ++i) {
        const auto before = threads.current();
        threads.ran(10);
        threads.yield();
        CHECK(threads.is_turn_over());
        REQUIRE(threads.next());
        CHECK(threads.current() != before);
    }
}

TEST_CASE("lasting threads go on in the midst of a turn") {
    const auto turns_of = [](bool interrupted) {
        auto threads = some_threads(3);
        const GuestThreads::Run limits{
            .instructions = 1 << 30, .seed = 7, .mean_turn = 10'000, .lasting_threads = true};
        threads.begin(limits);
        std::vector<std::pair<Index, std::uint64_t>> turns;
        while (turns.size() < 20 && threads.next()) {
            if (turns.empty() || turns.back().first != threads.current())
                turns.emplace_back(threads.current(), 0);
            CHECK(threads.counts_turns());
            threads.ran(777);
            turns.back().second += 777;
            if (interrupted) threads.begin(limits);
        }
        return turns;
    };
    const auto turns = turns_of(false);
    CHECK(turns.size() == 20);
    for (const auto& [thread, instructions] : turns) CHECK(instructions <= 16'000);
    CHECK(turns_of(true) == turns);
}

TEST_CASE("a lasting thread takes the place of one that has ended") {
    auto threads = some_threads(2);
    threads.begin({.instructions = 1 << 30, .lasting_threads = true});
    REQUIRE(threads.next());
    const auto ended = threads.current();
    threads.stop(SampleEnd::exit);
    REQUIRE(threads.next());
    CHECK(threads.add({}, true) == ended);
    CHECK(threads.add({}, true) == 2);
    CHECK(threads.size() == 3);
}

TEST_CASE("turns of lasting threads end while the kernel makes a call") {
    auto threads = some_threads(2);
    threads.begin(
        {.instructions = 1 << 30, .seed = 1, .mean_turn = 10'000, .lasting_threads = true});
    REQUIRE(threads.next());
    const auto caller = threads.current();
    threads.enter_call();
    CHECK(threads.has_calls());
    REQUIRE(threads.next());
    CHECK(threads.turn_left() <= 15'000);
    threads.ran(threads.turn_left());
    CHECK(threads.is_turn_over());
    threads.wake(caller, 5);
    CHECK_FALSE(threads.has_calls());
    CHECK(threads.cpu(caller)[Gpr::rax] == 5);
    threads.stop(SampleEnd::exit);
    REQUIRE(threads.next());
    CHECK(threads.current() == caller);
    threads.wait();
    CHECK_FALSE(threads.runs_any());
}

TEST_CASE("there is an end to threads") {
    auto threads = some_threads(GuestThreads::max_threads);
    CHECK(threads.size() == GuestThreads::max_threads);
    CHECK_FALSE(threads.add({}, true));
}

TEST_CASE("an emulator runs threads in turns over one memory, their traces apart") {
    TestGuest guest;
    guest.call(reinterpret_cast<const void*>(test_counter), 1);  // prepares registers and a stack
    alignas(16) static std::byte stacks[3][4096];
    GuestThreads threads;
    for (std::uint64_t i = 0; i < 3; ++i) {
        CpuState cpu = guest.cpu;
        cpu.rip = {reinterpret_cast<std::uint64_t>(test_counter)};
        cpu[Gpr::rdi] = 100'000 + i;
        auto* const top = stacks[i] + sizeof stacks[i] - 8;
        std::memcpy(top, &TestGuest::return_address, sizeof TestGuest::return_address);
        cpu[Gpr::rsp] = reinterpret_cast<std::uint64_t>(top);
        threads.add(cpu, true);
    }
    PartsSink sink;
    const auto result = guest.run(threads, sink);
    // A thread that returns faults there, which ends the run.
    REQUIRE(TestGuest::returned(result));
    CHECK(sink.words_of.size() == 3);
    CHECK(sink.order.size() > 6);
    std::map<Index, std::uint64_t> instructions;
    for (const auto& [thread, words] : sink.words_of)
        for (const auto word : words) instructions[thread] += guest.block(word).instructions;
    for (const auto& [thread, count] : instructions) {
        CHECK(count + 100'000 > instructions.at(threads.current()));
        CHECK(count < instructions.at(threads.current()) + 100'000);
    }
}

namespace {

// Two that count and then return to TestGuest::return_address.
GuestThreads counting_threads(const TestGuest& guest) {
    alignas(16) static std::byte stacks[2][4096];
    GuestThreads threads;
    for (auto& stack : stacks) {
        CpuState cpu = guest.cpu;
        cpu.rip = {reinterpret_cast<std::uint64_t>(test_counter)};
        cpu[Gpr::rdi] = 300'000;
        auto* const top = stack + sizeof stack - 8;
        std::memcpy(top, &TestGuest::return_address, sizeof TestGuest::return_address);
        cpu[Gpr::rsp] = reinterpret_cast<std::uint64_t>(top);
        threads.add(cpu, true);
    }
    return threads;
}

// Runs them as threads that last, and cuts their turns if asked for. Returns the number of runs.
std::size_t run_lasting(PartsSink& sink, std::uint64_t seed, bool cuts) {
    TestGuest guest;
    guest.call(reinterpret_cast<const void*>(test_counter), 1);
    auto threads = counting_threads(guest);
    guest.limits = {.instructions = RunLimits::unlimited,
                    .mean_turn = 20'000,
                    .lasting_threads = true,
                    .until_ns = cuts ? 0 : RunLimits::any_time,
                    .seed = seed};
    auto result = guest.run(threads, sink);
    std::size_t runs = 1;
    for (; result.end == SampleEnd::size; ++runs) {
        guest.limits.turn_words = runs % 4 != 0 ? 1 + 7 * runs % 300 : 0;
        result = guest.run_on(threads, sink);
    }
    REQUIRE(TestGuest::returned(result));
    return runs;
}

}  // namespace

TEST_CASE("emulators switch lasting threads at the same instructions") {
    const auto order_of = [&](std::uint64_t seed) {
        PartsSink sink;
        REQUIRE(run_lasting(sink, seed, false) == 1);
        return std::pair(sink.order, sink.words_of);
    };
    const auto order = order_of(1);
    CHECK(order.first.size() > 20);
    CHECK(order_of(1) == order);
    CHECK(order_of(2) != order);
}

TEST_CASE("cut turns of lasting threads go on as if they had not been cut") {
    const auto turns_of = [](bool cuts) {
        PartsSink sink;
        CHECK(cuts == (run_lasting(sink, 1, cuts) > 20));
        return sink.turns();
    };
    CHECK(turns_of(true) == turns_of(false));
}

TEST_CASE("a thread that a system call stops leaves the others running") {
    TestGuest guest;
    guest.call(reinterpret_cast<const void*>(test_counter), 1);
    GuestThreads threads;
    CpuState caller = guest.cpu, counter = guest.cpu;
    caller.rip = {reinterpret_cast<std::uint64_t>(test_syscall)};
    counter.rip = {reinterpret_cast<std::uint64_t>(test_counter)};
    counter[Gpr::rdi] = 1'000'000'000;
    threads.add(caller, true);
    threads.add(counter, true);
    guest.limits.instructions = 1'000'000;
    PartsSink sink;
    const auto result = guest.run(threads, sink);
    CHECK(result.end == SampleEnd::size);
    CHECK(result.syscalls == 1);
    CHECK(result.instructions > 900'000);
}

}  // namespace shadowprof::guest_threads_test
