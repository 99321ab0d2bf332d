#include "decoder/memory_references.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "decoder/register_flow.h"

namespace shadowprof::memory_references_test {
namespace {

constexpr std::uint8_t rax = 0, rbx = 3, rsp = 4, rbp = 5, rsi = 6, rdi = 7;

Instruction decode(std::initializer_list<int> bytes) {
    std::vector<std::byte> raw;
    for (int b : bytes) raw.push_back(static_cast<std::byte>(b));
    const auto in = Instruction::decode(raw, {0x1000});
    REQUIRE(in);
    return *in;
}

unsigned bit(std::uint8_t gpr) {
    return 1u << gpr;
}

}  // namespace

TEST_CASE("accesses are told with their order, size and address") {
    const auto movs = decode({0x48, 0xa5});  // movsq
    const auto both = memory_references(movs);
    REQUIRE(both.size() == 2);
    CHECK(both.begin()[0].base == rsi);
    CHECK(both.begin()[0].load);
    CHECK(both.begin()[1].base == rdi);
    CHECK(both.begin()[1].store);
    CHECK_FALSE(both.begin()[1].repeated);
    CHECK(memory_references(decode({0xf3, 0x48, 0xa5})).begin()->repeated);

    const auto pop = decode({0x8f, 0x44, 0x24, 0x10});  // pop [rsp + 16]
    const auto moved = memory_references(pop);
    REQUIRE(moved.size() == 2);
    CHECK(moved.begin()[0].stack);
    CHECK(moved.begin()[1].displacement == 24);

    const auto leave = decode({0xc9});
    CHECK(memory_references(leave).begin()->base == rbp);
    const auto call = decode({0xff, 0x13});  // call [rbx]
    const auto pushed = memory_references(call);
    REQUIRE(pushed.size() == 2);
    CHECK(pushed.begin()[0].load);
    CHECK(pushed.begin()[1].displacement == -8);
    CHECK(pushed.begin()[1].base == rsp);
}

TEST_CASE("hints and address calculations are no accesses") {
    CHECK(memory_references(decode({0x48, 0x8d, 0x03})).size() == 0);  // lea rax, [rbx]
    CHECK(memory_references(decode({0x0f, 0x18, 0x0b})).size() == 0);  // prefetcht0 [rbx]
    CHECK(memory_references(decode({0x0f, 0x1f, 0x00})).size() == 0);  // nop [rax]
    CHECK(memory_references(decode({0x0f, 0xae, 0x3b})).size() == 0);  // clflush [rbx]
}

TEST_CASE("of a broadcast one element is loaded, of a masked access an unknown part") {
    // vaddps zmm0, zmm1, [rbx]{1to16}
    const auto one = decode({0x62, 0xf1, 0x74, 0x58, 0x58, 0x03});
    REQUIRE(memory_references(one).size() == 1);
    CHECK(memory_references(one).begin()->bytes == 4);
    CHECK_FALSE(memory_references(one).begin()->masked);
    // vmovups [rbx]{k1}, zmm0
    const auto masked = decode({0x62, 0xf1, 0x7c, 0x49, 0x11, 0x03});
    CHECK(memory_references(masked).begin()->masked);
    CHECK(memory_references(masked).begin()->bytes == 64);
}

TEST_CASE("hints, masks and bits numbered by a register are known") {
    for (const auto& hint : {decode({0x0f, 0x1c, 0x03}),        // cldemote [rbx]
                             decode({0x66, 0x0f, 0xae, 0x3b}),  // clflushopt [rbx]
                             decode({0x66, 0x0f, 0xae, 0x33}),  // clwb [rbx]
                             decode({0x0f, 0x0d, 0x13})})       // prefetchwt1 [rbx]
        CHECK(is_hint(hint));
    CHECK_FALSE(is_hint(decode({0x48, 0x8b, 0x03})));            // mov rax, [rbx]
    CHECK(is_masked(decode({0x66, 0x0f, 0xf7, 0xc1})));          // maskmovdqu xmm0, xmm1
    CHECK(is_masked(decode({0xc4, 0xe2, 0x75, 0x2c, 0x03})));    // vmaskmovps ymm0, ymm1, [rbx]
    CHECK_FALSE(is_masked(decode({0xc5, 0xfc, 0x10, 0x03})));    // vmovups ymm0, [rbx]
    CHECK(has_register_bit_offset(decode({0x0f, 0xab, 0x03})));  // bts [rbx], eax
    CHECK_FALSE(has_register_bit_offset(decode({0x0f, 0xba, 0x2b, 0x05})));  // bts [rbx], 5
}

TEST_CASE("locks and fences are known") {
    CHECK(is_locked(decode({0xf0, 0x48, 0x01, 0x03})));  // lock add [rbx], rax
    CHECK(is_locked(decode({0x48, 0x87, 0x03})));        // xchg [rbx], rax
    CHECK_FALSE(is_locked(decode({0x48, 0x87, 0xc3})));  // xchg rbx, rax
    CHECK(is_fence(decode({0x0f, 0xae, 0xf0})));         // mfence
    CHECK_FALSE(is_fence(decode({0x0f, 0xae, 0xf8})));   // sfence
}

TEST_CASE("what registers are made of") {
    const auto load = register_flow(decode({0x48, 0x8b, 0x03}));  // mov rax, [rbx]
    CHECK(load.read == 0);
    CHECK(load.written == bit(rax));
    CHECK(load.copies);
    const auto add = register_flow(decode({0x48, 0x01, 0xd8}));  // add rax, rbx
    CHECK(add.read == (bit(rax) | bit(rbx)));
    CHECK(add.written == bit(rax));
    CHECK_FALSE(add.copies);
    const auto lea = register_flow(decode({0x48, 0x8d, 0x43, 0x08}));  // lea rax, [rbx + 8]
    CHECK(lea.read == bit(rbx));
    CHECK(lea.copies);
    const auto indexed = register_flow(decode({0x48, 0x8d, 0x04, 0x33}));  // lea rax, [rbx + rsi]
    CHECK(indexed.read == (bit(rbx) | bit(rsi)));
    CHECK_FALSE(indexed.copies);
    CHECK(register_flow(decode({0x31, 0xc0})).read == 0);                      // xor eax, eax
    CHECK(register_flow(decode({0x88, 0xd8})).read == (bit(rax) | bit(rbx)));  // mov al, bl
    const auto store = register_flow(decode({0x48, 0x89, 0x03}));              // mov [rbx], rax
    CHECK(store.read == bit(rax));
    CHECK(store.written == 0);
    const auto push = register_flow(decode({0x53}));  // push rbx
    CHECK(push.read == bit(rbx));
    CHECK(push.written == 0);
    CHECK(register_flow(decode({0x5b})).written == bit(rbx));  // pop rbx
}

TEST_CASE("the place of an operand follows from the registers before the instruction") {
    CpuState cpu;
    cpu[Gpr::rbx] = 0x1'0000'0010;
    cpu[Gpr::rcx] = 3;
    cpu[Gpr::rsp] = 0x7000;
    cpu.fs_base = 0x5000;
    const auto place = [&](const Instruction& in, std::size_t operand) {
        const auto reference = operand_reference(in, in.operands()[operand]);
        REQUIRE(reference);
        return address_of(*reference, cpu).value;
    };
    CHECK(place(decode({0x8b, 0x44, 0x8b, 0x08}), 1) == 0x1'0000'0010 + 3 * 4 + 8);
    CHECK(place(decode({0x67, 0x8b, 0x03}), 1) == 0x10);                  // mov eax, [ebx]
    CHECK(place(decode({0x64, 0x8b, 0x03}), 1) == 0x1'0000'5010);         // mov eax, fs:[rbx]
    CHECK(place(decode({0x48, 0x8d, 0x43, 0xf8}), 1) == 0x1'0000'0008);   // lea rax, [rbx - 8]
    CHECK(place(decode({0x8f, 0x44, 0x24, 0x10}), 0) == 0x7000 + 24);     // pop [rsp + 16]
    CHECK(place(decode({0x8b, 0x05, 4, 0, 0, 0}), 1) == 0x1000 + 6 + 4);  // mov eax, [rip + 4]

    const auto bit_test = decode({0x48, 0x0f, 0xa3, 0x0b});  // bt [rbx], rcx
    CHECK_FALSE(operand_reference(bit_test, bit_test.operands()[0]));
    const auto gather = decode({0xc4, 0xe2, 0x75, 0x90, 0x04, 0x13});  // vpgatherdd
    CHECK_FALSE(operand_reference(gather, gather.operands()[1]));
    CHECK_FALSE(operand_reference(bit_test, bit_test.operands()[1]));
}

}  // namespace shadowprof::memory_references_test
