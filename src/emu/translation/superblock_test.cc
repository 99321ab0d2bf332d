// Superblocks run and are traced like the blocks that they consist of.
#include <algorithm>

#include "emu/test_guest.h"

namespace shadowprof::superblock_test {

extern "C" {
std::uint64_t test_fibonacci(std::uint64_t n);
std::uint64_t test_indirect(std::uint64_t iterations);
std::uint64_t test_flags_at_call(std::uint64_t iterations);
std::uint64_t test_sum_until_fault(const std::uint64_t* from);
extern char test_sum_access[];
}

namespace {

// Small, so that the trace is looked at often and superblocks are made early.
constexpr std::size_t small_words = 512;
// The same for value traces, whose records are longer.
constexpr std::size_t small_value_words = 4096;
// So large that no trace is looked at before the end.
constexpr std::size_t large_words = std::size_t{1} << 22;

std::size_t sequences(const TestGuest& guest) {
    std::size_t count = 0;
    guest.for_each_record([&](const BlockInfo& row, auto) { count += row.parts != 0; });
    return count;
}

struct Trace {
    std::vector<std::uint64_t> starts;
    std::vector<TracedValue> values;
    std::vector<TracedReference> references;
    std::uint64_t instructions = 0;
    std::uint64_t result = 0;
    std::size_t sequences = 0;
};

template <typename... Arguments>
Trace trace_of(TraceLevel level, std::size_t buffer_words, std::uint64_t (*function)(Arguments...),
               Arguments... arguments) {
    TestGuest guest(buffer_words);
    guest.trace_at(level);
    guest.limits.instructions = RunLimits::unlimited;
    const auto* code = reinterpret_cast<const void*>(function);
    REQUIRE(TestGuest::returned(guest.call(code, arguments...)));
    auto references = guest.references();
    // The stacks of two guests need not lie in the same place.
    for (auto& reference : references)
        if (reference.address - guest.stack_start() < TestGuest::stack_bytes)
            reference.address -= guest.stack_start();
    return {guest.starts(),        guest.values(),
            std::move(references), guest.traced_instructions(),
            guest.cpu[Gpr::rax],   sequences(guest)};
}

template <typename... Arguments>
void check_same_trace(std::uint64_t (*function)(Arguments...), Arguments... arguments) {
    for (auto level : {TraceLevel::blocks, TraceLevel::values, TraceLevel::references}) {
        CAPTURE(level);
        const auto small = level == TraceLevel::blocks ? small_words : small_value_words;
        const auto plain = trace_of(level, large_words, function, arguments...);
        const auto joined = trace_of(level, small, function, arguments...);
        CHECK(plain.sequences == 0);
        CHECK(joined.sequences > joined.starts.size() / 100);
        CHECK(joined.result == plain.result);
        CHECK(joined.starts == plain.starts);
        CHECK(joined.values == plain.values);
        CHECK(joined.references == plain.references);
        CHECK(plain.references.empty() == (level != TraceLevel::references));
        CHECK(joined.instructions == plain.instructions);
    }
}

}  // namespace

TEST_CASE("superblocks leave the trace of their blocks") {
    SUBCASE("calls and returns") {
        check_same_trace(test_fibonacci, std::uint64_t{22});
    }
    SUBCASE("indirect branches") {
        check_same_trace(test_indirect, std::uint64_t{40'001});
    }
}

TEST_CASE("an indirect branch out of a superblock keeps the flags") {
    check_same_trace(test_flags_at_call, std::uint64_t{100'000});
    CHECK(trace_of(TraceLevel::blocks, small_words, test_flags_at_call, std::uint64_t{100'000})
              .result == 1);
}

TEST_CASE("a superblock is left in the middle by a fault") {
    constexpr std::size_t bytes = 160 * page_bytes;
    constexpr std::size_t numbers = bytes / sizeof(std::uint64_t);
    auto* memory = static_cast<std::byte*>(mmap(nullptr, bytes + page_bytes, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(memory + bytes, page_bytes);
    auto* values = reinterpret_cast<std::uint64_t*>(memory);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < numbers; ++i) sum += values[i] = i * i;
    for (const auto level : {TraceLevel::blocks, TraceLevel::values, TraceLevel::references}) {
        CAPTURE(level);
        const bool traces_values = level == TraceLevel::values;
        TestGuest guest(level == TraceLevel::blocks ? small_words : small_value_words);
        guest.trace_at(level);
        const auto result = guest.call(reinterpret_cast<const void*>(test_sum_until_fault), values);
        CHECK(result.end == SampleEnd::fault);
        CHECK(result.signal == SIGSEGV);
        CHECK(result.fault_address.value == reinterpret_cast<std::uint64_t>(values + numbers));
        CHECK(guest.cpu.rip.value == reinterpret_cast<std::uint64_t>(test_sum_access));
        CHECK(guest.cpu[Gpr::rax] == sum);
        CHECK(sequences(guest) > 0);
        CHECK(guest.traced_instructions() == 1 + 7 * numbers + 1);
        const auto traced = guest.values();
        CHECK(traced.size() == (traces_values ? 1 + 3 * numbers + 1 : 0));
        if (traces_values) CHECK(traced.back().value == guest.cpu[Gpr::rdi] + 1);
        if (level == TraceLevel::references)
            CHECK(guest.references().back().address ==
                  reinterpret_cast<std::uint64_t>(values + numbers - 1));
    }
    munmap(memory, bytes);
}

TEST_CASE("superblocks go when one of their pages changes") {
    // 0: sub edi, 1 ; 3: call the next page ; 8: jnz 0 ; 10: ret
    static constexpr std::array<std::uint8_t, 11> loop = {0x83, 0xef, 0x01, 0xe8, 0xf8, 0x0f,
                                                          0,    0,    0x75, 0xf6, 0xc3};
    // mov eax, 1 ; ret
    static constexpr std::array<std::uint8_t, 6> callee = {0xb8, 0x01, 0, 0, 0, 0xc3};
    auto* pages =
        static_cast<std::uint8_t*>(mmap(nullptr, 2 * page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(pages, loop.data(), loop.size());
    std::memcpy(pages + page_bytes, callee.data(), callee.size());
    TestGuest guest(small_words);
    REQUIRE(TestGuest::returned(guest.call(pages, 100'000)));
    CHECK(sequences(guest) > 0);
    CHECK(guest.cpu[Gpr::rax] == 1);
    pages[page_bytes + 1] = 7;
    REQUIRE(TestGuest::returned(guest.call(pages, 1)));
    CHECK(guest.cpu[Gpr::rax] == 7);
    munmap(pages, 2 * page_bytes);
}

TEST_CASE("superblocks go when their code is written to") {
    // 0: sub edi, 1 ; 3: jnz +2 ; 5: jmp +5 ; 7: jmp 0 ; 12: mov eax, 1 ; ret
    static constexpr std::array<std::uint8_t, 18> code = {0x83, 0xef, 0x01, 0x75, 0x02, 0xeb,
                                                          0x05, 0xe9, 0xf4, 0xff, 0xff, 0xff,
                                                          0xb8, 0x01, 0,    0,    0,    0xc3};
    auto* page =
        static_cast<std::uint8_t*>(mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(page, code.data(), code.size());
    TestGuest guest(small_words);
    REQUIRE(TestGuest::returned(guest.call(page, 100'000)));
    CHECK(sequences(guest) > 0);
    CHECK(guest.cpu[Gpr::rax] == 1);
    page[2] = 2;   // sub edi, 2
    page[13] = 7;  // mov eax, 7
    const auto before = guest.traced_instructions();
    REQUIRE(TestGuest::returned(guest.call(page, 100'000)));
    CHECK(guest.cpu[Gpr::rax] == 7);
    CHECK(guest.traced_instructions() - before == 3 * 50'000 + 2);
    munmap(page, page_bytes);
}

}  // namespace shadowprof::superblock_test
