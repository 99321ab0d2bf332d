// A run ends in exactly the awaited state.
#include "emu/watch/awaited_state.h"

#include "emu/test_guest.h"

namespace shadowprof::awaited_state_test {

extern "C" {
std::uint64_t test_fibonacci(std::uint64_t n);
std::uint64_t test_indirect(std::uint64_t iterations);
std::uint64_t test_count_in_memory(std::uint64_t* number);
}

namespace {

constexpr TraceLevel all_levels[] = {TraceLevel::blocks, TraceLevel::values,
                                     TraceLevel::references};
// Few, so that superblocks are made early.
constexpr std::size_t few_words = 4096;

constexpr std::uint64_t distances[] = {10, 1000, 30'000, 50'000};

struct Place {
    AwaitedState state;
    std::uint64_t instructions = 0;  // from the call to the state
};

AwaitedState state_of(TestGuest& guest) {
    AwaitedState state;
    state.cpu = guest.cpu;
    state.telling = {static_cast<std::uint8_t>(Gpr::rax), static_cast<std::uint8_t>(Gpr::rbx),
                     static_cast<std::uint8_t>(Gpr::r12)};
    const auto sp = guest.cpu[Gpr::rsp];
    std::vector<std::byte> stack(guest.stack_start() + TestGuest::stack_bytes - sp);
    REQUIRE(guest.memory().read({sp}, stack));
    REQUIRE(state.add_memory({sp}, stack));
    return state;
}

// Where a call is after about so many instructions.
Place place_in(TestGuest& guest, const void* function, std::uint64_t argument,
               std::uint64_t instructions) {
    const auto limits = guest.limits;
    guest.sink.recorded.clear();
    guest.limits.instructions = instructions;
    REQUIRE(guest.call(function, argument).end == SampleEnd::size);
    guest.limits = limits;
    return {state_of(guest), guest.traced_instructions()};
}

}  // namespace

TEST_CASE("a run ends where a state is met, at all levels, in code old and new") {
    struct Call {
        const void* function;
        std::uint64_t argument;
    };
    const Call calls[] = {{reinterpret_cast<const void*>(test_fibonacci), 22},
                          {reinterpret_cast<const void*>(test_indirect), 20'000}};
    for (const auto& [function, argument] : calls)
        for (const auto level : all_levels) {
            CAPTURE(level);
            TestGuest guest(few_words);
            guest.trace_at(level);
            const auto begin = guest.cpu;
            for (const auto distance : distances) {
                CAPTURE(distance);
                guest.cpu = begin;
                const auto place = place_in(guest, function, argument, distance);
                guest.sink.recorded.clear();
                guest.cpu = begin;
                guest.awaited = place.state;
                const auto result = guest.call(function, argument);
                CHECK(result.end == SampleEnd::met);
                CHECK(guest.cpu.gpr == place.state.cpu.gpr);
                CHECK(guest.cpu.rip == place.state.cpu.rip);
                CHECK(guest.traced_instructions() == place.instructions);
                guest.awaited.reset();
            }
            // The awaited state has no effect on later runs.
            CHECK(TestGuest::returned(guest.call(function, argument)));
        }
}

// The awaited instruction is in the middle of a block.
TEST_CASE("memory tells turns of a loop that have the same registers") {
    static std::uint64_t number;
    constexpr std::uint64_t start = 50'000, awaited = 12'345;
    constexpr std::uint64_t decrement_bytes = 3;
    for (const auto level : all_levels) {
        CAPTURE(level);
        TestGuest guest(few_words);
        guest.trace_at(level);
        const auto call = [&] {
            number = start;
            return guest.call(reinterpret_cast<const void*>(test_count_in_memory), &number);
        };
        AwaitedState state;
        state.cpu = guest.cpu;
        state.cpu[Gpr::rdi] = reinterpret_cast<std::uint64_t>(&number);
        state.cpu[Gpr::rsp] = guest.stack_start() + TestGuest::stack_bytes - 264;
        state.cpu.rip =
            GuestAddress{reinterpret_cast<std::uint64_t>(test_count_in_memory)} + decrement_bytes;
        REQUIRE(state.add_memory({state.cpu[Gpr::rdi]}, std::as_bytes(std::span(&awaited, 1))));
        guest.awaited = state;
        CHECK(call().end == SampleEnd::met);
        CHECK(guest.traced_instructions() == 3 * (start - awaited - 1) + 1);
        CHECK(read_value<std::uint64_t>(guest.memory(), {state.cpu[Gpr::rdi]}) == awaited);
        CHECK(guest.cpu.rip == state.cpu.rip);

        // A state that never comes.
        guest.sink.recorded.clear();
        guest.awaited->cpu[Gpr::rbx] = 1;
        const auto never = call();
        CHECK(TestGuest::returned(never));
        CHECK_FALSE(never.nearly_met);
        CHECK(guest.traced_instructions() == 3 * start + 1);
        // Blocks are the same as without the awaited state.
        auto starts = guest.starts();
        CHECK(starts.size() == start + 1);
        starts.pop_back();
        const auto loop = reinterpret_cast<std::uint64_t>(test_count_in_memory);
        CHECK(std::ranges::count(starts, loop) == std::ssize(starts));
    }
}

TEST_CASE("a state whose registers come again and again, but never its memory, ends the run") {
    static std::uint64_t number;
    constexpr std::uint64_t decrement_bytes = 3;
    for (const std::uint64_t start : {50'000u, 500'000u}) {
        TestGuest guest(few_words);
        number = start;
        AwaitedState state;
        state.cpu = guest.cpu;
        state.cpu[Gpr::rdi] = reinterpret_cast<std::uint64_t>(&number);
        state.cpu[Gpr::rsp] = guest.stack_start() + TestGuest::stack_bytes - 264;
        state.cpu.rip =
            GuestAddress{reinterpret_cast<std::uint64_t>(test_count_in_memory)} + decrement_bytes;
        const std::uint64_t never = start + 1;
        REQUIRE(state.add_memory({state.cpu[Gpr::rdi]}, std::as_bytes(std::span(&never, 1))));
        guest.awaited = state;
        const auto result =
            guest.call(reinterpret_cast<const void*>(test_count_in_memory), &number);
        CHECK(result.nearly_met);
        if (start < 100'000)
            CHECK(TestGuest::returned(result));
        else
            CHECK(result.end == SampleEnd::size);
    }
}

TEST_CASE("an instruction that is not translated is awaited like others") {
    // inc eax; int 0x80
    static constexpr std::array<std::uint8_t, 4> code = {0xff, 0xc0, 0xcd, 0x80};
    void* page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(page, code.data(), code.size());
    TestGuest guest;
    const auto begin = guest.cpu;
    REQUIRE(guest.call(page).end == SampleEnd::unsupported_instruction);
    guest.awaited = state_of(guest);
    guest.cpu = begin;
    guest.sink.recorded.clear();
    CHECK(guest.call(page).end == SampleEnd::met);
    CHECK(guest.traced_instructions() == 1);
    munmap(page, page_bytes);
}

TEST_CASE("an awaited state has as much memory as there is room for") {
    AwaitedState state;
    std::vector<std::byte> bytes(AwaitedState::max_bytes - 1);
    CHECK(state.add_memory({0x1000}, bytes));
    CHECK_FALSE(state.add_memory({0x9000}, std::span(bytes).first(2)));
    CHECK(state.add_memory({0x9000}, std::span(bytes).first(1)));
    std::vector<std::uint64_t> places;
    CHECK(state.all_memory([&](GuestAddress at, std::span<const std::byte> content) {
        places.push_back(at.value);
        return content.size() == (places.size() == 1 ? bytes.size() : 1);
    }));
    CHECK(places == std::vector<std::uint64_t>{0x1000, 0x9000});
    AwaitedState many;
    for (std::size_t i = 0; i < AwaitedState::max_pieces; ++i)
        CHECK(many.add_memory({i}, std::span(bytes).first(1)));
    CHECK_FALSE(many.add_memory({0}, std::span(bytes).first(1)));
}

}  // namespace shadowprof::awaited_state_test
