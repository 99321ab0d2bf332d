#include "emu/run/emulator.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "emu/test_guest.h"

namespace shadowprof::emulator_test {

extern "C" {
std::uint64_t test_displaced_registers(std::uint64_t iterations);
std::uint64_t test_strings(char* to, const char* from, std::uint64_t length);
std::uint64_t test_stack(std::uint64_t value);
std::uint64_t test_high_bytes(std::uint64_t a, std::uint64_t b);
std::uint64_t test_multiply();
std::uint64_t test_fibonacci(std::uint64_t n);
std::uint64_t test_indirect(std::uint64_t iterations);
std::uint64_t test_loops(std::uint64_t iterations);
std::uint64_t test_identification_over_fault(const void* memory);
std::uint64_t test_vectors(const void* bytes);
std::uint64_t test_counter(std::uint64_t iterations);
std::uint64_t test_writes();
std::uint64_t test_thread_pointer();
std::uint64_t test_fs_base();
std::uint64_t test_null();
std::uint64_t test_divide();
std::uint64_t test_syscall();
extern std::uint64_t test_table[8];
extern std::uint64_t test_scratch[2];
extern char test_counter_loop[], test_null_access[], test_after_syscall[];
}

namespace {

// Calls a function natively and emulated at each level, over the same initial data.
template <typename... Arguments>
void check_same(std::uint64_t (*function)(Arguments...), Arguments... arguments) {
    const std::array<std::uint64_t, 8> table = {test_table[0], test_table[1], test_table[2],
                                                test_table[3], test_table[4], test_table[5],
                                                test_table[6], test_table[7]};
    for (const auto level : {TraceLevel::blocks, TraceLevel::values, TraceLevel::references}) {
        CAPTURE(level);
        TestGuest guest;
        guest.trace_at(level);
        const auto result = guest.call(reinterpret_cast<const void*>(function), arguments...);
        REQUIRE(TestGuest::returned(result));
        const auto emulated = guest.cpu[Gpr::rax];
        const auto native = function(arguments...);
        CHECK(emulated == native);
        std::copy(table.begin(), table.end(), test_table);
    }
}

}  // namespace

TEST_CASE("a guest's time is what it has executed, at each level and in buffers of each size") {
    const auto* function = reinterpret_cast<const void*>(test_fibonacci);
    for (const auto level : {TraceLevel::blocks, TraceLevel::values, TraceLevel::references})
        for (const std::size_t words : {512u, 1u << 20}) {
            TestGuest guest(words);
            guest.trace_at(level);
            GuestTime time{.is_virtual = 1, .instructions = 1000};
            guest.keep_time(time);
            REQUIRE(TestGuest::returned(guest.call(function, 18)));
            CHECK(time.instructions == 1000 + guest.traced_instructions());
        }
}

TEST_CASE("registers that live elsewhere behave in every role") {
    check_same(test_displaced_registers, std::uint64_t{1});
    check_same(test_displaced_registers, std::uint64_t{1000});
}

TEST_CASE("string instructions move both of their pointers") {
    static char from[400], native_to[400], to[400];
    for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<char>('a' + i % 20);
    from[333] = 'x';
    TestGuest guest;
    const auto result = guest.call(reinterpret_cast<const void*>(test_strings), to, from, 400);
    REQUIRE(TestGuest::returned(result));
    const auto native = test_strings(native_to, from, sizeof from);
    CHECK(guest.cpu[Gpr::rax] == native);
    std::array<char, 400> emulated_to;
    REQUIRE(guest.memory().read({reinterpret_cast<std::uint64_t>(to)},
                                std::as_writable_bytes(std::span(emulated_to))));
    CHECK(std::equal(emulated_to.begin(), emulated_to.end(), native_to));
    CHECK(to[0] == 0);
}

TEST_CASE("the stack is the guest's, the flags are on it") {
    check_same(test_stack, std::uint64_t{5});
}
TEST_CASE("high bytes beside displaced registers") {
    check_same(test_high_bytes, std::uint64_t{0x1234}, std::uint64_t{0x5678});
}
TEST_CASE("two results beside the registers that an address is made of") {
    if (__builtin_cpu_supports("bmi2")) check_same(test_multiply);
}
TEST_CASE("calls and returns") {
    check_same(test_fibonacci, std::uint64_t{15});
}
TEST_CASE("indirect jumps and calls, and returns that are jumps") {
    check_same(test_indirect, std::uint64_t{4001});
}
TEST_CASE("LOOP and JRCXZ keep the flags") {
    check_same(test_loops, std::uint64_t{10});
    check_same(test_loops, std::uint64_t{0});
}
TEST_CASE("the identification flag outlasts a page that has to be read") {
    static const std::uint64_t memory[1024] = {};
    check_same<const void*>(test_identification_over_fault, &memory[512]);
}
TEST_CASE("vector and x87 registers are the guest's own") {
    static const std::uint64_t bytes[8] = {1234567, 2, 3, 4, 5, 6, 7, 8};
    check_same<const void*>(test_vectors, bytes);
}
TEST_CASE("thread-local storage is the guest thread's") {
    check_same(test_thread_pointer);
}

TEST_CASE(
    "the base of FS is the guest's, or the hardware's to tell where only the kernel sets it") {
    if (host_segment_bases() == SegmentBases::by_instruction) return check_same(test_fs_base);
    TestGuest guest;
    CHECK(guest.call(reinterpret_cast<const void*>(test_fs_base)).end ==
          SampleEnd::unsupported_instruction);
}

TEST_CASE("what the guest writes stays in the sample") {
    TestGuest guest;
    test_scratch[0] = 1;
    REQUIRE(TestGuest::returned(guest.call(reinterpret_cast<const void*>(test_writes))));
    CHECK(guest.cpu[Gpr::rax] == 99);
    CHECK(test_scratch[0] == 1);
}

TEST_CASE("a trace names every executed block") {
    constexpr std::uint64_t iterations = 1000;
    TestGuest guest;
    REQUIRE(
        TestGuest::returned(guest.call(reinterpret_cast<const void*>(test_counter), iterations)));
    const auto starts = guest.starts();
    const auto loop = reinterpret_cast<std::uint64_t>(test_counter_loop);
    // The first iteration belongs to the function's first block.
    CHECK(std::count(starts.begin(), starts.end(), loop) == iterations - 1);
    CHECK(guest.traced_instructions() == 1 + 4 * iterations + 2);
}

TEST_CASE("a trace is the same whatever the size of its buffers") {
    TestGuest whole;
    whole.call(reinterpret_cast<const void*>(test_indirect), 3000);
    for (const std::size_t words : {512u, 513u, 1024u}) {
        TestGuest pieces(words);
        pieces.call(reinterpret_cast<const void*>(test_indirect), 3000);
        CHECK(pieces.starts() == whole.starts());
        CHECK(pieces.cpu[Gpr::rax] == whole.cpu[Gpr::rax]);
    }
}

TEST_CASE("values are what the instructions produced") {
    constexpr std::uint64_t iterations = 50;
    TestGuest guest;
    guest.trace_values();
    guest.call(reinterpret_cast<const void*>(test_counter), iterations);
    std::uint64_t expected = 0, sevens = 0;
    for (const auto& value : guest.values()) {
        if (value.reg == ZYDIS_REGISTER_RCX) {
            CHECK(value.value == ++expected);
            CHECK(value.width_bytes == 8);
        }
        if (value.reg == ZYDIS_REGISTER_R10) sevens += value.value == 7;
    }
    CHECK(expected == iterations);
    CHECK(sevens == iterations);
}

TEST_CASE("a run ends near its number of instructions") {
    for (const bool values : {false, true}) {
        CAPTURE(values);
        TestGuest guest;
        if (values) guest.trace_values();
        guest.limits.instructions = 100'000;
        const auto result = guest.call(reinterpret_cast<const void*>(test_counter), 100'000'000);
        CHECK(result.end == SampleEnd::size);
        CHECK(guest.traced_instructions() >= 99'000);
        CHECK(guest.traced_instructions() <= 101'000);
        CHECK(result.instructions >= 99'000);
        CHECK(result.instructions <= 101'000);
        CHECK(guest.cpu.rip.value == reinterpret_cast<std::uint64_t>(test_counter_loop));
        CHECK(guest.cpu[Gpr::rcx] == (guest.traced_instructions() - 1) / 4);
    }
}

TEST_CASE("a fault leaves the registers as they were before the instruction") {
    TestGuest guest;
    const auto result = guest.call(reinterpret_cast<const void*>(test_null));
    CHECK(result.end == SampleEnd::fault);
    CHECK(result.signal == SIGSEGV);
    CHECK(result.fault_address.value == 8);
    CHECK(guest.cpu.rip.value == reinterpret_cast<std::uint64_t>(test_null_access));
    CHECK(guest.cpu[Gpr::rax] == 0);
    CHECK(guest.cpu[Gpr::r9] == 44);
    CHECK(guest.cpu[Gpr::r10] == 55);
    CHECK(guest.traced_instructions() == 3);

    TestGuest divider;
    const auto divided = divider.call(reinterpret_cast<const void*>(test_divide));
    CHECK(divided.end == SampleEnd::fault);
    CHECK(divided.signal == SIGFPE);
    CHECK(divider.cpu[Gpr::rax] == 1);
}

TEST_CASE("a system call goes to the handler and on behind itself") {
    TestGuest guest;
    int calls = 0;
    guest.syscalls.on_call = [&](CpuState& cpu, GuestSpace&) -> std::optional<SampleEnd> {
        ++calls;
        CHECK(cpu[Gpr::rax] == 39);
        CHECK(cpu.rip.value == reinterpret_cast<std::uint64_t>(test_after_syscall));
        CHECK(cpu[Gpr::rcx] == cpu.rip.value);
        CHECK((cpu[Gpr::r11] & 0x200) != 0);
        cpu[Gpr::rax] = 41;
        return std::nullopt;
    };
    REQUIRE(TestGuest::returned(guest.call(reinterpret_cast<const void*>(test_syscall))));
    CHECK(calls == 1);
    CHECK(guest.cpu[Gpr::rax] == 42);

    TestGuest ended;
    CHECK(ended.call(reinterpret_cast<const void*>(test_syscall)).end == SampleEnd::unsafe_syscall);
}

TEST_CASE("system calls are noted on request, behind the words of their block") {
    const auto* function = reinterpret_cast<const void*>(test_syscall);
    const auto instruction = reinterpret_cast<std::uint64_t>(test_after_syscall) - 2;
    for (const auto level : {TraceLevel::blocks, TraceLevel::values, TraceLevel::references})
        for (const std::size_t room : {1u, 1u << 30})
            for (const bool returns : {true, false}) {
                CAPTURE(int(level));
                CAPTURE(room);
                CAPTURE(returns);
                TestGuest guest;
                guest.trace_at(level);
                guest.limits.notes_system_calls = true;
                guest.sink.notes_room = room;
                if (returns)
                    guest.syscalls.on_call = [](CpuState&, GuestSpace&) { return std::nullopt; };
                const auto result = guest.call(function);
                CHECK(TestGuest::returned(result) == returns);
                REQUIRE(guest.sink.notes.size() == 1);
                const auto& [record, words] = guest.sink.notes[0];
                CHECK(record.probe == system_call_note);
                CHECK(record.pc.value == instruction);
                CHECK(record.value == 39);
                CHECK(words > 0);
                CHECK((words < guest.sink.recorded.size()) == returns);
            }
    TestGuest silent;
    silent.call(function);
    CHECK(silent.sink.notes.empty());
    TestGuest untraced;
    untraced.limits.untraced = untraced.limits.notes_system_calls = true;
    untraced.call(function);
    CHECK(untraced.sink.notes.empty());
}

TEST_CASE("results of system calls are noted on request, when they are known") {
    const auto* function = reinterpret_cast<const void*>(test_syscall);
    const auto behind = reinterpret_cast<std::uint64_t>(test_after_syscall);
    for (const std::size_t room : {1u, 2u, 1u << 30}) {
        CAPTURE(room);
        TestGuest guest;
        guest.limits.notes_system_calls = guest.limits.notes_call_results = true;
        guest.sink.notes_room = room;
        guest.syscalls.on_call = [](CpuState& cpu, GuestSpace&) {
            cpu[Gpr::rax] = 4711;
            return std::nullopt;
        };
        REQUIRE(TestGuest::returned(guest.call(function)));
        REQUIRE(guest.sink.notes.size() == 2);
        const auto& [call, words] = guest.sink.notes[0];
        const auto& [result, result_words] = guest.sink.notes[1];
        CHECK(call.probe == system_call_note);
        CHECK(result ==
              ProbeRecord{.pc = {behind - 2}, .value = 39, .key = 4711, .probe = call_result_note});
        CHECK(result_words == words);
        CHECK(result_words < guest.sink.recorded.size());
    }
}

TEST_CASE("a result that comes at the end of a run is noted in the next one") {
    const auto* function = reinterpret_cast<const void*>(test_syscall);
    for (const auto end : {SampleEnd::size, SampleEnd::stopped}) {
        TestGuest guest;
        guest.limits.notes_system_calls = guest.limits.notes_call_results = true;
        guest.syscalls.on_call = [&](CpuState& cpu, GuestSpace&) {
            cpu[Gpr::rax] = 12;
            return std::optional(end);
        };
        CHECK(guest.call(function).end == end);
        CHECK(guest.sink.notes.size() == 1);
        // As in a signal's handler.
        guest.call(function);
        REQUIRE(guest.sink.notes.size() == (end == SampleEnd::size ? 3 : 2));
        const auto& next = guest.sink.notes[1].record;
        // What ends the run by itself knows the result.
        CHECK(next.probe == (end == SampleEnd::size ? call_result_note : system_call_note));
        if (end == SampleEnd::size) CHECK(next.key == 12);
    }
}

TEST_CASE("a call that a thread is given to begin with may be one that begins again") {
    TestGuest guest;
    guest.limits.notes_system_calls = guest.limits.notes_call_results = true;
    const auto instruction = reinterpret_cast<std::uint64_t>(test_after_syscall) - 2;
    guest.call(reinterpret_cast<const void*>(test_syscall));
    REQUIRE(guest.sink.notes.size() == 1);
    CHECK(guest.sink.notes[0].record.probe == system_call_note);
    guest.cpu.rip = {instruction};
    guest.go();
    REQUIRE(guest.sink.notes.size() == 2);
    CHECK(guest.sink.notes[1].record.probe == repeated_call_note);
    CHECK(guest.sink.notes[1].record.key == guest.sink.notes[0].record.key);
}

TEST_CASE("code that rewrites itself runs as rewritten") {
    // mov byte [rip + 1], 42 ; mov eax, 1 (its immediate is what is written) ; ret
    static constexpr std::array<std::uint8_t, 13> code = {0xc6, 0x05, 0x01, 0, 0, 0,   42,
                                                          0xb8, 0x01, 0,    0, 0, 0xc3};
    void* page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(page, code.data(), code.size());
    for (const bool values : {false, true}) {
        TestGuest guest;
        if (values) guest.trace_values();
        REQUIRE(TestGuest::returned(guest.call(page)));
        CHECK(guest.cpu[Gpr::rax] == 42);
        CHECK(guest.traced_instructions() == 3);
        // The next sample has the old code again, and must not run the new one.
        static_cast<std::uint8_t*>(page)[6] = 43;
        REQUIRE(TestGuest::returned(guest.call(page)));
        CHECK(guest.cpu[Gpr::rax] == 43);
        static_cast<std::uint8_t*>(page)[6] = 42;
    }
    munmap(page, page_bytes);
}

TEST_CASE("an instruction that cannot be translated is named") {
    // int 0x80
    static constexpr std::array<std::uint8_t, 3> code = {0xcd, 0x80, 0xc3};
    void* page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(page, code.data(), code.size());
    TestGuest guest;
    CHECK(guest.call(page).end == SampleEnd::unsupported_instruction);
    CHECK(guest.cpu.rip.value == reinterpret_cast<std::uint64_t>(page));
    munmap(page, page_bytes);
}

}  // namespace shadowprof::emulator_test
