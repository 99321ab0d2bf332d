// Notes of a probe come in front of the instruction that they are about, each time it is executed.
#include <algorithm>

#include "emu/test_guest.h"

namespace shadowprof::probe_watch_test {

extern "C" {
std::uint64_t test_fibonacci(std::uint64_t n);
std::uint64_t test_sum_until_fault(const std::uint64_t* from);
extern char test_sum_access[];
}

namespace {

constexpr TraceLevel all_levels[] = {TraceLevel::blocks, TraceLevel::values,
                                     TraceLevel::references};

std::uint64_t address_of(const void* function) {
    return reinterpret_cast<std::uint64_t>(function);
}

// Notes of executed instructions only: an instruction may be noted several times before it is
// executed.
std::vector<ProbeRecord> executed(const TestGuest& guest, std::uint32_t probe) {
    std::vector<ProbeRecord> result;
    const RecordingSink::Note* last = nullptr;
    for (const auto& note : guest.sink.notes) {
        if (note.record.probe != probe) continue;
        const bool again = last && last->words == note.words && last->record.pc == note.record.pc;
        if (again) result.pop_back();
        result.push_back(note.record);
        last = &note;
    }
    if (last && last->words == guest.sink.recorded.size()) result.pop_back();
    return result;
}

// The arguments of all calls, in order.
void note_calls(std::uint64_t n, std::vector<std::uint64_t>& calls) {
    calls.push_back(n);
    if (n < 2) return;
    note_calls(n - 1, calls);
    note_calls(n - 2, calls);
}

}  // namespace

TEST_CASE("every execution is noted once, at each level, however small buffers are") {
    std::vector<std::uint64_t> calls;
    note_calls(12, calls);
    for (const auto level : all_levels)
        for (const std::size_t words : {512u, 4096u, 1u << 20})
            for (const std::size_t room : {3u, 7u, 1u << 30}) {
                CAPTURE(int(level));
                CAPTURE(words);
                CAPTURE(room);
                TestGuest guest(words);
                guest.trace_at(level);
                guest.sink.notes_room = room;
                guest.watch({"true { count() }", "mnemonic == \"cmp\" { hotlist(rdi) }"});
                const auto* function = reinterpret_cast<const void*>(test_fibonacci);
                REQUIRE(TestGuest::returned(guest.call(function, 12)));
                CHECK(guest.cpu[Gpr::rax] == test_fibonacci(12));
                CHECK(executed(guest, 0).size() == guest.traced_instructions());
                std::vector<std::uint64_t> seen;
                for (const ProbeRecord& record : executed(guest, 1)) {
                    CHECK(record.pc.value == address_of(function));
                    CHECK(record.missed == 0);
                    seen.push_back(record.value);
                }
                CHECK(seen == calls);
            }
}

TEST_CASE("calls of allocators are noted behind the probes of their entries, with their sizes") {
    std::vector<std::uint64_t> calls;
    note_calls(11, calls);
    const auto* function = reinterpret_cast<const void*>(test_fibonacci);
    const AllocatorEntry allocator{{address_of(function)}, AllocatedSize::first};
    for (const auto level : all_levels)
        for (const bool has_probes : {false, true}) {
            TestGuest guest(512);
            guest.trace_at(level);
            guest.watch(has_probes
                            ? std::vector<std::string>{"mnemonic == \"cmp\" { hotlist(rdi) }"}
                            : std::vector<std::string>{},
                        {&allocator, 1});
            REQUIRE(TestGuest::returned(guest.call(function, 11)));
            std::vector<std::uint64_t> seen;
            for (const ProbeRecord& record : executed(guest, allocation_note))
                seen.push_back(record.value);
            CHECK(seen == calls);
            CHECK(executed(guest, 0).size() == (has_probes ? calls.size() : 0));
        }
}

TEST_CASE(
    "an allocator's arguments say how much it is asked for; what cannot be given is nothing") {
    CpuState cpu;
    cpu[Gpr::rdi] = 3, cpu[Gpr::rsi] = 50, cpu[Gpr::rdx] = 7;
    CHECK(allocated_bytes(AllocatedSize::first, cpu) == 3);
    CHECK(allocated_bytes(AllocatedSize::second, cpu) == 50);
    CHECK(allocated_bytes(AllocatedSize::third, cpu) == 7);
    CHECK(allocated_bytes(AllocatedSize::first_by_second, cpu) == 150);
    CHECK(allocated_bytes(AllocatedSize::second_by_third, cpu) == 350);
    cpu[Gpr::rdi] = std::uint64_t{1} << 63;
    CHECK(allocated_bytes(AllocatedSize::first, cpu) == 0);
    cpu[Gpr::rsi] = 4;
    CHECK(allocated_bytes(AllocatedSize::first_by_second, cpu) == 0);
}

TEST_CASE("a note stands in front of the record of the block that its instruction begins") {
    TestGuest guest(512);
    guest.watch({"mnemonic == \"pop\" { hotlist(rax) }"});
    REQUIRE(TestGuest::returned(guest.call(reinterpret_cast<const void*>(test_fibonacci), 10)));
    REQUIRE_FALSE(guest.sink.notes.empty());
    for (const auto& [record, words] : guest.sink.notes) {
        REQUIRE(words < guest.sink.recorded.size());
        CHECK(guest.block(guest.sink.recorded[words]).start == record.pc);
    }
}

TEST_CASE("what is not probed runs in superblocks, which end where a probe is") {
    constexpr std::size_t small_words = 512;
    TestGuest guest(small_words);
    guest.watch({"mnemonic == \"push\" && op1.name == \"rbx\" { count() }"});
    REQUIRE(TestGuest::returned(guest.call(reinterpret_cast<const void*>(test_fibonacci), 24)));
    std::size_t sequences = 0, pushes = 0;
    std::uint64_t probed = 0;
    for (const auto& note : guest.sink.notes) probed = note.record.pc.value;
    guest.for_each_record([&](const BlockInfo& row, auto) { sequences += row.parts != 0; });
    guest.for_each_block(
        [&](const BlockInfo& block, auto) { pushes += block.start.value == probed; });
    CHECK(sequences > 100);
    CHECK(executed(guest, 0).size() == pushes);
}

TEST_CASE("an instruction that faults was not executed, and memory is read as it is then") {
    static std::uint64_t* end;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* pages =
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    end = reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(pages) + page);
    REQUIRE(mprotect(end, page, PROT_NONE) == 0);
    for (int i = 1; i <= 4; ++i) end[-i] = static_cast<std::uint64_t>(i);
    TestGuest guest;
    guest.watch({"reads && op1.name == \"rax\" { hotlist(mem64(rdi)) by address }",
                 "reads && op1.name == \"rax\" { hotlist(mem64(rdi + 8)) }"});
    guest.call(reinterpret_cast<const void*>(test_sum_until_fault), end - 4);
    const auto notes = executed(guest, 0);
    REQUIRE(notes.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(notes[i].value == 4 - i);
        CHECK(notes[i].key == reinterpret_cast<std::uint64_t>(end - 4 + i));
    }
    const auto ahead = executed(guest, 1);
    REQUIRE(ahead.size() == 4);
    CHECK(ahead[2].value == 1);
    CHECK(ahead[3].missed == 1);
    munmap(pages, 2 * page);
}

}  // namespace shadowprof::probe_watch_test
