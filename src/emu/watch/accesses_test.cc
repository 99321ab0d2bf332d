#include "emu/watch/accesses.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

namespace shadowprof::accesses_test {
namespace {

CpuState registers() {
    CpuState cpu;
    for (std::size_t i = 0; i < cpu.gpr.size(); ++i) cpu.gpr[i] = 0x1'0000'0000 * (i + 1) + 0x40;
    cpu.fs_base = 0x7000;
    return cpu;
}

Instruction decoded(std::initializer_list<int> code) {
    std::vector<std::byte> raw;
    for (int b : code) raw.push_back(static_cast<std::byte>(b));
    const auto in = Instruction::decode(raw, {0x1000});
    REQUIRE(in);
    return *in;
}

std::optional<AccessList> accesses(std::initializer_list<int> code, const CpuState& cpu) {
    return accesses_of(decoded(code), cpu);
}

Access only(std::initializer_list<int> code, const CpuState& cpu = registers()) {
    const auto list = accesses(code, cpu);
    REQUIRE(list);
    REQUIRE(list->size() == 1);
    return *list->begin();
}

}  // namespace

TEST_CASE("an address is base, scaled index, displacement and segment") {
    const auto cpu = registers();
    // mov eax, [rbx + rcx*4 - 8]
    const auto sum = only({0x8b, 0x44, 0x8b, 0xf8});
    CHECK(sum.address.value == cpu[Gpr::rbx] + 4 * cpu[Gpr::rcx] - 8);
    CHECK(sum.size_bytes == 4);
    CHECK(sum.is_plain_load);
    // mov rax, [rip + 0x10]
    CHECK(only({0x48, 0x8b, 0x05, 0x10, 0, 0, 0}).address.value == 0x1017);
    // mov rax, fs:[0x28]
    CHECK(only({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}).address.value == 0x7028);
    // mov eax, [ebx]: the address has 32 bits
    CHECK(only({0x67, 0x8b, 0x03}).address.value == 0x40);
    // vmovups zmm0, [rdi]
    CHECK(only({0x62, 0xf1, 0x7c, 0x48, 0x10, 0x07}).size_bytes == 64);
}

TEST_CASE("the stack is where the stack pointer will have it") {
    const auto cpu = registers();
    const auto rsp = cpu[Gpr::rsp];
    const auto push = only({0x50});
    CHECK(push.address.value == rsp - 8);
    CHECK_FALSE(push.reads);
    const auto pop = only({0x58});
    CHECK(pop.address.value == rsp);
    CHECK(pop.is_plain_load);
    CHECK(only({0xc3}).address.value == rsp);
    CHECK(only({0xe8, 0, 0, 0, 0}).address.value == rsp - 8);
    CHECK(only({0xc9}).address.value == cpu[Gpr::rbp]);  // leave
    // call [rax]: the target is read, the return address written
    const auto call = accesses({0xff, 0x10}, cpu);
    REQUIRE(call);
    REQUIRE(call->size() == 2);
    CHECK(call->begin()[0].address.value == cpu[Gpr::rax]);
    CHECK(call->begin()[0].is_plain_load);
    CHECK(call->begin()[1].address.value == rsp - 8);
}

TEST_CASE("what is locked, masked or a string is accessed but no plain load") {
    CHECK_FALSE(only({0xf0, 0x01, 0x03}).is_plain_load);  // lock add [rbx], eax
    CHECK_FALSE(only({0x87, 0x03}).is_plain_load);        // xchg [rbx], eax
    CHECK(only({0x01, 0x03}).is_plain_load);              // add [rbx], eax
    CHECK_FALSE(only({0x89, 0x03}).is_plain_load);        // mov [rbx], eax
    // vmovups zmm0{k1}, [rdi]
    CHECK_FALSE(only({0x62, 0xf1, 0x7c, 0x49, 0x10, 0x07}).is_plain_load);
    auto cpu = registers();
    cpu[Gpr::rcx] = 100;
    const auto movs = accesses({0xf3, 0x48, 0xa5}, cpu);  // rep movsq
    REQUIRE(movs);
    REQUIRE(movs->size() == 2);
    for (const auto& access : *movs) {
        CHECK(access.size_bytes == 800);
        CHECK_FALSE(access.is_plain_load);
    }
}

TEST_CASE("what registers alone do not tell is not told") {
    auto cpu = registers();
    CHECK_FALSE(accesses({0x0f, 0xa3, 0x03}, cpu));                    // bt [rbx], eax
    CHECK_FALSE(accesses({0x0f, 0xae, 0x23}, cpu));                    // xsave [rbx]
    CHECK_FALSE(accesses({0xc8, 0x10, 0, 0}, cpu));                    // enter 16, 0
    CHECK_FALSE(accesses({0xc4, 0xe2, 0x69, 0x90, 0x0c, 0x03}, cpu));  // vpgatherdd
    CHECK_FALSE(accesses({0xf3, 0xa4}, cpu));                          // a long rep movsb
    cpu[Gpr::rcx] = 1;
    CHECK(accesses({0xf3, 0xa4}, cpu));
    cpu.rflags |= 0x400;
    CHECK_FALSE(accesses({0xf3, 0xa4}, cpu));  // downwards
}

TEST_CASE("hints and addresses alone are no accesses") {
    for (const auto& code : {std::initializer_list<int>{0x0f, 0x18, 0x0b},     // prefetcht0 [rbx]
                             std::initializer_list<int>{0x0f, 0x1f, 0x00},     // nop [rax]
                             std::initializer_list<int>{0x48, 0x8d, 0x03}}) {  // lea rax, [rbx]
        const auto list = accesses(code, registers());
        REQUIRE(list);
        CHECK(list->size() == 0);
    }
}

TEST_CASE("the segment of the first access to no canonical address tells the fault") {
    auto cpu = registers();
    const auto by_stack = [&](std::initializer_list<int> code) {
        return faults_in_stack_segment(decoded(code), cpu);
    };
    CHECK_FALSE(by_stack({0x48, 0x8b, 0x45, 0x00}));  // mov rax, [rbp], which is canonical
    cpu[Gpr::rax] = cpu[Gpr::rbp] = cpu[Gpr::rsp] = 0x8000'0000'0000'1230;
    CHECK(by_stack({0x48, 0x8b, 0x45, 0x00}));
    CHECK_FALSE(by_stack({0x48, 0x8b, 0x18}));              // mov rbx, [rax]
    CHECK(by_stack({0x3e, 0x48, 0x8b, 0x45, 0x00}));        // a prefix of DS has no effect
    CHECK_FALSE(by_stack({0x64, 0x48, 0x8b, 0x45, 0x00}));  // mov rax, fs:[rbp]
    CHECK(by_stack({0x50}));                                // push rax
    CHECK_FALSE(by_stack({0xff, 0x30}));                    // push [rax] reads that first
    CHECK(by_stack({0x8f, 0x00}));                          // pop [rax] reads the stack first
    CHECK(by_stack({0xff, 0x33}));                          // push [rbx]
    CHECK(by_stack({0xc8, 0x10, 0, 0}));                    // enter 16, 0
    CHECK(by_stack({0xc9}));                                // leave
}

TEST_CASE("an operand that must be aligned and is not is no fault of the stack's segment") {
    auto cpu = registers();
    const auto by_stack = [&](std::initializer_list<int> code, std::uint64_t rbp) {
        cpu[Gpr::rbp] = rbp;
        return faults_in_stack_segment(decoded(code), cpu);
    };
    constexpr std::uint64_t aligned = 0x8000'0000'0000'1230, misaligned = aligned + 8;
    for (const auto& code :
         {std::initializer_list<int>{0x0f, 0x28, 0x45, 0x00},           // movaps xmm0, [rbp]
          std::initializer_list<int>{0x66, 0x0f, 0x58, 0x45, 0x00},     // addpd xmm0, [rbp]
          std::initializer_list<int>{0x66, 0x0f, 0xfc, 0x45, 0x00},     // paddb xmm0, [rbp]
          std::initializer_list<int>{0xc5, 0xf8, 0x29, 0x45, 0x00},     // vmovaps [rbp], xmm0
          std::initializer_list<int>{0x48, 0x0f, 0xc7, 0x4d, 0x00}}) {  // cmpxchg16b [rbp]
        CHECK(by_stack(code, aligned));
        CHECK_FALSE(by_stack(code, misaligned));
    }
    for (const auto& code :
         {std::initializer_list<int>{0x0f, 0x10, 0x45, 0x00},                 // movups xmm0, [rbp]
          std::initializer_list<int>{0xf2, 0x0f, 0xf0, 0x45, 0x00},           // lddqu xmm0, [rbp]
          std::initializer_list<int>{0x66, 0x0f, 0x3a, 0x63, 0x45, 0x00, 0},  // pcmpistri
          std::initializer_list<int>{0xc5, 0xf9, 0x58, 0x45, 0x00},  // vaddpd xmm0, xmm0, [rbp]
          std::initializer_list<int>{0xf2, 0x0f, 0x58, 0x45, 0x00},  // addsd xmm0, [rbp]
          std::initializer_list<int>{0x48, 0x8b, 0x45, 0x00}})       // mov rax, [rbp]
        CHECK(by_stack(code, misaligned));
}

}  // namespace shadowprof::accesses_test
