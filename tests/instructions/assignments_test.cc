#include "assignments.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>

#include "decoder/gpr_numbers.h"
#include "generate.h"

using namespace shadowprof;

namespace {

using gpr::rsp;

// The kind of each register, and the index of the first equal register.
using Pattern = std::vector<std::pair<char, std::size_t>>;

Pattern pattern_of(const std::vector<std::uint8_t>& registers) {
    Pattern pattern;
    for (const auto reg : registers) {
        const char kind = reg == rsp ? 's' : reg >= 9 && reg <= 11 ? 'd' : 'o';
        const auto first = std::find(registers.begin(), registers.end(), reg);
        pattern.emplace_back(kind, static_cast<std::size_t>(first - registers.begin()));
    }
    return pattern;
}

// 64-bit MULX with or without a memory operand.
Form mulx(bool memory) {
    for (const auto& form : enumerate_forms())
        if (form.mnemonic == ZYDIS_MNEMONIC_MULX && form.sample.w && form.sample.memory == memory)
            return form;
    FAIL("no such form");
    return {};
}

// Every way to choose `count` registers from a few of each kind.
std::set<Pattern> all_patterns(std::size_t count) {
    static constexpr std::array<std::uint8_t, 8> some = {9, 10, 11, rsp, 3, 6, 12, 15};
    std::set<Pattern> patterns;
    std::vector<std::size_t> at(count);
    for (;;) {
        std::vector<std::uint8_t> registers;
        for (const auto i : at) registers.push_back(some[i]);
        patterns.insert(pattern_of(registers));
        std::size_t digit = 0;
        while (digit < count && ++at[digit] == some.size()) at[digit++] = 0;
        if (digit == count) return patterns;
    }
}

}  // namespace

TEST_CASE("assignments have every way in which registers can be equal, different and displaced") {
    std::set<Pattern> found;
    for (const auto& a : assignments_of(mulx(false), 1))
        found.insert(pattern_of({*a.reg, *a.vvvv, *a.rm}));
    const auto all = all_patterns(3);
    CHECK(std::includes(found.begin(), found.end(), all.begin(), all.end()));
    CHECK(all.size() == 47);
}

TEST_CASE("assignments have them of addresses, too, with and without an index") {
    std::set<Pattern> found, without_index;
    for (const auto& a : assignments_of(mulx(true), 1)) {
        if (a.address->mode != AddressFields::Mode::sib) continue;
        if (a.address->index == rsp)
            without_index.insert(pattern_of({*a.reg, *a.vvvv, a.address->base}));
        else
            found.insert(pattern_of({*a.reg, *a.vvvv, a.address->base, a.address->index}));
    }
    auto all = all_patterns(4);
    std::erase_if(all, [](const Pattern& pattern) { return pattern[3].first == 's'; });
    CHECK(std::includes(found.begin(), found.end(), all.begin(), all.end()));
    const auto three = all_patterns(3);
    CHECK(std::includes(without_index.begin(), without_index.end(), three.begin(), three.end()));
}

TEST_CASE("an assigned case names the registers that it should") {
    const auto form = mulx(true);
    const auto assignments = assignments_of(form, 1);
    for (std::size_t i = 0; i < assignments.size(); ++i) {
        const auto test = make_assigned_case(form, 0, assignments[i], 1, i);
        REQUIRE(test);
        const auto in = decode(test->code_span(), test->code_start());
        REQUIRE(in);
        CHECK(gpr_number(in->operands()[0].reg.value) == *assignments[i].reg);
        CHECK(gpr_number(in->operands()[1].reg.value) == *assignments[i].vvvv);
        const auto& memory = in->operands()[2].mem;
        if (assignments[i].address->mode == AddressFields::Mode::sib)
            CHECK(gpr_number(memory.base) == assignments[i].address->base);
    }
}

TEST_CASE("a no-operation in an instruction's place is as long as that") {
    for (std::uint32_t length = 1; length <= Instruction::max_length; ++length) {
        Case test;
        test.code_length = length;
        blank(test, {0, length, 0});
        for (std::size_t at = 0; at < length;) {
            const auto in = decode(test.code_span().subspan(at), {0});
            REQUIRE(in);
            CHECK(in->mnemonic() == ZYDIS_MNEMONIC_NOP);
            at += in->length();
            CHECK(at <= length);
        }
    }
}
