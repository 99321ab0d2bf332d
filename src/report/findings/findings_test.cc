#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "report/findings/arguments.h"
#include "report/findings/call_arguments.h"
#include "report/findings/finder.h"
#include "report/findings/findings_text.h"

namespace shadowprof::findings_test {
namespace {

std::vector<AnnotatedInstruction> decoded(std::vector<std::vector<std::uint8_t>> code) {
    std::vector<AnnotatedInstruction> list;
    std::uint64_t address = 0x1000;
    for (const auto& bytes : code) {
        AnnotatedInstruction& each = list.emplace_back();
        each.address = address;
        std::ranges::copy(std::as_bytes(std::span(bytes)), each.bytes.begin());
        each.length = static_cast<std::uint8_t>(bytes.size());
        REQUIRE(each.decode());
        address += bytes.size();
    }
    return list;
}

}  // namespace

TEST_CASE("copies of argument registers are found while they hold what the caller put there") {
    const auto code = decoded({
        {0x89, 0xf3},                    // mov ebx, esi
        {0xbf, 0x05, 0x00, 0x00, 0x00},  // mov edi, 5
        {0x89, 0xf8},                    // mov eax, edi: no longer an argument
        {0x66, 0x0f, 0x28, 0xd9},        // movapd xmm3, xmm1
        {0x66, 0x0f, 0x28, 0xcb},        // movapd xmm1, xmm3: a copy of a copy
        {0x66, 0x0f, 0x28, 0xe1},        // movapd xmm4, xmm1
        {0x88, 0xd1},                    // mov cl, dl: only a part
        {0xe8, 0x00, 0x00, 0x00, 0x00},  // call
        {0x48, 0x89, 0xd0},              // mov rax, rdx: after the call
    });
    CHECK(argument_copies(code) == std::map<std::size_t, std::string>{{0, "rsi"}, {3, "xmm1"}});
}

TEST_CASE("arguments that a function reads are told from registers that it writes first") {
    CHECK(read_arguments(decoded({
              {0x85, 0xff},                    // test edi, edi
              {0x7e, 0x10},                    // jle
              {0x31, 0xd2},                    // xor edx, edx: no argument
              {0xb9, 0x01, 0x00, 0x00, 0x00},  // mov ecx, 1: neither
              {0x48, 0x8b, 0x04, 0xd6},        // mov rax, [rsi+rdx*8]
              {0xe8, 0x00, 0x00, 0x00, 0x00},  // call
              {0x4c, 0x89, 0xc0},              // mov rax, r8: after the call
          })) == std::vector<std::string>{"rdi", "rsi"});
}

TEST_CASE("addresses and their halves are no plain numbers") {
    for (const std::uint64_t number : {0ULL, 4ULL, 0xffffULL, ~0ULL, 0ULL - 100})
        CHECK(is_plain_number(number, 8));
    CHECK(is_plain_number(0xffffffff, 4));
    CHECK_FALSE(is_plain_number(0xffffffff, 8));
    for (const std::uint64_t number : {0x7ffd12345678ULL, 0x402010ULL, 0x10000ULL})
        CHECK_FALSE(is_plain_number(number, 8));
    CHECK_FALSE(is_plain_number(0x12345678, 4));
}

TEST_CASE("what came in a vector register is a floating-point number") {
    const auto bytes = [](auto number, std::size_t width) {
        std::vector<std::byte> value(width);
        std::memcpy(value.data(), &number, sizeof number);
        return value;
    };
    const ValueType integer{ValueType::Kind::integer, 8}, bits{ValueType::Kind::bits, 16};
    CHECK(argument_text("xmm0", bytes(0.25, 8), integer) == "0.25");
    CHECK(argument_text("xmm0", bytes(0.25, 16), bits) == "0.25");
    CHECK(argument_text("xmm7", bytes(0.25F, 16), bits) == "0.25");
    CHECK(argument_text("xmm1", bytes(0.0, 8), integer) == "0");
    CHECK(argument_text("rdi", bytes(std::uint64_t{4}, 8), integer) == "4");
    const std::array two{1.5, 2.5};
    CHECK(argument_text("xmm0", bytes(two, 16), {ValueType::Kind::floating, 8}) == "1.5 2.5");
}

TEST_CASE("what is certain of a share grows with its trials") {
    CHECK(wilson_lower(0, 0) == 0);
    CHECK(wilson_lower(0, 100) == doctest::Approx(0));
    // Wilson's interval for 60 of 60 and for 90 of 100.
    CHECK(wilson_lower(60, 60) == doctest::Approx(0.9398).epsilon(0.001));
    CHECK(wilson_lower(90, 100) == doctest::Approx(0.8256).epsilon(0.001));
    CHECK(wilson_lower(1e9, 1e9) == doctest::Approx(1));
}

TEST_CASE("misses of known patterns are findings, if enough loads were seen and lost cycles") {
    Profile profile;
    profile.modules = {{"/no/such/file", "", 0}};
    const auto load = [&](std::uint64_t address, std::uint64_t lost, AddressMoves moves) {
        LoadLatency latency{.at = {0, address}, .timed = 1000, .lost_cycles = lost};
        latency.moves = std::move(moves);
        profile.latency.push_back(std::move(latency));
    };
    load(0x1000, 600, {.chased = 900, .irregular = 10});
    load(0x2000, 390, {.constant = 50, .strides = {{64, 800}}});
    load(0x3000, 5, {.strides = {{64, 800}}});            // too few lost cycles
    load(0x4000, 20, {.chased = 500, .irregular = 500});  // no pattern is frequent enough
    load(0x5000, 20, {.constant = 1000});
    profile.sampling.samples = 500;
    RecordedSymbols symbols;
    Annotator annotator(profile, symbols);
    const auto found = find_findings(profile, annotator);
    REQUIRE(found.size() == 2);
    CHECK(found[0].kind == FindingKind::chased_miss);
    CHECK(found[0].at_stake == doctest::Approx(600.0 / 1035));
    CHECK(found[0].stake == Stake::lost_cycles);
    CHECK(found[1].kind == FindingKind::strided_miss);
    CHECK(found[1].what.find("by 64") != std::string::npos);
    // Few samples make nothing certain.
    profile.sampling.samples = 1;
    CHECK(find_findings(profile, annotator).empty());
}

TEST_CASE("branches that are mispredicted often, and often enough, are findings") {
    Profile profile;
    profile.modules = {{"/no/such/file", "", 0}};
    profile.sampling.instructions = 1'000'000;
    profile.sampling.samples = 500;
    constexpr auto conditional = BranchKind::conditional;
    profile.branches = {
        {{0, 0x1000}, conditional, 10'000, 4'000, 2'000},         // a fifth of many
        {{0, 0x2000}, conditional, 100'000, 4'000, 5'000},        // too small a share
        {{0, 0x3000}, BranchKind::indirect_call, 900, 900, 450},  // too few for the program
        {{0, 0x4000}, BranchKind::indirect_jump, 4'000, 4'000, 3'000},
    };
    RecordedSymbols symbols;
    Annotator annotator(profile, symbols);
    const auto found = find_findings(profile, annotator);
    REQUIRE(found.size() == 2);
    CHECK(found[0].kind == FindingKind::mispredicted);
    CHECK(found[0].at.address == 0x4000);
    CHECK(found[1].at.address == 0x1000);
    // At most four executions of a sample are independent.
    CHECK(found[1].share == doctest::Approx(wilson_lower(400, 2000)));
    CHECK(found[1].at_stake == doctest::Approx(wilson_lower(400, 2000) * 0.01 * 13));
    CHECK(found[1].evidence[0] ==
          "the model mispredicts 20.0% of 10.0 k executions, conditional, taken 40.0%");
    CHECK(found[1].evidence[1] == "2.0 per thousand instructions, about 13 cycles each");
    // Eight executions of two samples make nothing certain, and all of them do in exact mode.
    profile.sampling.samples = 2;
    CHECK(find_findings(profile, annotator).size() == 1);
    profile.sampling.exact.emplace();
    CHECK(find_findings(profile, annotator).size() == 2);
    // Where the program executes more, the same mispredictions matter less.
    profile.sampling.instructions = 5'000'000;
    CHECK(find_findings(profile, annotator).size() == 1);
    profile.sampling.instructions = 0;
    CHECK(find_findings(profile, annotator).empty());
}

TEST_CASE("each kind of finding has its row") {
    for (std::size_t i = 0; i < finding_kinds.size(); ++i)
        CHECK(static_cast<std::size_t>(finding_kinds[i].kind) == i);
}

}  // namespace shadowprof::findings_test
