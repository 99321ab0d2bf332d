// Facts that are known before an instruction is executed.
#include "probe/test_probes.h"

namespace shadowprof::bind_test {
namespace {

// Checks that a condition always holds for the instruction, or never does.
void check_static(const std::string& condition, const Instruction& in, bool expected) {
    CAPTURE(condition);
    const auto bound = probe_set({condition + " { count() }"}).bind(in, 0);
    CHECK(bound.size() == (expected ? 1 : 0));
    if (expected && !bound.empty()) CHECK(bound[0].always_holds());
}

const Instruction load() {
    return decoded({0x8b, 0x44, 0x8b, 0x08});  // mov eax, [rbx+rcx*4+0x8]
}

}  // namespace

TEST_CASE("what an instruction is named and consists of") {
    const auto in = load();
    for (const char* condition : {"mnemonic == \"mov\"",
                                  "mnemonic ~ \"m*\"",
                                  "mnemonic !~ \"*div\"",
                                  "class == \"dataxfer\"",
                                  "text == \"mov eax, [rbx+rcx*4+0x8]\"",
                                  "text ~ \"*[[]rbx*\"",
                                  "length == 4",
                                  "operands == 2",
                                  "op1.kind == \"reg\"",
                                  "op1.name == \"eax\"",
                                  "op1.size == 4",
                                  "op2.kind == \"mem\"",
                                  "op2.name == \"\"",
                                  "op2.size == 4",
                                  "op3.kind == \"\"",
                                  "op3.size == 0",
                                  "reads",
                                  "!writes",
                                  "!branch",
                                  "!call",
                                  "!return",
                                  "!atomic",
                                  "!vector",
                                  "true",
                                  "rip == 0x1000",
                                  "op1.kind != op2.kind"})
        check_static(condition, in, true);
    for (const char* condition : {"mnemonic == \"movzx\"", "writes", "false", "length > 4",
                                  "op1.kind == op2.kind", "reads && op1.size == 8"})
        check_static(condition, in, false);
}

TEST_CASE("what instructions do") {
    check_static("writes && !reads", decoded({0x89, 0x03}), true);            // mov [rbx], eax
    check_static("reads && writes && !atomic", decoded({0x01, 0x03}), true);  // add [rbx], eax
    check_static("atomic && mnemonic == \"add\"", decoded({0xf0, 0x01, 0x03}), true);
    check_static("atomic", decoded({0x87, 0x03}), true);      // xchg [rbx], eax
    check_static("writes && !reads", decoded({0x53}), true);  // push rbx
    check_static("return && reads", decoded({0xc3}), true);   // ret
    check_static("call && writes && !branch", decoded({0xe8, 1, 0, 0, 0}), true);
    check_static("branch && mnemonic == \"je\"", decoded({0x74, 2}), true);
    check_static("branch && op1 == 0x1004", decoded({0x74, 2}), true);
    check_static("branch && reads", decoded({0xff, 0x23}), true);              // jmp [rbx]
    check_static("reads || writes", decoded({0x48, 0x8d, 0x03}), false);       // lea rax, [rbx]
    check_static("reads || writes", decoded({0x0f, 0x18, 0x0b}), false);       // prefetcht0 [rbx]
    check_static("vector && reads", decoded({0x66, 0x0f, 0x6f, 0x03}), true);  // movdqa xmm0, [rbx]
    check_static("vector", decoded({0x48, 0x01, 0xd8}), false);
    check_static("mnemonic == \"movsb\" && text == \"rep movsb\"", decoded({0xf3, 0xa4}), true);
}

TEST_CASE("immediates are as wide as the instruction takes them") {
    check_static("op2 == 0xfffffff0", decoded({0x83, 0xe0, 0xf0}), true);  // and eax, -16
    check_static("op2 == 0xfffffffffffffff0", decoded({0x48, 0x83, 0xe0, 0xf0}), true);
    check_static("op2 == 0xf0", decoded({0x24, 0xf0}), true);  // and al, -16
    check_static("int8(op2) == -16", decoded({0x24, 0xf0}), true);
    check_static("op3 == 5", decoded({0x6b, 0xc3, 5}), true);  // imul eax, ebx, 5
    check_static("op1 == 0x2000", decoded({0xe8, 0xfb, 0x0f, 0, 0}), true);
}

TEST_CASE("a condition that names what the instruction lacks does not hold") {
    const auto nop = decoded({0x90}), push = decoded({0x53});
    for (const char* condition :
         {"op1 == 0", "op1 != 0", "!(op1 == 0)", "address != 0", "size > 0", "load_address",
          "rax == 1 && op1 == 1", "op1 == 1 && rax == 1", "op1 == 1 || true == 2"})
        check_static(condition, nop, false);
    check_static("operands == 0 || op1 == 3", nop, true);
    check_static("reads && op3 == 1", load(), false);
    check_static("writes || op3 == 1", load(), false);
    check_static("load_address != 0", push, false);
    CHECK(probe_set({"store_address != 0 { count() }"}).bind(push, 0).size() == 1);
}

TEST_CASE("what is not known is left to be evaluated, and nothing else") {
    const auto in = load();
    const auto set = probe_set({"mnemonic == \"mov\" && rax == 1 { count() }",
                                "mnemonic == \"add\" && rax == 1 { count() }",
                                "mnemonic == \"mov\" || rax == 1 { count() }",
                                "latency > 3 { count() }", "true { hotlist(address) by at }"});
    const auto bound = set.bind(in, 0);
    REQUIRE(bound.size() == 4);
    CHECK(bound[0].probe() == 0);
    CHECK_FALSE(bound[0].always_holds());
    CHECK(bound[1].probe() == 2);
    CHECK(bound[1].always_holds());
    CHECK(bound[2].uses_latency());
    CHECK(bound[3].always_holds());
    CHECK(ProbeSet().bind(in, 0).empty());
}

TEST_CASE("place tests are what the worker is told") {
    const auto in = load();
    const auto set =
        probe_set({"function == \"f\" && reads { count() }", "reads || !entry { count() }",
                   "entry && rax == 1 { count() }", "true { sum(entry + rax) }"});
    REQUIRE(set.place_tests() == 4);
    const auto probes = [&](const Instruction& what, std::uint64_t bits) {
        std::vector<std::uint32_t> numbers;
        for (const auto& bound : set.bind(what, bits)) numbers.push_back(bound.probe());
        return numbers;
    };
    using Numbers = std::vector<std::uint32_t>;
    CHECK(probes(in, 0) == Numbers{1, 3});
    CHECK(probes(in, 0b0001) == Numbers{0, 1, 3});
    CHECK(probes(in, 0b0100) == Numbers{1, 2, 3});
    const auto nop = decoded({0x90});
    CHECK(probes(nop, 0b0001) == Numbers{3});
    CHECK(probes(nop, 0b0010) == Numbers{1, 3});

    ProbeBench bench;
    bench.cpu[Gpr::rax] = 7;
    bench.place_bits = 1;
    CHECK(bench.value("entry + rax", nop) == 8);
}

TEST_CASE("a bound probe outlives the instruction") {
    CpuState cpu;
    cpu[Gpr::rbx] = 0x100;
    SparseMemory memory;
    memory.put(0x108, 9);
    std::vector<BoundProbe> bound;
    {
        auto in = std::make_unique<Instruction>(load());
        bound = probe_set({"true { hotlist(op2) by address }"}).bind(*in, 0);
    }
    REQUIRE(bound.size() == 1);
    CHECK(evaluate(bound[0], cpu, memory, {}) == ProbeEvent{.probe = 0, .value = 9, .key = 0x108});
}

}  // namespace shadowprof::bind_test
