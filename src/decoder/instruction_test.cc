#include "decoder/instruction.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

namespace shadowprof::instruction_test {
namespace {

std::optional<Instruction> decode(std::initializer_list<int> bytes) {
    std::vector<std::byte> raw;
    for (int b : bytes) raw.push_back(static_cast<std::byte>(b));
    return Instruction::decode(raw, {0x1000});
}

}  // namespace

TEST_CASE("control flow is told apart") {
    CHECK(decode({0x90})->flow() == Flow::next);
    CHECK(decode({0x74, 0x10})->flow() == Flow::conditional);
    CHECK(decode({0x74, 0x10})->branch_target().value == 0x1012);
    CHECK(decode({0xe2, 0xfe})->flow() == Flow::conditional);      // loop
    CHECK(decode({0xe3, 0xfe})->branch_target().value == 0x1000);  // jrcxz
    CHECK(decode({0xeb, 0xf0})->branch_target().value == 0xff2);
    CHECK(decode({0xff, 0xe0})->flow() == Flow::indirect_jump);
    CHECK(decode({0xff, 0x25, 0, 0, 0, 0})->flow() == Flow::indirect_jump);
    CHECK(decode({0xe8, 0, 0, 0, 0})->flow() == Flow::call);
    CHECK(decode({0xff, 0xd0})->flow() == Flow::indirect_call);
    CHECK(decode({0xc3})->flow() == Flow::ret);
    CHECK(decode({0xc2, 8, 0})->flow() == Flow::ret);
    CHECK(decode({0x0f, 0x05})->flow() == Flow::syscall);
    CHECK(decode({0xcd, 0x80})->flow() == Flow::other);                    // int 0x80
    CHECK(decode({0xcc})->flow() == Flow::other);                          // int3
    CHECK(decode({0xf4})->flow() == Flow::other);                          // hlt
    CHECK(decode({0xff, 0x28})->flow() == Flow::other);                    // far jmp
    CHECK(decode({0xc7, 0xf8, 0, 0, 0, 0})->flow() == Flow::other);        // xbegin
    CHECK(decode({0x0f, 0x01, 0xd5})->flow() == Flow::other);              // xend
    CHECK(decode({0xc5, 0xf8, 0x85, 0, 0, 0, 0})->flow() == Flow::other);  // jknzd
    CHECK(decode({0x0f, 0x31})->flow() == Flow::next);                     // rdtsc
    CHECK(decode({0x0f, 0xa2})->flow() == Flow::next);                     // cpuid
}

TEST_CASE("bytes that are no instruction, or are cut off, decode to nothing") {
    CHECK(!decode({0x06}));
    CHECK(!decode({0xe8, 0, 0}));
    CHECK(!Instruction::decode({}, {0}));
}

TEST_CASE("registers are found where the encoding names them") {
    // add r9, [r10 + r11*8]
    auto uses = decode({0x4f, 0x03, 0x0c, 0xda})->gpr_uses();
    int seen = 0;
    for (const auto& use : uses) {
        if (use.field == GprField::modrm_reg) CHECK((use.number == 9 && use.read && use.written));
        if (use.field == GprField::base) CHECK((use.number == 10 && use.read && !use.written));
        if (use.field == GprField::index) CHECK((use.number == 11 && use.read));
        ++seen;
    }
    CHECK(seen == 3);
    // push r12: the stack pointer is implicit and not in the encoding
    auto push = decode({0x41, 0x54})->gpr_uses();
    REQUIRE(push.end() - push.begin() == 1);
    CHECK(push.begin()->field == GprField::opcode);
    CHECK(push.begin()->number == 12);
    // mov ah, bl
    auto high = decode({0x88, 0xdc})->gpr_uses();
    CHECK(high.begin()->high_byte);
    CHECK(high.begin()->number == 0);
}

TEST_CASE("a write of part of a register, and a conditional one, needs the old value") {
    CHECK(!decode({0x49, 0x89, 0xc1})->gpr_uses().begin()->read);       // mov r9, rax
    CHECK(!decode({0x41, 0x89, 0xc1})->gpr_uses().begin()->read);       // mov r9d, eax
    CHECK(decode({0x66, 0x41, 0x89, 0xc1})->gpr_uses().begin()->read);  // mov r9w, ax
    CHECK(decode({0x41, 0x88, 0xc1})->gpr_uses().begin()->read);        // mov r9b, al
    CHECK(decode({0x4c, 0x0f, 0x44, 0xc8})->gpr_uses().begin()->read);  // cmovz r9, rax
    CHECK(decode({0x4c, 0x0f, 0xbc, 0xc8})->gpr_uses().begin()->read);  // bsf r9, rax
}

TEST_CASE("flags: a shift and a repeated string instruction kill none") {
    CHECK(decode({0x48, 0x01, 0xd8})->flags_killed() == status_flags);  // add
    CHECK(decode({0x48, 0x31, 0xd8})->flags_killed() == status_flags);  // xor
    CHECK(decode({0x48, 0xd3, 0xe0})->flags_killed() == 0);             // shl rax, cl
    CHECK(decode({0xf3, 0xa6})->flags_killed() == 0);                   // repe cmpsb
    CHECK(decode({0x48, 0xff, 0xc0})->flags_killed() ==
          (status_flags & ~std::uint32_t{ZYDIS_CPUFLAG_CF}));             // inc
    CHECK(decode({0x48, 0x11, 0xd8})->flags_read() == ZYDIS_CPUFLAG_CF);  // adc
    CHECK(decode({0x0f, 0x05})->flags_read() == status_flags);            // syscall
    CHECK(decode({0x0f, 0x05})->flags_killed() == 0);
    CHECK(decode({0x72, 0})->flags_read() == ZYDIS_CPUFLAG_CF);  // jb
}

}  // namespace shadowprof::instruction_test
