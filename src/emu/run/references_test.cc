// The addresses in the trace are those that the instructions accessed.
#include <algorithm>

#include "emu/test_guest.h"

namespace shadowprof::references_test {

extern "C" {
std::uint64_t test_references(std::uint64_t* memory);
std::uint64_t test_references_fault(const std::uint64_t* pointer);
std::uint64_t test_fibonacci(std::uint64_t n);
extern std::uint32_t test_one;
extern char test_references_fault_access[];
}

namespace {

constexpr std::uint16_t load = ReferenceSlot::load, store = ReferenceSlot::store;
constexpr std::uint16_t stack = ReferenceSlot::stack, direct = ReferenceSlot::direct;
constexpr std::uint16_t locked = ReferenceSlot::locked, repeated = ReferenceSlot::repeated;

struct Expected {
    std::uint64_t address;
    std::uint16_t bytes;
    unsigned flags;
};

constexpr unsigned compared = load | store | stack | direct | locked | repeated;

}  // namespace

TEST_CASE("every access is in the trace, with its address, size and kind") {
    alignas(64) static std::uint64_t memory[8];
    memory[7] = reinterpret_cast<std::uint64_t>(memory);
    TestGuest guest;
    guest.trace_references();
    REQUIRE(TestGuest::returned(
        guest.call(reinterpret_cast<const void*>(test_references), &memory[0])));
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    const auto top = guest.cpu[Gpr::rsp] - 8;  // address of the return address
    const auto fs = guest.cpu.fs_base;
    const std::vector<Expected> expected = {
        {top - 8, 8, store | stack | direct},
        {top - 16, 8, store | stack | direct},
        {at, 8, load | direct},
        {at + 8, 4, store | direct},
        {at + 16, 2, load | direct},
        {at + 29, 1, load | store},
        {at + 24, 4, load | store | locked},
        {at + 56, 8, load | direct},
        {at + 56, 8, load | direct},
        {at + 16, 16, store | direct},
        {fs, 8, load},
        {reinterpret_cast<std::uint64_t>(&test_one), 4, load},
        {at, 1, load | direct | repeated},
        {at, 1, store | direct | repeated},
        {at + 2, 8, load | direct},
        {at + 2, 8, store | direct},
        {at + 32, 8, load | direct},
        {top - 24, 8, store | stack | direct},
        {top - 24, 8, load | stack | direct},
        {at + 40, 8, store | direct},
        {top - 24, 8, store | stack | direct},
        {top - 24, 8, load | stack | direct},
        {top - 16, 8, load | stack | direct},
        {top - 8, 8, load | stack | direct},
        {top, 8, load | stack | direct},
    };
    const auto traced = guest.references();
    REQUIRE(traced.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        CHECK(traced[i].address == expected[i].address);
        CHECK(traced[i].bytes == expected[i].bytes);
        CHECK((traced[i].flags & compared) == expected[i].flags);
    }
}

TEST_CASE("addresses that follow from others take no words") {
    alignas(64) static std::uint64_t memory[8];
    memory[7] = reinterpret_cast<std::uint64_t>(memory);
    TestGuest guest;
    guest.trace_references();
    REQUIRE(TestGuest::returned(
        guest.call(reinterpret_cast<const void*>(test_references), &memory[0])));
    std::size_t words = 0;
    guest.for_each_record([&](const BlockInfo& row, auto) { words += row.value_words; });
    CHECK(words <= guest.references().size() / 2 + 2);
}

TEST_CASE("what a record says of registers follows from the instructions") {
    TestGuest guest;
    guest.trace_references();
    REQUIRE(TestGuest::returned(
        guest.call(reinterpret_cast<const void*>(test_fibonacci), std::uint64_t{3})));
    constexpr unsigned rax = 1, rbx = 1 << 3, rdi = 1 << 7;
    bool moved = false, added = false, popped = false;
    guest.for_each_block([&](const BlockInfo& block, auto) {
        for (const auto& slot : guest.tables().references_of(block)) {
            const bool copies = (slot.flags & ReferenceSlot::copies) != 0;
            moved |= slot.bytes == 0 && slot.read == rax && slot.written == rbx && copies;
            added |= slot.read == (rax | rbx) && slot.written == rax && !copies;
            popped |= slot.bytes == 8 && slot.read == 0 && slot.written == rdi && copies;
        }
    });
    CHECK(moved);   // mov rbx, rax
    CHECK(added);   // add rax, rbx
    CHECK(popped);  // pop rdi
}

TEST_CASE("an access that faults is not in the trace, and those before it are") {
    static const std::uint64_t pointer = 0x10;
    TestGuest guest;
    guest.trace_references();
    const auto result = guest.call(reinterpret_cast<const void*>(test_references_fault), &pointer);
    CHECK(result.end == SampleEnd::fault);
    CHECK(result.fault_address == GuestAddress{0x10});
    CHECK(guest.cpu.rip.value == reinterpret_cast<std::uint64_t>(test_references_fault_access));
    const auto traced = guest.references();
    REQUIRE(traced.size() == 1);
    CHECK(traced[0].address == reinterpret_cast<std::uint64_t>(&pointer));
    CHECK(guest.traced_instructions() == 1);
}

TEST_CASE("code that writes to itself leaves the references of what ran") {
    // mov byte ptr [rip + 8], 7 ; mov rcx, [rsp] ; nop ; mov eax, 1 ; ret
    static constexpr std::array<std::uint8_t, 18> code = {
        0xc6, 0x05, 0x06, 0, 0, 0, 7, 0x48, 0x8b, 0x0c, 0x24, 0x90, 0xb8, 1, 0, 0, 0, 0xc3};
    auto* page =
        static_cast<std::uint8_t*>(mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(page, code.data(), code.size());
    TestGuest guest;
    guest.trace_references();
    REQUIRE(TestGuest::returned(guest.call(page)));
    CHECK(guest.cpu[Gpr::rax] == 7);
    const auto traced = guest.references();
    const auto top = guest.cpu[Gpr::rsp] - 8;
    REQUIRE(traced.size() == 3);
    CHECK(traced[0].address == reinterpret_cast<std::uint64_t>(page) + 13);
    CHECK(traced[1].address == top);
    CHECK(traced[2].address == top);
    CHECK(guest.traced_instructions() == 5);
    munmap(page, page_bytes);
}

TEST_CASE("bursts of values and of references take turns") {
    TestGuest guest;
    guest.limits.burst_period = 40'000;
    guest.limits.value_instructions = guest.limits.reference_instructions = 4'000;
    guest.limits.seed = 3;
    REQUIRE(TestGuest::returned(
        guest.call(reinterpret_cast<const void*>(test_fibonacci), std::uint64_t{24})));
    std::array<std::uint64_t, trace_levels> instructions{};
    guest.for_each_record([&](const BlockInfo& row, auto) {
        instructions[static_cast<std::size_t>(row.level)] += row.instructions;
    });
    const auto all = instructions[0] + instructions[1] + instructions[2];
    // A tenth each was requested; buffers have a minimum size.
    for (const auto level : {TraceLevel::values, TraceLevel::references}) {
        CHECK(instructions[static_cast<std::size_t>(level)] > all / 20);
        CHECK(instructions[static_cast<std::size_t>(level)] < all / 4);
    }
}

}  // namespace shadowprof::references_test
