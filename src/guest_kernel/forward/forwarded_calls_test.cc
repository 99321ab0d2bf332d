#include "guest_kernel/forward/forwarded_calls.h"

#include <asm/unistd.h>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

#include "emu/guest/guest_memory.h"
#include "emu/guest/test_process.h"

namespace shadowprof::forwarded_calls_test {
namespace {

constexpr auto base = TestProcess::base;
constexpr std::uint64_t buffer = base.value + 0x2000;

// A supervisor whose process makes calls by `on_call`.
class Supervisor final : public OutsideChannel {
  public:
    Result<std::vector<std::byte>> call(std::span<const std::byte> request) override {
        REQUIRE(request.size() == sizeof last);
        std::memcpy(&last, request.data(), sizeof last);
        ++calls;
        const auto answer = on_call(last);
        std::vector<std::byte> bytes(sizeof answer);
        std::memcpy(bytes.data(), &answer, sizeof answer);
        const auto ranges = std::as_bytes(std::span(also_written));
        bytes.insert(bytes.end(), ranges.begin(), ranges.end());
        return bytes;
    }

    std::function<CallAnswer(const CallRequest&)> on_call;
    std::vector<MemoryRange> also_written;
    CallRequest last;
    int calls = 0;
};

struct Guest {
    TestProcess process;
    GuestMemory memory;
    Supervisor supervisor;
    ForwardedCalls handler{{.outside = supervisor,
                            .memory = memory,
                            .process = process,
                            .map_in_mailbox = [](std::size_t) -> Result<MemoryMap> {
                                return MemoryMap({TestProcess::mapping(0, 64)});
                            },
                            .on_new_layout = [this] { ++layouts; }}};
    int layouts = 0;

