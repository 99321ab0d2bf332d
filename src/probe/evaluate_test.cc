// Facts that are known only when an instruction is about to be executed.
#include <utility>

#include "probe/test_probes.h"

namespace shadowprof::evaluate_test {
namespace {

const Instruction nop() {
    return decoded({0x90});
}

void put_state(CpuState& cpu, std::size_t offset, std::uint64_t value) {
    std::memcpy(cpu.xsave.data() + offset, &value, sizeof value);
}

}  // namespace

TEST_CASE("registers have all their names") {
    ProbeBench bench;
    bench.cpu[Gpr::rax] = 0x1122334455667788;
    bench.cpu[Gpr::r8] = 0x99aabbccddeeff00;
    bench.cpu[Gpr::rsi] = 0x1234;
    bench.cpu.rflags = 0x246;
    bench.cpu.fs_base = 0x7000;
    bench.cpu.gs_base = 0x8000;
    const std::pair<const char*, std::uint64_t> rows[] = {{"rax", 0x1122334455667788},
                                                          {"eax", 0x55667788},
                                                          {"ax", 0x7788},
                                                          {"al", 0x88},
                                                          {"ah", 0x77},
                                                          {"r8", 0x99aabbccddeeff00},
                                                          {"r8d", 0xddeeff00},
                                                          {"r8w", 0xff00},
                                                          {"r8b", 0},
                                                          {"sil", 0x34},
                                                          {"rflags", 0x246},
                                                          {"fs_base", 0x7000},
                                                          {"gs_base", 0x8000},
                                                          {"rip", 0x1000},
                                                          {"int8(al)", ~0x77ull},
                                                          {"int16(rax)", 0x7788},
                                                          {"int64(rax)", 0x1122334455667788}};
    for (const auto& row : rows) {
        CAPTURE(row.first);
        CHECK(bench.value(row.first, nop()) == row.second);
    }
}

TEST_CASE("vector registers that are in their initial state are zero") {
    constexpr std::size_t header = 512;
    ProbeBench bench;
    put_state(bench.cpu, 160 + 3 * 16, 0x3ff0000000000000);
    put_state(bench.cpu, 1664 + 64, 77);
    CHECK(bench.value("xmm3", nop()) == 0);
    CHECK(bench.value("xmm17", nop()) == 0);
    put_state(bench.cpu, header, 0b10);
    CHECK(bench.value("xmm3", nop()) == 0x3ff0000000000000);
    CHECK(bench.value("xmm17", nop()) == 0);
    put_state(bench.cpu, header, 0b1000'0010);
    CHECK(bench.value("xmm17", nop()) == 77);
    CHECK(bench.value("op2", decoded({0xc5, 0xfd, 0x6f, 0xc3})) == 0x3ff0000000000000);
}

TEST_CASE("operands are registers, memory or immediates") {
    ProbeBench bench;
    bench.cpu[Gpr::rbx] = 0x2000;
    bench.cpu[Gpr::rcx] = 0xfffffffffffffff5;
    bench.cpu[Gpr::rsp] = 0x7000;
    bench.memory.put(0x2008, 0x8877665544332211);
    bench.memory.put(0x7000, 0x1111);
    bench.memory.put(0x7010, 0x2222);
    const auto add = decoded({0x01, 0x4b, 0x08});  // add [rbx+8], ecx
    CHECK(bench.value("op1", add) == 0x44332211);
    CHECK(bench.value("op2", add) == 0xfffffff5);
    CHECK(bench.value("int32(op2)", add) == 0xfffffffffffffff5);
    CHECK(bench.value("op1", decoded({0x66, 0x01, 0x4b, 0x08})) == 0x2211);
    CHECK(bench.value("op2", decoded({0x83, 0x43, 0x08, 0x05})) == 5);       // add [rbx+8], 5
    CHECK(bench.value("op2", decoded({0x48, 0x8d, 0x43, 0x10})) == 0x2010);  // lea rax, [rbx+16]
    // The value of a wide operand is its low 64 bits, and only they need be readable: movdqu xmm0,
    // [rbx+8].
    CHECK(bench.value("op2", decoded({0xf3, 0x0f, 0x6f, 0x43, 0x08})) == 0x8877665544332211);
    CHECK(bench.value("op1", decoded({0xff, 0x74, 0x24, 0x10})) == 0x2222);  // push [rsp+16]
    CHECK(bench.value("op1", decoded({0x8f, 0x44, 0x24, 0x08})) == 0x2222);  // pop [rsp+8]
    CHECK(bench.value("op1", decoded({0xff, 0xd3})) == 0x2000);              // call rbx

    const auto missed = [&](const std::string& value, const Instruction& in) {
        return bench.event("true { sum(" + value + ") }", in) ==
               ProbeEvent{.probe = 0, .missed = true};
    };
    CHECK(missed("op1", nop()));
    CHECK(missed("op3", add));
    CHECK(missed("op2", decoded({0x8b, 0x03})));                          // [rbx] is not there
    CHECK(missed("op2", decoded({0xc4, 0xe2, 0x75, 0x90, 0x04, 0x13})));  // a gather
    CHECK(missed("op1", decoded({0x48, 0x0f, 0xa3, 0x0b})));              // bt [rbx], rcx
    CHECK(missed("op1", decoded({0xdd, 0xc1})));                          // ffree st1
}

TEST_CASE("the address is that of the first access") {
    ProbeBench bench;
    bench.cpu[Gpr::rbx] = 0x2000;
    bench.cpu[Gpr::rsi] = 0x3000;
    bench.cpu[Gpr::rdi] = 0x4000;
    bench.cpu[Gpr::rsp] = 0x7000;
    bench.cpu.fs_base = 0x5000;
    const auto check = [&](std::initializer_list<int> bytes, std::uint64_t address,
                           std::uint64_t size) {
        CHECK(bench.value("address", decoded(bytes)) == address);
        CHECK(bench.value("size", decoded(bytes)) == size);
    };
    check({0x8b, 0x43, 0x10}, 0x2010, 4);              // mov eax, [rbx+16]
    check({0x64, 0x8a, 0x43, 0x10}, 0x7010, 1);        // mov al, fs:[rbx+16]
    check({0x48, 0x8b, 0x05, 9, 0, 0, 0}, 0x1010, 8);  // mov rax, [rip+9]
    check({0x53}, 0x6ff8, 8);                          // push rbx
    check({0xc3}, 0x7000, 8);                          // ret
    check({0xe8, 0, 0, 0, 0}, 0x6ff8, 8);              // call
    check({0xff, 0x33}, 0x2000, 8);                    // push [rbx]: the load comes first
    check({0x48, 0xa5}, 0x3000, 8);                    // movsq
    CHECK(bench.value("store_address", decoded({0xff, 0x33})) == 0x6ff8);
    CHECK(bench.value("load_address", decoded({0xff, 0x33})) == 0x2000);
    CHECK(bench.value("store_address", decoded({0x48, 0xa5})) == 0x4000);
    CHECK_FALSE(bench.value("address", decoded({0x48, 0x8d, 0x03})));

    bench.cpu[Gpr::rcx] = 5;
    check({0xf3, 0x48, 0xab}, 0x4000, 40);  // rep stosq
    bench.cpu[Gpr::rcx] = 0;
    CHECK_FALSE(bench.value("address", decoded({0xf3, 0x48, 0xab})));
}

TEST_CASE("memory at an address") {
    ProbeBench bench;
    bench.cpu[Gpr::rdi] = 0x2000;
    bench.memory.put(0x2000, 0x3000);
    bench.memory.put(0x3010, 0xfedcba9876543210);
    CHECK(bench.value("mem8(mem64(rdi) + 16)", nop()) == 0x10);
    CHECK(bench.value("mem16(mem64(rdi) + 16)", nop()) == 0x3210);
    CHECK(bench.value("mem32(mem64(rdi) + 20)", nop()) == 0xfedcba98);
    CHECK(bench.value("mem64(mem64(rdi) + 16)", nop()) == 0xfedcba9876543210);
    CHECK(bench.value("int32(mem32(mem64(rdi) + 20))", nop()) == 0xfffffffffedcba98);
    CHECK_FALSE(bench.value("mem64(0x3014)", nop()));
}

TEST_CASE("conditions look at the left side first, and no further than they must") {
    ProbeBench bench;
    bench.cpu[Gpr::rax] = 1;
    CHECK(bench.holds("rax == 1 || mem8(0) == 1", nop()));
    CHECK_FALSE(bench.holds("rax == 2 && mem8(0) == 1", nop()));
    CHECK_FALSE(bench.event("rax == 2 && mem8(0) == 1 { count() }", nop()));
    CHECK(bench.holds("rax", nop()));
    CHECK_FALSE(bench.holds("rbx", nop()));
    CHECK(bench.holds("rax && (rbx || rax)", nop()));
    CHECK(bench.holds("-1 < 0 && !(0 - 1 < 0) && int32(rbx) - 1 < 0", nop()));
}

TEST_CASE("what cannot be known is missed") {
    ProbeBench bench;
    const ProbeEvent missed{.probe = 0, .missed = true};
    CHECK(bench.event("mem8(rax) == 1 { count() }", nop()) == missed);
    CHECK(bench.event("true { sum(1 / rax) }", nop()) == missed);
    CHECK(bench.event("true { sum(1 % 0) }", nop()) == missed);
    CHECK(bench.event("1 / 0 { count() }", nop()) == missed);
    CHECK(bench.event("true { count() by mem8(rax) }", nop()) == missed);
    // The condition decides before the value is computed.
    CHECK_FALSE(bench.event("rax == 1 { sum(1 / rax) }", nop()));
    // The condition has an operand that does not exist.
    CHECK_FALSE(bench.event("rax == 1 || op1 == 0 { count() }", nop()));
    bench.cpu[Gpr::rax] = 1;
    CHECK(bench.event("rax == 1 || op1 == 0 { count() }", nop()) == ProbeEvent{});
}

TEST_CASE("values and keys are evaluated, places are left to the collector") {
    ProbeBench bench;
    bench.cpu[Gpr::rax] = 130;
    CHECK(bench.event("true { sum(rax + 1) by rax / 64 * 64 }", nop()) ==
          ProbeEvent{.probe = 0, .value = 131, .key = 128});
    CHECK(bench.event("true { hotlist(at) by caller }", nop()) == ProbeEvent{});
}

TEST_CASE("without a latency there are no events of latencies") {
    ProbeBench bench;
    for (const char* probe : {"latency > 300 { count() }", "true { histogram(latency) }",
                              "true { count() by latency }"}) {
        bench.latency.reset();
        CHECK_FALSE(bench.event(probe, nop()));
        bench.latency = 400;
        CHECK(bench.event(probe, nop()));
    }
    CHECK(bench.value("latency * 2", nop()) == 800);
    bench.latency = 300;
    CHECK_FALSE(bench.event("latency > 300 { count() }", nop()));
}

}  // namespace shadowprof::evaluate_test
