#include "report/lists/instruction_counts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>

namespace shadowprof::instruction_counts_test {
namespace {

// 1000 push rbp; 1001 test edi,edi; 1003 je 1008; 1005 xor eax,eax; 1007 nop; 1008 call 1020;
// 100d syscall; 100f jmp 1001; 1011 nop; ... 1020 lock cmpxchg [rsi],ecx; 1024 ret
constexpr std::array<unsigned char, 0x25> code = {
    0x55, 0x85, 0xff, 0x74, 0x03, 0x31, 0xc0, 0x90, 0xe8, 0x13, 0,    0,    0,
    0x0f, 0x05, 0xeb, 0xf0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
    0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xf0, 0x0f, 0xb1, 0x0e, 0xc3};
constexpr std::uint64_t base = 0x1000;

std::size_t read_code(std::uint64_t address, std::span<std::byte> to) {
    if (address < base || address >= base + code.size()) return 0;
    const auto rest = std::as_bytes(std::span(code)).subspan(address - base);
    const std::size_t got = std::min(rest.size(), to.size());
    std::copy_n(rest.begin(), got, to.begin());
    return got;
}

Edge edge(std::uint64_t from, std::uint64_t to, EdgeKind kind, std::uint64_t count) {
    return {{0, from}, {0, to}, kind, count};
}

RecordedSymbols two_functions() {
    RecordedSymbols symbols;
    for (const auto& [address, start] : std::map<std::uint64_t, std::uint64_t>{
             {0x1003, 0x1000}, {0x1008, 0x1000}, {0x100f, 0x1000}, {0x1024, 0x1020}}) {
        CodeSymbol symbol;
        symbol.function_start = start;
        symbols.add({0, address}, symbol, "");
    }
    return symbols;
}

Profile profile_of(std::vector<Edge> edges) {
    Profile profile;
    profile.modules = {{"/m", "", 1}};
    profile.edges = std::move(edges);
    return profile;
}

std::map<std::uint64_t, std::uint64_t> counted(std::vector<Edge> edges) {
    const Profile profile = profile_of(std::move(edges));
    auto symbols = two_functions();
    std::map<std::uint64_t, std::uint64_t> counts;
    for (const auto& each : count_instructions(profile, 0, read_code, symbols))
        counts[each.address] = each.executions;
    return counts;
}

// Entered once by the kernel. Seven of ten rounds take the branch. In the tenth the system call
// does not return.
std::vector<Edge> ten_rounds() {
    return {edge(0x1003, 0x1008, EdgeKind::taken, 7),
            edge(0x1003, 0x1005, EdgeKind::fall_through, 3),
            edge(0x1008, 0x1020, EdgeKind::call, 10), edge(0x1024, 0x100d, EdgeKind::ret, 10),
            edge(0x100f, 0x1001, EdgeKind::jump, 9)};
}

}  // namespace

TEST_CASE("instructions are counted by the edges around them, entries from the kernel included") {
    CHECK(counted(ten_rounds()) == std::map<std::uint64_t, std::uint64_t>{{0x1000, 1},
                                                                          {0x1001, 10},
                                                                          {0x1003, 10},
                                                                          {0x1005, 3},
                                                                          {0x1007, 3},
                                                                          {0x1008, 10},
                                                                          {0x100d, 10},
                                                                          {0x100f, 10},
                                                                          {0x1020, 10},
                                                                          {0x1024, 10}});
}

TEST_CASE("a jump over a prefix executes the instruction and what is behind it") {
    auto edges = ten_rounds();
    edges.push_back(edge(0x1011, 0x1021, EdgeKind::jump, 4));
    edges[3].count = 14;
    const auto counts = counted(edges);
    CHECK(counts.at(0x1020) == 10);
    CHECK(counts.at(0x1021) == 4);
    CHECK(counts.at(0x1024) == 14);
}

TEST_CASE(
    "a sample that begins within a run counts for its branch, and one that ends stays in it") {
    const auto begun = counted({edge(0x1024, 0x100d, EdgeKind::ret, 3)});
    CHECK(begun.at(0x1024) == 3);
    CHECK(begun.at(0x100d) == 3);
    const auto ended = counted({edge(0x100f, 0x1005, EdgeKind::jump, 2)});
    CHECK(ended.at(0x1008) == 2);
    CHECK(ended.count(0x100d) == 0);
}

TEST_CASE("edges to where there is no code and counts without bounds are no harm") {
    constexpr std::uint64_t huge = ~std::uint64_t{0};
    const auto counts = counted({edge(0x100f, 0x1001, EdgeKind::jump, huge),
                                 edge(0x1008, 0x1001, EdgeKind::call, huge),
                                 edge(0xffffffffffffffff, 0xfffffffffffffff0, EdgeKind::jump, 5),
                                 edge(0x100f, 0x1024, EdgeKind::jump, 1)});
    CHECK(counts.at(0x1001) == huge);
    CHECK(counts.at(0xffffffffffffffff) == 5);
}

TEST_CASE("runs reach from where control came to the next branch") {
    std::vector<std::array<std::uint64_t, 3>> runs;
    for (const auto& run : executed_runs(profile_of(ten_rounds()), 0, read_code))
        runs.push_back({run.start, run.branch, run.executions});
    CHECK(runs == std::vector<std::array<std::uint64_t, 3>>{{0x1020, 0x1024, 10},
                                                            {0x100d, 0x100f, 10},
                                                            {0x1008, 0x1008, 7},
                                                            {0x1005, 0x1008, 3},
                                                            {0x1001, 0x1003, 9}});
}

}  // namespace shadowprof::instruction_counts_test
