#include "reference_check.h"

#include <doctest/doctest.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

#include "decoder/gpr_numbers.h"
#include "emulated_case.h"
#include "native.h"
#include "start_state.h"

using namespace shadowprof;

namespace {

using Bytes = std::vector<std::uint8_t>;

using gpr::rbx, gpr::rcx;

// A processor executes these as no-operations unless MPX is enabled: BNDMOV from memory at RBX, to
// memory at RBX, and between registers.
const std::vector<Bytes> bndmov = {
    {0x66, 0x0f, 0x1a, 0x03}, {0x66, 0x0f, 0x1b, 0x03}, {0x66, 0x0f, 0x1a, 0xc1}};
const Bytes fbstp_at_rcx = {0xdf, 0x31};
const Bytes fstp_80_at_rcx = {0xdb, 0x39};
const Bytes store_quadword_at_rcx = {0x48, 0x89, 0x11};
const Bytes store_32_at_rcx = {0xc5, 0xfe, 0x7f, 0x01};  // vmovdqu, part of AVX

// Both instructions; for the second one RCX is `before_end` bytes before the end of the data.
Case two_instructions(const Bytes& first, const Bytes& second, std::uint64_t before_end,
                      std::uint64_t seed = 1) {
    Random random(seed);
    Case test;
    randomize_state(test, random);
    test.form = ~std::uint64_t{0};
    test.instructions = 2;
    test.start.gpr[rcx] = test.data().value + data_bytes - before_end;
    test.start.gpr[rbx] = test.data().value + 64;
    for (const auto& bytes : {first, second}) {
        std::memcpy(&test.code[test.code_length], bytes.data(), bytes.size());
        test.code_length += static_cast<std::uint32_t>(bytes.size());
    }
    return test;
}

// The result of check_references() if the trace has no access, the second instruction ended the
// case with `ending`, and one byte of the data changed.
std::string check_silent_store(const Bytes& store, Ending ending, std::uint64_t before_end,
                               std::size_t changed_at) {
    static BlockTables no_tables({}, {}, {}, {});
    const auto test = two_instructions(bndmov[2], store, before_end);
    const auto native = std::make_unique<Outcome>();
    native->cpu = test.start;
    native->cpu.rip = test.code_start() + (ending == Ending::fault ? 4 : 4 + store.size());
    native->ending = ending;
    native->signal = ending == Ending::fault ? SIGSEGV : 0;
    fill_memory(test, native->memory);
    native->memory[changed_at] ^= std::byte{1};
    return check_references(test, *native, {}, no_tables);
}

}  // namespace

TEST_CASE("of a long x87 store that faults, a part may be done") {
    const auto last = data_bytes - 1;
    CHECK(check_silent_store(fbstp_at_rcx, Ending::fault, 9, data_bytes - 9).empty());
    CHECK(check_silent_store(fbstp_at_rcx, Ending::fault, 9, last).empty());
    CHECK(check_silent_store(fstp_80_at_rcx, Ending::fault, 8, last).empty());
    // No excuse for bytes beside the operand, or without a fault.
    CHECK(!check_silent_store(fbstp_at_rcx, Ending::fault, 9, data_bytes - 10).empty());
    CHECK(!check_silent_store(fbstp_at_rcx, Ending::marker, 10, last).empty());
    // Other instructions store all bytes or none.
    CHECK(!check_silent_store(store_quadword_at_rcx, Ending::fault, 4, last).empty());
    CHECK(!check_silent_store(store_32_at_rcx, Ending::fault, 9, last).empty());
}

TEST_CASE("FBSTP behind BNDMOV does and faults as on the processor") {
    NativeRunner native;
    CaseEmulator emulator;
    const auto slot = std::make_unique<Slot>();
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        for (const auto& first : bndmov)
            for (const auto& store : {fbstp_at_rcx, fstp_80_at_rcx})
                for (const unsigned before_end : {0u, 1u, 2u, 5u, 7u, 8u, 9u, 10u, 4100u}) {
                    slot->test = two_instructions(first, store, before_end, seed);
                    native.run(slot->test, slot->native);
                    emulator.run(*slot);
                    for (const auto& emulated : slot->emulated)
                        CHECK(compare(slot->test, slot->native, emulated) == "");
                }
}
