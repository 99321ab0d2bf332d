// libFuzzer: arbitrary text as a probe. A text that parses is bound to an instruction of arbitrary
// bytes and evaluated with arbitrary registers and memory. For other texts the error must give a
// place.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "probe/probe.h"

using namespace shadowprof;

namespace {

constexpr std::size_t header_bytes = Instruction::max_length + 9;

[[noreturn]] void fail(std::string_view what) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
    std::abort();
}

// Memory whose content follows from its address. Some of it is unreadable.
class Memory final : public MemoryReader {
  public:
    bool read(GuestAddress from, std::span<std::byte> to) override {
        if (to.empty() || to.size() > 8) fail("a probe reads 1 to 8 bytes");
        std::fill(to.begin(), to.end(), static_cast<std::byte>(from.value * 31));
        return from.value % 5 != 0;
    }
};

CpuState registers(std::uint64_t seed) {
    CpuState cpu;
    for (std::size_t i = 0; i < cpu.gpr.size(); ++i)
        cpu.gpr[i] = seed >> 3 * i | (i % 2 == 0 ? 0 : seed << 40);
    std::fill(cpu.xsave.begin(), cpu.xsave.end(), static_cast<std::byte>(seed));
    cpu.rflags = cpu.fs_base = seed;
    return cpu;
}

void check_places(const ProbeSet& set, unsigned choices) {
    Place place{.module = "/lib/a.so",
                .function = "f(int)",
                .file = "/src/a.c",
                .line = choices,
                .entry = choices % 2 != 0};
    for (std::size_t test = 0; test < set.place_tests(); ++test) {
        place.has_line = true;
        const auto with = set.holds(test, place);
        place.has_line = false;
        const auto without = set.holds(test, place);
        if (!with) fail("a place test is not decided though all is known");
        if (without && *without != *with) fail("a line changes what was decided without it");
        if (!set.needs_line(test) && !without) fail("a test needs a line and does not say so");
    }
}

// Knowledge about an instruction must not change what its probes report.
void check_events(const ProbeSet& set, const Instruction& in, std::uint64_t seed,
                  unsigned choices) {
    Memory memory;
    const CpuState cpu = registers(seed);
    for (const BoundProbe& bound : set.bind(in, seed)) {
        if (evaluate(bound, cpu, memory, std::nullopt) && bound.uses_latency())
            fail("an event of a latency that nobody gave");
        const auto event = evaluate(bound, cpu, memory, choices);
        if (bound.always_holds() && !event) fail("a condition that always holds did not");
        if (event && event->missed && (event->value != 0 || event->key != 0))
            fail("a missed event has a value");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < header_bytes) return 0;
    std::uint64_t seed = 0;
    std::memcpy(&seed, data + Instruction::max_length, sizeof seed);
    const unsigned choices = data[header_bytes - 1];
    const std::string text(reinterpret_cast<const char*>(data) + header_bytes, size - header_bytes);
    const auto parsed = Probe::parse(text);
    if (const auto* error = std::get_if<ProbeError>(&parsed)) {
        if (error->offset > text.size() || error->message.empty()) fail("an error has no place");
        const std::string shown = render(*error, text);
        if (std::count(shown.begin(), shown.end(), '\n') != 2)
            fail("an error is not shown in three lines");
        return 0;
    }
    const auto set = ProbeSet::parse(std::span(&text, 1));
    if (!set) fail("a probe is not one in a set");
    check_places(*set, choices);
    const auto code = std::as_bytes(std::span(data, Instruction::max_length));
    if (const auto in = Instruction::decode(code, {0x1000})) check_events(*set, *in, seed, choices);
    return 0;
}
