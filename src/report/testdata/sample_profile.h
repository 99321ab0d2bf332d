// A profile with something in every part, and unusual content in some.
#pragma once

#include "report/symbols/symbol_source.h"

namespace shadowprof {

inline std::vector<std::byte> little_endian(std::uint64_t value, std::size_t bytes) {
    std::vector<std::byte> out(bytes);
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes, 8); ++i)
        out[i] = static_cast<std::byte>(value >> (8 * i));
    return out;
}

inline std::vector<ProbeProfile> sample_probes(CodeLocation first, CodeLocation second) {
    const std::uint64_t minus_two = ~std::uint64_t{1};
    return {{.name = "writers",
             .text = "writes { hotlist(at) by address / 64 * 64 }",
             .reducer = Reducer::hotlist,
             .value = ProbeDatumKind::location,
             .key = ProbeDatumKind::number,
             .hits = 5100,
             .missed = 3,
             .left_out = 100,
             .entries = {{.key = std::uint64_t{0x7f00'0000'1000},
                          .count = 5000,
                          .top = {{first, 4000, 20.5}, {second, 900, 20.5}},
                          .absent_error = 31}}},
            {.name = "sizes",
             .text = "function == \"work\" && entry { histogram(int64(rdi)) by caller }",
             .reducer = Reducer::histogram,
             .value = ProbeDatumKind::signed_number,
             .key = ProbeDatumKind::location,
             .hits = 30,
             .entries = {{.key = first,
                          .count = 30,
                          .sum = -40,
                          .histogram = {{-2, 26}, {0, 1}, {4, 3}},
                          .least = minus_two,
                          .most = 12}}},
            {.name = "total",
             .text = "reads { sum(size) }",
             .reducer = Reducer::sum,
             .value = ProbeDatumKind::number,
             .hits = 2,
             .entries = {{.key = {}, .count = 2, .sum = ProbeSum{1} << 70}}},
            {.name = "nothing", .text = "false { count() }"}};
}

