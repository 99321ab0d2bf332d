#include "shadow/emulation/step_exchange.h"

#include <doctest/doctest.h>

#include <semaphore>
#include <thread>

namespace shadowprof::step_exchange_test {
namespace {

// A thread that asks for steps until one ends the sample. Each step adds 1 to the program counter.
struct Asker {
    explicit Asker(StepExchange& exchange)
        : thread([this, &exchange] {
              while (!end) end = exchange.ask(cpu, {}, [this] { announced.release(); });
              announced.release();
          }) {}
    ~Asker() { thread.join(); }

    CpuState cpu = {};
    std::optional<SampleEnd> end;
    std::counting_semaphore<> announced{0};
    std::thread thread;
};

}  // namespace

TEST_CASE("what is stepped comes back with the registers, until a step ends the sample") {
    StepExchange exchange;
    Asker asker(exchange);
    for (std::uint64_t i = 0; i < 100; ++i) {
        asker.announced.acquire();
        auto cpu = exchange.step().cpu;
        CHECK(cpu.rip.value == i);
        cpu.rip = cpu.rip + 1;
        exchange.answer(cpu, i < 99 ? std::nullopt : std::optional(SampleEnd::fault));
    }
    asker.announced.acquire();
    CHECK(asker.end == SampleEnd::fault);
    CHECK(asker.cpu.rip.value == 100);
}

TEST_CASE("who waits for a step, or asks for one later, is released at the end") {
    StepExchange exchange;
    Asker asker(exchange);
    asker.announced.acquire();
    exchange.quit();
    asker.announced.acquire();
    CHECK(asker.end == SampleEnd::stopped);
    CpuState cpu = {};
    CHECK(exchange.ask(cpu, {}, [] { FAIL("nobody is there to step"); }) == SampleEnd::stopped);
}

}  // namespace shadowprof::step_exchange_test
