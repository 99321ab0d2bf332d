#include "guest_kernel/input/input_recording.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <thread>

namespace shadowprof::input_recording_test {
namespace {

constexpr pid_t tid = 100, other_tid = 101;
constexpr std::array tids{tid, other_tid};

InputCall read_call(std::uint64_t fd = 3) {
    return {.number = SYS_read,
            .arguments = {fd, 0x7000, 100},
            .instruction_end = 0x401000,
            .stack = 0x7fff0000};
}

std::shared_ptr<const RecordedInput> input(std::int64_t value, std::size_t bytes = 0,
                                           const InputCall& call = read_call()) {
    auto input = std::make_shared<RecordedInput>();
    input->call = call;
    input->value = value;
    input->written = {{{0x7000}, std::vector<std::byte>(bytes)}};
    return input;
}

}  // namespace

TEST_CASE("each thread gets its own inputs, in their order, once") {
    InputRecording recording(tids);
    recording.add(tid, input(1));
    recording.add(other_tid, input(2));
    recording.add(tid, input(3));
    CHECK((*recording.take(tid, read_call()))->value == 1);
    CHECK((*recording.take(tid, read_call()))->value == 3);
    CHECK((*recording.take(other_tid, read_call()))->value == 2);
    CHECK(recording.take(tid, read_call()).error().code == ErrorCode::interrupted);
    CHECK(recording.take(999, read_call()).error().code == ErrorCode::unsupported);
}

TEST_CASE("another call than the program's gets nothing") {
    const auto refused = [](const InputCall& recorded, const InputCall& asked) {
        InputRecording recording(tids);
        recording.add(tid, input(1, 0, recorded));
        const auto taken = recording.take(tid, asked);
        return !taken && taken.error().code == ErrorCode::unsupported;
    };
    InputCall other = read_call();
    CHECK(!refused(read_call(), other));
    other.arguments[5] = 7;  // read(2) has three arguments
    CHECK(!refused(read_call(), other));
    CHECK(refused(read_call(), read_call(4)));
    other = read_call();
    other.arguments[2] = 99;
    CHECK(refused(read_call(), other));
    other = read_call();
    other.number = SYS_readv;
    CHECK(refused(read_call(), other));
    other = read_call();
    other.instruction_end = 0x401001;
    CHECK(refused(read_call(), other));
    other = read_call();
    other.stack -= 16;
    CHECK(refused(read_call(), other));
}

TEST_CASE("time-outs need not be the same, but as patient") {
    const auto same = [](std::int32_t recorded, std::int32_t asked) {
        InputRecording recording(tids);
        InputCall call{.number = SYS_poll,
                       .arguments = {0x7000, 1, static_cast<std::uint32_t>(recorded)}};
        recording.add(tid, input(1, 0, call));
        call.arguments[2] = static_cast<std::uint32_t>(asked);
        return recording.take(tid, call).has_value();
    };
    CHECK(same(100, 99));
    CHECK(same(-1, -1));
    CHECK(same(0, 0));
    CHECK(!same(0, 100));
    CHECK(!same(-1, 100));
}

TEST_CASE("what came before a cut is still given, what comes behind it is not") {
    InputRecording recording(tids);
    recording.add(tid, input(1));
    recording.cut(tid);
    CHECK(!recording.wants(tid));
    CHECK(recording.wants(other_tid));
    recording.add(tid, input(2));
    recording.cut(999);
    CHECK(recording.take(tid, read_call()));
    CHECK(recording.take(tid, read_call()).error().code == ErrorCode::unsupported);
}

TEST_CASE("a recording that is full ends, for all threads") {
    InputRecording recording(tids);
    int added = 0;
    for (; recording.wants(tid) && added < 100; ++added) recording.add(tid, input(1, 1 << 20));
    CHECK(added == 16);  // the last one did not fit
    CHECK(!recording.wants(other_tid));
    int taken = 0;
    while (recording.take(tid, read_call())) ++taken;
    CHECK(taken == 15);
}

TEST_CASE("what was taken makes room") {
    InputRecording recording(tids);
    for (int i = 0; i < 100; ++i) {
        recording.add(tid, input(i, 1 << 20));
        CHECK((*recording.take(tid, read_call()))->value == i);
    }
    CHECK(recording.wants(tid));
}

TEST_CASE("a sample that is ahead of the program waits for it, and is woken by the end") {
    InputRecording recording(tids);
    std::thread tracer([&] { recording.add(tid, input(7)); });
    // When its patience is used up it no longer waits, but still gets what has come.
    auto taken = recording.take(tid, read_call());
    while (!taken && taken.error().code == ErrorCode::interrupted)
        taken = recording.take(tid, read_call());
    tracer.join();
    REQUIRE(taken);
    CHECK((*taken)->value == 7);
    std::thread ender([&] { recording.cut_all(); });
    for (int i = 0; i < 100 && recording.wants(tid); ++i) CHECK(!recording.take(tid, read_call()));
    ender.join();
    CHECK(recording.take(tid, read_call()).error().code == ErrorCode::unsupported);
}

TEST_CASE("a sample does not wait for ever") {
    InputRecording recording(tids);
    // Far more calls than its patience allows; each ends by itself.
    for (int i = 0; i < 1000; ++i)
        CHECK(recording.take(tid, read_call()).error().code == ErrorCode::interrupted);
}

TEST_CASE("adding and taking go on at the same time") {
    InputRecording recording(tids);
    constexpr int many = 20'000;
    std::atomic<int> taken{0};
    std::thread tracer([&] {
        for (int i = 0; i < many; ++i) {
            recording.add(tid, input(i));
            // The tracer runs ahead, but not too far: a full recording ends.
            while (i - taken > 1000) std::this_thread::yield();
        }
        recording.cut(tid);
    });
    while (recording.wants(tid) || taken < many) {
        const auto got = recording.take(tid, read_call());
        if (got && (*got)->value != taken++) break;
        if (!got && got.error().code == ErrorCode::unsupported) break;
    }
    tracer.join();
    CHECK(taken == many);
}

}  // namespace shadowprof::input_recording_test
