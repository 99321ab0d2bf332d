#include "report/lists/methods.h"

#include <doctest/doctest.h>

#include <map>

namespace shadowprof::methods_test {
namespace {

// Functions at 0x1000, 0x2000 and 0x3000; 0x9000 is unknown.
class Symbols final : public SymbolSource {
  public:
    const CodeSymbol& symbol(CodeLocation location) override {
        CodeSymbol& symbol = symbols_[location.address];
        if (location.address < 0x9000) symbol.function_start = location.address & ~0xfffULL;
        return symbol;
    }
    std::string instruction_text(CodeLocation) override { return {}; }
    std::vector<std::string> notes() const override { return {}; }

  private:
    std::map<std::uint64_t, CodeSymbol> symbols_;
};

std::uint64_t entries_of(const Profile& profile, std::uint64_t function) {
    Symbols symbols;
    for (const Method& method : derive_methods(profile, symbols))
        if (method.entry.address == function) return method.entries;
    return 0;
}

Profile with_edge(std::uint64_t from, std::uint64_t to, EdgeKind kind) {
    Profile profile;
    profile.edges = {{{0, from}, {0, to}, kind, 5}};
    return profile;
}

}  // namespace

TEST_CASE("a function is entered by calls, and by jumps from other functions to its start") {
    struct Row {
        std::uint64_t from, to;
        EdgeKind kind;
        std::uint64_t entered;  // 0: none
    };
    const Row rows[] = {
        {0x1004, 0x2000, EdgeKind::call, 0x2000},      // a call
        {0x1004, 0x1000, EdgeKind::call, 0x1000},      // recursion
        {0x1004, 0x2004, EdgeKind::call, 0x2000},      // past a prologue
        {0x1004, 0x1008, EdgeKind::call, 0},           // reads the program counter
        {0x1004, 0x9004, EdgeKind::call, 0x9004},      // bounds unknown
        {0x1004, 0x2000, EdgeKind::jump, 0x2000},      // a tail call
        {0x1004, 0x2000, EdgeKind::taken, 0x2000},     // a conditional tail call
        {0x1004, 0x2000, EdgeKind::indirect, 0x2000},  // through a procedure linkage table
        {0x9004, 0x2000, EdgeKind::indirect, 0x2000},  // late binding
        {0x1004, 0x1000, EdgeKind::jump, 0},           // a loop
        {0x1004, 0x2004, EdgeKind::jump, 0},           // into the other part of a function
        {0x1004, 0x9004, EdgeKind::jump, 0},          {0x1004, 0x2004, EdgeKind::ret, 0},
    };
    for (const Row& row : rows) {
        CAPTURE(row.from);
        CAPTURE(row.to);
        CAPTURE(name(row.kind));
        const Profile profile = with_edge(row.from, row.to, row.kind);
        for (const std::uint64_t function : {0x1000u, 0x2000u, 0x9004u})
            CHECK(entries_of(profile, function) == (function == row.entered ? 5 : 0));
    }
}

TEST_CASE("a function's time is that of the places in it") {
    Profile profile;
    profile.stacks = {{{{0, 0x1000}}, 100, 1, {}, 9'000, {}},
                      {{{0, 0x2000}}, 50, 1, {}, 1'000, {}}};
    const auto time_of = [&](std::uint64_t function) {
        Symbols symbols;
        for (const Method& method : derive_methods(profile, symbols))
            if (method.entry.address == function) return method.time_ns.value_or(0);
        return std::uint64_t{0};
    };
    profile.times = {{{0, 0x2010}, 3, 3'000}, {{0, 0x1004}, 1, 1'000}, {{0, 0x3004}, 1, 500}};
    CHECK(time_of(0x1000) == 1'000);
    CHECK(time_of(0x2000) == 3'000);
    CHECK(time_of(0x3000) == 500);
}

TEST_CASE("without edges the calls are the entries") {
    Profile profile;
    profile.calls = {{{0, 0x1004}, {0, 0x2000}, 7}};
    CHECK(entries_of(profile, 0x2000) == 7);
}

}  // namespace shadowprof::methods_test