    Guest() {
        const MemoryMap map({TestProcess::mapping(0, TestProcess::pages)});
        REQUIRE(memory.begin(map, process, PageUse::tracked));
    }
    // The call's result, or why the run ends.
    std::variant<std::int64_t, SampleEnd> call(std::uint64_t number, std::uint64_t first = 0,
                                               std::uint64_t second = 0, std::uint64_t third = 0) {
        CpuState cpu;
        cpu.rip = base + 0x100;
        cpu[Gpr::rax] = number;
        cpu[Gpr::rdi] = first;
        cpu[Gpr::rsi] = second;
        cpu[Gpr::rdx] = third;
        cpu[Gpr::rsp] = base.value + 0x8000;
        GuestThreads threads(cpu);
        const auto end = handler.on_syscall(threads, memory, 0);
        if (end) return *end;
        return static_cast<std::int64_t>(threads.cpu()[Gpr::rax]);
    }
    void put(std::uint64_t at, char value) {
        REQUIRE(guest_store(memory, GuestAddress{at}, value));
    }
    char get(std::uint64_t at) { return *read_value<char>(memory, {at}); }
    char in_process(std::uint64_t at) { return *read_value<char>(process, {at}); }
};

CallAnswer returned(std::int64_t value) {
    return {.rax = static_cast<std::uint64_t>(value)};
}

}  // namespace

TEST_CASE("the process has what a call reads when the call is made") {
    Guest g;
    g.put(buffer + 1, 'x');
    g.put(buffer + 9, 'y');
    g.supervisor.on_call = [&](const CallRequest& request) {
        CHECK(g.in_process(buffer + 1) == 'x');
        CHECK(g.in_process(buffer + 9) == 0);
        CHECK(request.is_current == 0);
        return returned(4);
    };
    CHECK(std::get<std::int64_t>(g.call(__NR_write, 1, buffer, 4)) == 4);
}

TEST_CASE("what a call wrote is taken as far as its result says") {
    Guest g;
    for (const auto at : {buffer, buffer + 5}) g.put(at, 'o');
    g.supervisor.on_call = [&](const CallRequest&) {
        for (std::uint64_t i = 0; i < 10; ++i)
            g.process.at(buffer - base.value + i) = std::byte{'n'};
        return returned(5);
    };
    CHECK(std::get<std::int64_t>(g.call(__NR_read, 0, buffer, 10)) == 5);
    CHECK(g.get(buffer) == 'n');
    CHECK(g.get(buffer + 5) == 'o');
    g.supervisor.on_call = [](const CallRequest&) { return returned(-EAGAIN); };
    g.put(buffer, 'o');
    CHECK(std::get<std::int64_t>(g.call(__NR_read, 0, buffer, 10)) == -EAGAIN);
    CHECK(g.get(buffer) == 'o');
}

TEST_CASE("what a failed call leaves alone keeps what the guest wrote") {
    Guest g;
    g.put(buffer + 3, 'o');
    g.supervisor.on_call = [](const CallRequest&) { return returned(-ENOENT); };
    CHECK(std::get<std::int64_t>(g.call(__NR_fstat, 7, buffer)) == -ENOENT);
    CHECK(g.get(buffer + 3) == 'o');
}

TEST_CASE(
    "what a call wrote before it met the end of memory is taken, beside what the guest wrote") {
    Guest g;
    constexpr auto end = base.value + TestProcess::pages * page_bytes;
    g.put(end - 8, 'o');
    g.put(end - 7, 'o');
    g.supervisor.on_call = [&](const CallRequest&) {
        CHECK(g.in_process(end - 7) == 'o');
        g.process.at(end - 8 - base.value) = std::byte{'n'};
        return returned(-EFAULT);
    };
    CHECK(std::get<std::int64_t>(g.call(__NR_read, 0, end - 8, 16)) == -EFAULT);
    CHECK(g.get(end - 8) == 'n');
    CHECK(g.get(end - 7) == 'o');
}

TEST_CASE("memory that a call would have emptied is kept where it fails") {
    Guest g;
    for (const auto number : {__NR_madvise, __NR_munmap}) {
        g.put(buffer, 'o');
        g.supervisor.on_call = [](const CallRequest&) { return returned(-EINVAL); };
        const auto made = static_cast<std::uint64_t>(number);
        CHECK(std::get<std::int64_t>(g.call(made, buffer, page_bytes, MADV_DONTNEED)) == -EINVAL);
        CHECK(g.get(buffer) == 'o');
    }
}

TEST_CASE("a call of which nothing is known finds and changes all memory") {
    Guest g;
    g.put(buffer, 'x');
    g.put(buffer + 0x10000, 'y');
    g.supervisor.on_call = [&](const CallRequest& request) {
        CHECK(request.is_current != 0);
        CHECK(g.in_process(buffer) == 'x');
        CHECK(g.in_process(buffer + 0x10000) == 'y');
        g.process.at(buffer - base.value) = std::byte{'z'};
        return returned(0);
    };
    for (const auto number : {__NR_prctl, __NR_fork, __NR_clone}) {
        g.put(buffer, 'x');
        CHECK(std::get<std::int64_t>(g.call(static_cast<std::uint64_t>(number))) == 0);
        CHECK(g.get(buffer) == 'z');
    }
}

TEST_CASE("new mappings are taken over, and unmapped memory is not brought") {
    Guest g;
    g.put(base.value + 100 * page_bytes, 'x');
    g.supervisor.on_call = [](const CallRequest&) {
        auto answer = returned(0);
        answer.maps_bytes = 1;
        return answer;
    };
    g.call(__NR_munmap, base.value + 64 * page_bytes, 64 * page_bytes);
    CHECK(g.process.written == 0);
    CHECK(g.layouts == 1);
    CHECK_FALSE(read_value<char>(g.memory, base + 100 * page_bytes));
    CHECK(g.handler.wants_trace([] {
        CpuState cpu;
        cpu[Gpr::rax] = __NR_munmap;
        return cpu;
    }()));
}

TEST_CASE("the run ends where the supervisor says so, with what the kernel wrote") {
    Guest g;
    g.put(buffer, 'o');
    g.supervisor.on_call = [&](const CallRequest&) {
        g.process.at(buffer - base.value) = std::byte{'n'};
        return CallAnswer{.kind = CallAnswer::Kind::left,
                          .rax = static_cast<std::uint64_t>(-EINTR)};
    };
    g.supervisor.also_written = {{{buffer}, {buffer + 1}}};
    CHECK(std::get<SampleEnd>(g.call(__NR_getpid)) == SampleEnd::stopped);
    CHECK(g.get(buffer) == 'n');
    g.supervisor.on_call = [](const CallRequest&) {
        return CallAnswer{.kind = CallAnswer::Kind::gone};
    };
    CHECK(std::get<SampleEnd>(g.call(__NR_exit_group)) == SampleEnd::exit);
    g.supervisor.on_call = [](const CallRequest&) {
        auto answer = returned(3);
        answer.ends_run = 1;
        return answer;
    };
    CHECK(std::get<SampleEnd>(g.call(__NR_getpid)) == SampleEnd::size);
}

TEST_CASE("the time of day comes with the kernel's time zone") {
    struct timezone kernels = {}, found = {-1, -1};
    REQUIRE(syscall(__NR_gettimeofday, nullptr, &kernels) == 0);
    Guest g;
    REQUIRE(guest_store(g.memory, GuestAddress{buffer + 16}, found));
    CpuState cpu;
    cpu[Gpr::rdi] = buffer;
    cpu[Gpr::rsi] = buffer + 16;
    GuestThreads threads(cpu);
    REQUIRE_FALSE(g.handler.on_vdso(VdsoFunction::gettimeofday, threads, g.memory, 0));
    CHECK(threads.cpu()[Gpr::rax] == 0);
    CHECK(read_value<timeval>(g.memory, {buffer})->tv_sec >= time(nullptr) - 1);
    found = *read_value<struct timezone>(g.memory, {buffer + 16});
    CHECK(found.tz_minuteswest == kernels.tz_minuteswest);
    CHECK(found.tz_dsttime == kernels.tz_dsttime);
}

TEST_CASE("processor time is that of the emulation") {
    Guest g;
    g.supervisor.on_call = [&](const CallRequest&) {
        const timespec five = {5, 0};
        REQUIRE(g.process.write({buffer}, std::as_bytes(std::span(&five, 1))));
        return returned(0);
    };
    const auto seconds = [&](std::uint64_t clock) {
        CHECK(std::get<std::int64_t>(g.call(__NR_clock_gettime, clock, buffer)) == 0);
        const auto time = *read_value<timespec>(g.memory, {buffer});
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
    };
    CHECK(seconds(CLOCK_MONOTONIC) == 5);
    const auto first = seconds(CLOCK_PROCESS_CPUTIME_ID);
    CHECK(first < 5);
    CHECK(seconds(CLOCK_PROCESS_CPUTIME_ID) > first);
}

}  // namespace shadowprof::forwarded_calls_test
