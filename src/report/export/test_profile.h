// A small profile for tests of exports, with names that are hard to quote.
#pragma once

#include "report/export/export.h"
#include "report/testdata/sample_profile.h"

namespace shadowprof {

// `a;b` at 0x1000 calls `<script>` at 0x2000 from 0x1010, where `x"y` is inlined; `new\nline` at
// 0x3000 is called from 0x2008.
inline Profile awkward_profile() {
    Profile p;
    p.run.command = {"./awk\nward", "--x"};
    p.run.pid = 7;
    p.modules = {{"/no/such/awk,ward", "aa", 10}, {"[anon]", "", 0}};
    p.sampling.mode = "shadow";
    p.sampling.instructions = 160;
    const CodeLocation entry{0, 0x1000}, site{0, 0x1010}, script{0, 0x2000}, inner_site{0, 0x2008},
        line{0, 0x3000}, jitted{1, 0x7f0000001000};
    p.edges = {{site, script, EdgeKind::call, 9, 1.5},
               {{0, 0x2010}, {0, 0x1015}, EdgeKind::ret, 9},
               {inner_site, line, EdgeKind::call, 4}};
    p.stacks = {{{site, script}, 100, 5},
                {{site, inner_site, line}, 40, 2},
                {{entry}, 15, 1},
                {{jitted}, 5, 1}};
    p.calls = {{site, script, 9}, {inner_site, line, 4}};
    p.values = {{.at = site,
                 .operand = "rdi",
                 .width_bytes = 8,
                 .count = 9,
                 .invariance = Invariance{1, 1},
                 .top = {{little_endian(7, 8), 9, 0.5}}}};
    p.probes = {{.name = "a,b",
                 .text = "",
                 .reducer = Reducer::hotlist,
                 .value = ProbeDatumKind::location,
                 .key = ProbeDatumKind::signed_number,
                 .hits = 3,
                 .entries = {{.key = ~std::uint64_t{0}, .count = 3, .top = {{script, 3, 0.5}}}}},
                {.name = "sizes",
                 .text = "",
                 .reducer = Reducer::histogram,
                 .value = ProbeDatumKind::number,
                 .key = ProbeDatumKind::location,
                 .hits = 5,
                 .entries = {{.key = script,
                              .count = 5,
                              .sum = 40,
                              .histogram = {{0, 1}, {4, 4}},
                              .least = 0,
                              .most = 12}}},
                {.name = "sum",
                 .text = "",
                 .reducer = Reducer::sum,
                 .value = ProbeDatumKind::number,
                 .hits = 5,
                 .entries = {{.key = {}, .count = 5, .sum = -40}}}};
    return p;
}

inline RecordedSymbols awkward_symbols() {
    RecordedSymbols symbols;
    const auto add = [&](std::uint64_t address, std::uint64_t start, const char* function,
                         std::uint32_t line, std::vector<InlinedFrame> inlined = {}) {
        CodeSymbol symbol;
        symbol.function = function;
        symbol.function_start = start;
        symbol.file = "/src/a\"b.c";
        symbol.line = line;
        symbol.inlined = std::move(inlined);
        symbols.add({0, address}, symbol, "");
    };
    add(0x1000, 0x1000, "a;b", 10);
    add(0x1010, 0x1000, "a;b", 12, {{"x\"y", "/src/a\"b.c", 11}});
    add(0x1015, 0x1000, "a;b", 13);
    add(0x2000, 0x2000, "<script>", 20);
    add(0x2008, 0x2000, "<script>", 21);
    add(0x2010, 0x2000, "<script>", 22);
    add(0x3000, 0x3000, "new\nline", 30);
    return symbols;
}

}  // namespace shadowprof