// Two threads, and a sample of each.
inline Timeline sample_timeline(CodeLocation call, CodeLocation work) {
    return {.stride = 2,
            .kinds = {"shadow", "live"},
            .ends = {"size", "input"},
            .threads =
                {{.pid = 4711, .tid = 4711, .name = "victim", .start_us = 0, .end_us = 12'500'000},
                 {.pid = 4711, .tid = 4712, .name = "", .start_us = 250'000, .end_us = {}}},
            .threads_left_out = 3,
            .samples = {{.start_us = 1'000'000,
                         .thread = 0,
                         .instructions = 1'000'000,
                         .counted = 1'100'000,
                         .time_ns = 500'000'000,
                         .stacks = 2},
                        {.start_us = 2'000'000,
                         .thread = 1,
                         .kind = 1,
                         .end = 1,
                         .phase = 1,
                         .instructions = 2000,
                         .counted = 1800,
                         .time_ns = 400'000'000,
                         .stacks = 1}},
            .stacks = {{2, 900'000}, {3, 100'000}, {2, 1900}},
            .parents = {0, 1, 0},
            .frames = {call, work, {0, 0x1000}}};
}

// Module 0 is a program with functions `main` at 0x1000 and `work(int)` at 0x2000, module 1 a
// library without symbols.
inline Profile sample_profile() {
    Profile p;
    p.run.command = {"./victim", "--name=a\nb", "bad utf-8: \xff\xfe"};
    p.run.pid = 4711;
    p.run.started = "2024-05-06T07:08:09Z";
    p.run.seconds = 12.5;
    p.run.exit_status = 3;
    p.run.seed = 0xfedcba9876543210;
    p.run.options = {{"mode", "auto"}, {"budget", "1%"}};
    p.run.cpu = "Some \"CPU\" @ 3 GHz";
    p.run.kernel = "6.1.0";
    p.run.cores = 2;
    p.processes = {{.pid = 4711,
                    .command = p.run.command,
                    .seconds = 12.5,
                    .exit_status = 3,
                    .samples = 12,
                    .instructions = 12'000'000},
                   {.pid = 4713,
                    .parent = 4711,
                    .command = {"sort", "-u"},
                    .started_seconds = 0.5,
                    .seconds = 2,
                    .exit_signal = 15,
                    .samples = 3,
                    .instructions = 3'000'000}};
    p.other_processes = {.count = 40, .samples = 1, .instructions = 1'000'000};
    p.modules = {{"/usr/bin/victim", "00ff10", 12345}, {"/usr/lib/libplain.so", "", 999}};
    p.sampling.mode = "shadow";
    p.sampling.samples = 16;
    p.sampling.instructions = 16'000'000;
    p.sampling.emulation_seconds = 0.25;
    p.sampling.target_instructions = 5'000'000'000;
    p.sampling.ended = {{"size", 14}, {"idle", 2}};
    p.sampling.single_stepped = 1;
    p.sampling.counters = {{"blocks_translated", 321}};
    p.sampling.convergence = {.limit_percent = 2.5,
                              .reached = true,
                              .error_percent = 2.25,
                              .seconds = 9.5,
                              .samples = 12,
                              .taken_up_again = 1};
    p.overhead = {.stops = 32,
                  .stopped_seconds = 0.004,
                  .pause = {41, 180.5, 420},
                  .forks = 16,
                  .fork = {80, 90, 95},
                  .induced_faults = 1234,
                  .waited_seconds = 0.25,
                  .profiler_cpu_seconds = 0.5,
                  .budget_percent = 1,
                  .estimated_slowdown_percent = 0.6};
    p.syscalls.by_class = {{"benign", 3}, {"output", 4}};
    p.syscalls.by_name = {{"write", 4}, {"getpid", 3}};
    const CodeLocation call{0, 0x1010}, work{0, 0x2000}, loop{0, 0x2004}, branch{0, 0x2010},
        after{0, 0x2012}, plain{1, 0x500};
    p.edges = {{branch, loop, EdgeKind::taken, 900'000, 9000.5},
               {branch, after, EdgeKind::fall_through, 100'000, 1000},
               {call, work, EdgeKind::call, 100'000, 2000},
               {after, {0, 0x1015}, EdgeKind::ret, 100'000},
               {plain, {1, 0x600}, EdgeKind::indirect, 7},
               {{1, 0x604}, plain, EdgeKind::jump, 7}};
    p.paths = {{{loop, branch}, 5, 800'000, 16000},
               {{work, loop, after, {0, 0x1015}}, 12, 100'000}};
    p.stacks = {{{call, work}, 15'000'000, 15, 300'000}, {{{0, 0x1000}}, 1'000'000, 1}};
    p.calls = {{call, work, 100'000, 2000}};
    for (std::uint32_t batch = 0; batch < 10; ++batch) {
        p.function_batches.sizes.push_back({.instructions = 1'600'000});
        p.function_batches.parts.push_back({work, batch, batch % 2 ? 1'600'000.0 : 1'400'000.0});
    }
    p.threads = {{.pid = 4711, .tid = 4712, .name = "worker", .samples = 14, .instructions = 12},
                 {.pid = 4711, .tid = 0, .samples = 1, .instructions = 4}};
    p.values = {{.at = loop,
                 .operand = "eax",
                 .width_bytes = 4,
                 .count = 1'000'000,
                 .invariance = {{0.982, 0.9}},
                 .top = {{little_endian(7, 4), 982'000, 4000.5},
                         {little_endian(0xffffffff, 4), 18'000, 600}},
                 .top_tnv = {{little_endian(7, 4), 981'000, 0}},
                 .compensation = 2000.25,
                 .by_caller = {{.callers = {call, {0, 0x1000}},
                                .count = 990'000,
                                .invariance = {{0.99, 0.875}},
                                .top = {{little_endian(7, 4), 980'100, 4000.5}},
                                .absent_error = 6000.5,
                                .compensation = 2000.25}}},
                {.at = branch,
                 .operand = "xmm1",
                 .width_bytes = 16,
                 .type = {ValueType::Kind::floating, 8},
                 .count = 500,
                 .invariance = {{0.5, 0.25}},
                 .top = {{little_endian(0x3ff0000000000000, 16), 250, 0}}}};
    p.hazards = {{HazardKind::blocked, branch, loop, 5000, 20'000},
                 {HazardKind::page_split, after, after, 12, 900}};
    p.addresses = {{loop, {.constant = 10, .irregular = 90, .strides = {{-64, 19'000}, {8, 7}}}},
                   {after, {.chased = 700, .irregular = 3}}};
    p.system_calls = {{branch, "getppid", {loop}, 12},
                      {branch, "read", {loop}, 7, 1, 4096},
                      {branch, "syscall_999", {}, 3}};
    p.waits = {{"futex", after, "worker", {branch, loop}, 40, 1'200'000'000},
               {"syscall_999", branch, "", {}, 2, 60'000'000}};
    p.allocations = {{after, {branch, loop}, 30, 4800}, {after, {}, 1, 16}};
    p.call_costs = {{loop, branch, 10, 12'000}, {branch, loop, 3, 500}};
    p.branches = {{branch, BranchKind::conditional, 1'000'000, 900'000, 1200},
                  {after, BranchKind::ret, 100'000, 100'000, 0}};
    p.branch_model = {.conditional = {{0, 8192, 0}, {5, 2048, 12}},
                      .indirect = {{0, 2048, 0}},
                      .return_stack_entries = 32};
    p.cache = {{loop, 20'000, 2500, 300, 40, {8000, 1000, 100, 10}}, {branch, 900, 0, 0, 0}};
    p.cache_model = {.source = "host",
                     .levels = {{"L1d", 32768, 8, 64, CacheFill::non_inclusive},
                                {"L2", 1 << 20, 16, 64, CacheFill::victim}}};
    p.streams = {{{{loop, 0x7f0000001000}, {branch, 0x7f0000002008}, {loop, 0x7f0000001040}}, 4000},
                 {{{plain, 0x5008}, {plain, 0x5010}}, 300}};
    p.sampling.counters["stream_references"] = 40'000;
    p.latency = {{.at = loop,
                  .timed = 3,
                  .reused = 5,
                  .line_crossings = 2,
                  .page_crossings = 1,
                  .histogram = {{78, 1}, {390, 2}},
                  .levels = {{"L1/L2", 6}, {"memory", 2}},
                  .lost_cycles = 624,
                  .moves = {.irregular = 2, .strides = {{64, 5}}}},
                 {.at = plain, .timed = 1, .histogram = {{78, 1}}, .levels = {{"L1/L2", 1}}}};
    p.latency_host = {.levels = {{"L1/L2", 0, 78, 0.99}, {"memory", 260, 390.5, 1}},
                      .step_cycles = 26,
                      .load_us = 2.5,
                      .hit_cycles = 77.5,
                      .evicted_l1 = {},
                      .evicted_l2 = 0.25,
                      .page_walk_cycles = {}};
    p.probes = sample_probes(loop, branch);
    p.timeline = sample_timeline(call, work);
    p.notes = {"a note that was there before"};
    return p;
}

inline RecordedSymbols sample_symbols() {
    RecordedSymbols symbols;
    auto add = [&](std::uint64_t address, std::uint64_t start, const char* function,
                   std::uint32_t line, const char* text) {
        CodeSymbol symbol;
        symbol.function = function;
        symbol.function_start = start;
        symbol.file = "/src/victim.cc";
        symbol.line = line;
        if (address == 0x2004) symbol.inlined = {{"step(int)", "/src/victim.cc", 40}, {"", "", 0}};
        symbols.add({0, address}, symbol, text);
    };
    add(0x1000, 0x1000, "main", 10, "push rbp");
    add(0x1010, 0x1000, "main", 11, "call 0x2000");
    add(0x1015, 0x1000, "main", 12, "nop");
    add(0x2000, 0x2000, "work(int)", 20, "push rbx");
    add(0x2004, 0x2000, "work(int)", 21, "mov eax, [rdi+0x8]");
    add(0x2010, 0x2000, "work(int)", 22, "jne 0x2004");
    add(0x2012, 0x2000, "work(int)", 23, "ret");
    return symbols;
}

// The same with times.
inline Profile sample_profile_with_times() {
    Profile p = sample_profile();
    p.times = {{{0, 0x2004}, 300, 1'500'000'000}, {{0, 0x1000}, 100, 500'000'000}};
    for (Stack& stack : p.stacks)
        stack.time_ns = stack.frames.back().address == 0x2000 ? 1'500'000'000 : 500'000'000;
    p.stacks[1].folded = 400'000;
    p.threads[0].time_ns = 2'000'000'000;
    p.sampling.counters["looks"] = 400;
    p.sampling.counters["looks_in_kernel"] = 0;
    p.sampling.counters["looks_in_kernel_ns"] = 0;
    return p;
}

}  // namespace shadowprof
