// Count-driven bursts: when they occur, and that exactly what happens in them is counted.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "profile/collect/test_programs.h"
#include "profile/flow/flow.h"
#include "profile/merge/join.h"

namespace shadowprof::bursts_test {
namespace {

using namespace testing;

constexpr BurstPlan plan_of(std::uint64_t every, std::uint64_t edge, std::uint64_t path,
                            std::uint64_t call) {
    return {.events = {}, .every = every, .lengths = {{edge, path, call}}};
}

// Blocks of some_program(), some of them repeated.
Words random_blocks(Random& random, std::size_t most) {
    Words words(random.next() % most);
    for (auto& word : words) word = random.next() % 12;
    const Words once = words;
    for (int i = 0; i < 3; ++i) words.insert(words.end(), once.begin(), once.end());
    return words;
}

// Follows the definitions for one thread's blocks, one by one.
struct Model {
    std::map<std::pair<BlockId, BlockId>, std::uint64_t> edges, calls;
    std::map<std::vector<CodeLocation>, std::uint64_t> paths;
    BurstCounts counts;

    void thread(const TestProgram& program, const Words& blocks, const BurstPlan& plan,
                std::uint64_t seed) {
        EventBursts bursts(plan, seed);
        std::vector<CodeLocation> path;
        std::size_t length = 0;
        bool counts_path = false;
        const auto end_path = [&] {
            if (counts_path) ++paths[path];
            path.clear();
            length = 0;
            counts_path = bursts.is_on(BurstKind::path);
        };
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const BlockInfo& to = program.blocks[blocks[i]];
            if (i != 0) {
                const BlockInfo& from = program.blocks[blocks[i - 1]];
                const bool backward = is_jump(from.terminator) && to.start <= from.last;
                if ((is_call(from.terminator) && plan.events.calls) ||
                    (backward && plan.events.back_edges))
                    bursts.on_event();
                const std::pair step(static_cast<BlockId>(blocks[i - 1]),
                                     static_cast<BlockId>(blocks[i]));
                if (bursts.is_on(BurstKind::edge)) ++edges[step];
                if (bursts.is_on(BurstKind::call) && is_call(from.terminator)) ++calls[step];
                if (backward || length == max_path_blocks) end_path();
            } else {
                end_path();
            }
            path.push_back(at(to.start.value));
            ++length;
        }
        if (counts_path) ++paths[path];
        counts.add(bursts.counts());
    }
};

void check_equal(const Profile& profile, const Model& model, const TestProgram& program) {
    std::map<std::tuple<CodeLocation, CodeLocation>, std::uint64_t> edges, calls, expected_edges,
        expected_calls;
    const auto key = [&](const auto& step) {
        return std::tuple(at(program.blocks[step.first].last.value),
                          at(program.blocks[step.second].start.value));
    };
    for (const auto& [step, count] : model.edges)
        if (program.blocks[step.first].terminator != Terminator::none)
            expected_edges[key(step)] += count;
    for (const auto& [step, count] : model.calls) expected_calls[key(step)] += count;
    for (const Edge& edge : profile.edges) edges[{edge.from, edge.to}] += edge.count;
    for (const CallPair& call : profile.calls) calls[{call.site, call.callee}] = call.count;
    CHECK(edges == expected_edges);
    CHECK(calls == expected_calls);
    std::map<std::vector<CodeLocation>, std::uint64_t> paths;
    for (const Path& path : profile.paths) paths[path.blocks] = path.count;
    CHECK(paths == model.paths);
}

void check_equal(const BurstCounts& counts, const BurstCounts& expected) {
    CHECK(counts.events == expected.events);
    CHECK(counts.bursts == expected.bursts);
    CHECK(counts.begun == expected.begun);
    CHECK(counts.events_on == expected.events_on);
}

// Adds the words of each thread in random parts. Several threads take turns.
void collect(TestRun& run, const TestProgram& program, const std::vector<Words>& threads,
             Random& random) {
    std::vector<std::size_t> done(threads.size());
    for (std::size_t left = threads.size(); left != 0;) {
        const auto thread = static_cast<std::uint32_t>(random.next() % threads.size());
        auto& from = done[thread];
        const Words& words = threads[thread];
        if (from > words.size()) continue;
        const auto size = std::min<std::size_t>(1 + random.next() % 90, words.size() - from);
        const auto begin = words.begin() + static_cast<std::ptrdiff_t>(from);
        const Words part(begin, begin + static_cast<std::ptrdiff_t>(size));
        const auto result = run.collector.add(thread, batch(part), program.table());
        CHECK_FALSE(result.damaged);
        from += size;
        if (from != words.size()) continue;
        ++from;
        --left;
    }
}

TEST_CASE("each kind is on for its length, and bursts are so far apart as they should be") {
    const auto plan = plan_of(10, 1, 4, 2);
    EventBursts bursts(plan, 1);
    while (bursts.any_on() || bursts.quiet_events() != 0) bursts.on_event();
    std::uint64_t pauses = 0;
    constexpr std::uint64_t rounds = 20'000;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        bursts.on_event();
        for (std::uint64_t i = 0; i < 4; ++i) {
            REQUIRE(bursts.is_on(BurstKind::edge) == (i < 1));
            REQUIRE(bursts.is_on(BurstKind::path));
            REQUIRE(bursts.is_on(BurstKind::call) == (i < 2));
            bursts.on_event();
        }
        REQUIRE_FALSE(bursts.any_on());
        const auto pause = 1 + bursts.quiet_events();
        REQUIRE(pause >= 5);
        REQUIRE(pause <= 15);
        pauses += pause;
        bursts.pass(pause - 1);
        REQUIRE_FALSE(bursts.any_on());
    }
    // Five standard deviations of the mean, for the seed above.
    const auto mean = static_cast<double>(pauses) / static_cast<double>(rounds);
    CHECK(std::abs(mean - 10) < 5 * std::sqrt(10.0) / std::sqrt(double(rounds)));
}

TEST_CASE("a thread begins anywhere between two bursts, or in one") {
    std::map<int, int> begun;
    constexpr int seeds = 30'000;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const EventBursts bursts(plan_of(4, 1, 2, 0), seed);
        ++begun[bursts.is_on(BurstKind::edge)   ? -2
                : bursts.is_on(BurstKind::path) ? -1
                                                : static_cast<int>(bursts.quiet_events())];
    }
    REQUIRE(begun.size() == 6);
    for (const auto& place : begun) {
        CAPTURE(place.first);
        CHECK(std::abs(place.second - seeds / 6) < seeds / 60);
    }
}

TEST_CASE("kinds that are not collected are never on") {
    EventBursts bursts(plan_of(100, 0, 0, 0), 1);
    for (int i = 0; i < 1000; ++i) {
        bursts.on_event();
        REQUIRE_FALSE(bursts.any_on());
    }
    CHECK(bursts.counts().events == 1000);
    CHECK(bursts.counts().bursts == 0);
}

TEST_CASE("a kind with a frequency of its own has bursts of its own, and leaves those of others") {
    auto plan = plan_of(10, 1, 4, 2);
    plan.own_every[BurstKind::path] = 100;
    EventBursts bursts(plan, 3);
    EventBursts others(plan_of(10, 1, 0, 2), 3);
    std::uint64_t begun = 0;
    bool was_on = bursts.is_on(BurstKind::path);
    for (int i = 0; i < 100'000; ++i) {
        REQUIRE(bursts.is_on(BurstKind::edge) == others.is_on(BurstKind::edge));
        REQUIRE(bursts.is_on(BurstKind::call) == others.is_on(BurstKind::call));
        if (const auto quiet = bursts.quiet_events(); quiet != 0) {
            const auto passed = std::min<std::uint64_t>(quiet, 3);
            bursts.pass(passed);
            for (std::uint64_t event = 0; event < passed; ++event) others.on_event();
        }
        bursts.on_event();
        others.on_event();
        begun += !was_on && bursts.is_on(BurstKind::path);
        was_on = bursts.is_on(BurstKind::path);
    }
    const auto counts = bursts.counts();
    CHECK(counts.begun[BurstKind::path] == begun);
    CHECK(counts.begun[BurstKind::edge] == others.counts().bursts);
    CHECK(counts.bursts == begun + others.counts().bursts);
    CHECK(others.counts().begun[BurstKind::path] == 0);
    const auto share = [&](BurstKind kind) {
        return static_cast<double>(counts.events_on[kind]) / static_cast<double>(counts.events);
    };
    // Within a twentieth; the numbers above do not vary.
    CHECK(std::abs(share(BurstKind::path) / (4.0 / 104) - 1) < 0.05);
    CHECK(std::abs(share(BurstKind::edge) / (1.0 / 12) - 1) < 0.05);
}

TEST_CASE("in a loop, each event in a burst counts its round once") {
    TestProgram program;
    const auto head = program.add(0x1000, Terminator::call, 0x2000);
    const auto callee = program.add(0x2000, Terminator::ret);
    const auto tail = program.add(0x1010, Terminator::conditional, 0x1000);
    Words words;
    constexpr std::uint64_t rounds = 50'000;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const Words round = {head, callee, tail};
        words.insert(words.end(), round.begin(), round.end());
    }
    const auto plan = plan_of(97, 2, 10, 1);
    TestRun run;
    run.begin_with_bursts(plan, 7, {0x1000});
    run.add(program, words);
    run.collector.end();
    const auto counts = run.profile.burst_counts();
    CHECK(counts.events == 2 * rounds - 1);
    CHECK(counts.events_on[BurstKind::edge] == 2 * counts.bursts);
    CHECK(counts.events_on[BurstKind::path] == 10 * counts.bursts);
    const Profile p = run.result();
    REQUIRE(p.paths.size() == 1);
    CHECK(p.paths[0].count == 5 * counts.bursts);
    // With two events, either half of the round may be first. Each step counts once per burst.
    REQUIRE(p.edges.size() == 3);
    for (const Edge& edge : p.edges) CHECK(edge.count == counts.bursts);
    // One event is a call or a back-edge.
    REQUIRE(p.calls.size() == 1);
    CHECK(p.calls[0].count > 0);
    CHECK(p.calls[0].count < counts.bursts);
    std::uint64_t in_stacks = 0;
    for (const Stack& stack : p.stacks) in_stacks += stack.instructions;
    CHECK(in_stacks == 9 * rounds);
    CHECK(run.profile.check().has_value());
}

TEST_CASE("only what is asked for is an event") {
    TestProgram program;
    const auto head = program.add(0x1000, Terminator::call, 0x2000);
    const auto callee = program.add(0x2000, Terminator::ret);
    const auto tail = program.add(0x1010, Terminator::conditional, 0x1000);
    TestRun run;
    const Words words = {head, callee, tail, head, callee, tail, head};
    for (const bool calls : {true, false}) {
        const BurstPlan plan{.events = {calls, !calls}, .every = 5, .lengths = {{1, 1, 1}}};
        const auto before = run.profile.burst_counts().events;
        run.begin_with_bursts(plan, 1, {0x1000});
        run.add(program, words);
        run.collector.end();
        CHECK(run.profile.burst_counts().events - before == 2);
    }
    const BurstPlan both{.events = {}, .every = 5, .lengths = {{1, 1, 1}}};
    run.begin_with_bursts(both, 1, {0x1000});
    run.add(program, words);
    run.collector.end();
    CHECK(run.profile.burst_counts().events == 8);
}

TEST_CASE("bursts without end and without distance see what is seen without them") {
    Random random(11);
    for (int round = 0; round < 40; ++round) {
        CAPTURE(round);
        TestProgram program = some_program();
        TestRun all, bursts;
        const std::uint64_t length = round % 2 ? 3 : 1'000'000'000;
        const auto plan = plan_of(0, length, length, length);
        // Enough samples for errors, which must be the same too.
        for (int sample = 0; sample < 12; ++sample) {
            const Words words = with_sequences(program, random_blocks(random, 400), random);
            const auto weight = 1 + static_cast<std::uint32_t>(random.next() % 3);
            all.begin_weighted(weight, {0x1000, 0x9000});
            all.add(program, words);
            all.collector.end();
            bursts.begin_with_bursts(plan, random.next(), {0x1000, 0x9000}, weight);
            collect(bursts, program, {words}, random);
            bursts.collector.end();
        }
        const Profile a = all.result(), b = bursts.result();
        CHECK(a.edges == b.edges);
        CHECK(a.paths == b.paths);
        CHECK(a.calls == b.calls);
        CHECK(a.stacks == b.stacks);
        REQUIRE_FALSE(a.edges.empty());
        CHECK(a.edges[0].error);
        CHECK(bursts.profile.check().has_value());
    }
}

TEST_CASE("random programs have in bursts what the definitions give, however traces are cut") {
    Random random(23);
    for (int round = 0; round < 150; ++round) {
        CAPTURE(round);
        TestProgram program = some_program();
        const std::uint64_t lengths[] = {0, 1, 2, 10, 50};
        const auto length = [&] { return lengths[random.next() % std::size(lengths)]; };
        auto plan = plan_of(random.next() % 40, length(), length(), length());
        if (round % 3 == 1) plan.events.calls = false;
        if (round % 3 == 2) plan.events.back_edges = false;
        for (auto& own : plan.own_every.numbers)
            if (random.next() % 4 == 0) own = 1 + random.next() % 40;
        TestRun run;
        Model model;
        for (int sample = 0; sample < 3; ++sample) {
            const auto seed = random.next();
            std::vector<Words> threads;
            for (std::uint64_t thread = 0; thread <= random.next() % 3; ++thread) {
                const Words plain = random_blocks(random, 500);
                model.thread(program, plain, plan, mix64(seed + thread));
                threads.push_back(with_sequences(program, plain, random));
            }
            run.begin_with_bursts(plan, seed, {0x1000, 0x9000});
            collect(run, program, threads, random);
            run.collector.end();
        }
        check_equal(run.result(), model, program);
        check_equal(run.profile.burst_counts(), model.counts);
        CHECK(run.profile.check().has_value());
    }
}

TEST_CASE("paths that are cut by their limit are so in bursts") {
    constexpr std::uint64_t blocks = 300;
    TestProgram program;
    for (std::uint64_t i = 0; i + 1 < blocks; ++i)
        program.add(0x1000 + 16 * i, i % 50 ? Terminator::none : Terminator::call,
                    0x1000 + 16 * (i + 1));
    program.add(0x1000 + 16 * (blocks - 1), Terminator::jump, 0x1000);
    Words plain;
    for (std::uint64_t i = 0; i < 30 * blocks; ++i) plain.push_back(i % blocks);
    Random random(4);
    const Words words = with_sequences(program, plain, random);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        const auto plan = plan_of(11, 2, 1 + seed % 3, 1);
        Model model;
        model.thread(program, plain, plan, mix64(seed));
        TestRun run;
        run.begin_with_bursts(plan, seed, {0x1000});
        collect(run, program, {words}, random);
        run.collector.end();
        check_equal(run.result(), model, program);
        CHECK(run.profile.check().has_value());
    }
}

TEST_CASE("the same when the graph is emptied meanwhile") {
    const GraphFillingStream stream;
    const auto& program = stream.program;
    const auto& trace = stream.trace;
    const auto plan = plan_of(20, 1, 3, 2);
    Model model;
    model.thread(program, trace, plan, mix64(5));
    TestRun run;
    run.begin_with_bursts(plan, 5, {0x1000});
    run.add(program, trace);
    run.collector.end();
    const Profile p = run.result();
    CHECK(p.sampling.counters.at("graphs_emptied") > 0);
    check_equal(p, model, program);
    check_equal(run.profile.burst_counts(), model.counts);
}

TEST_CASE("bursts begin behind what a sample skips") {
    TestProgram program;
    const auto loop = program.add(0x1000, Terminator::conditional, 0x1000);
    const auto plan = plan_of(0, 1, 1, 1);
    TestRun run;
    const std::vector<GuestAddress> stack = {{0x1000}};
    run.collector.begin({.resolver = run.resolver,
                         .stack = stack,
                         .skip_instructions = 9,
                         .bursts = &plan,
                         .seed = 1});
    run.add(program, Words(10, loop));
    run.collector.end();
    CHECK(run.profile.burst_counts().events == 6);
    const Profile p = run.result();
    REQUIRE(p.edges.size() == 1);
    CHECK(p.edges[0].count == 6);
    REQUIRE(p.paths.size() == 1);
    CHECK(p.paths[0].count == 7);
}

TEST_CASE("what a sample counts in bursts is weighted") {
    Random random(31);
    TestProgram program = some_program();
    const auto plan = plan_of(9, 1, 2, 1);
    TestRun weighted, repeated;
    std::uint64_t instructions = 0, sum = 0;
    for (int sample = 0; sample < 30; ++sample) {
        const Words words = with_sequences(program, random_blocks(random, 300), random);
        const auto weight = 1 + static_cast<std::uint32_t>(random.next() % 5);
        const auto seed = random.next();
        weighted.begin_with_bursts(plan, seed, {0x1000}, weight);
        const auto executed = weighted.add(program, words).instructions;
        weighted.collector.end();
        instructions += executed;
        sum += weight * executed;
        for (std::uint32_t i = 0; i < weight; ++i) {
            repeated.begin_with_bursts(plan, seed, {0x1000});
            repeated.add(program, words);
            repeated.collector.end();
        }
    }
    const CountScale scale{instructions, sum};
    const Profile a = weighted.result(), b = repeated.result();
    const auto check = [&](const auto& list, const auto& expected) {
        REQUIRE(list.size() == expected.size());
        for (const auto& item : expected) {
            const auto same = std::find_if(list.begin(), list.end(), [&](const auto& other) {
                return identity(other) == identity(item);
            });
            REQUIRE(same != list.end());
            CHECK(same->count == scale(item.count));
            CHECK(same->error);
        }
    };
    check(a.edges, b.edges);
    check(a.paths, b.paths);
    check(a.calls, b.calls);
    CHECK(weighted.profile.check().has_value());
    CHECK(weighted.profile.burst_counts().events < repeated.profile.burst_counts().events);
}

TEST_CASE("errors of edges are those of bursts") {
    TestProgram program;
    const auto loop = program.add(0x1000, Terminator::conditional, 0x1000);
    const auto plan = plan_of(100, 1, 1, 1);
    TestRun all, bursts;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const Words words(500 + 10 * seed, loop);
        all.sample(program, words, {0x1000});
        bursts.begin_with_bursts(plan, seed, {0x1000});
        bursts.add(program, words);
        bursts.collector.end();
    }
    const auto error = all.profile.edge_errors(0), error_in_bursts = bursts.profile.edge_errors(0);
    REQUIRE(error);
    REQUIRE(error_in_bursts);
    CHECK(*error_in_bursts > 10 * *error);
    const Profile p = bursts.result();
    REQUIRE(p.edges.size() == 1);
    CHECK(*p.edges[0].error ==
          doctest::Approx(*error_in_bursts * double(p.edges[0].count)).epsilon(0.05));
}

TEST_CASE("more in bursts than there was is noticed") {
    BlockRegistry registry;
    IdentityResolver resolver;
    const TestProgram program = some_program();
    const BlockToken path[] = {*registry.token(program.blocks[0], resolver),
                               *registry.token(program.blocks[1], resolver)};
    FlowTotals all(registry);
    StepTotals::StepId steps[] = {StepTotals::unknown, StepTotals::unknown};
    PathStore::Handle place, place_in_bursts, unknown;
    all.add_path(path, place, steps, 3);
    BurstTotals bursts(registry, {}), more_paths(registry, {});
    bursts.edges.add(bursts.edges.step_id(path[0], path[1]), 3);
    bursts.paths.add(path, place_in_bursts, 3);
    CHECK(bursts.check(all).has_value());
    bursts.edges.add(bursts.edges.step_id(path[0], path[1]), 1);
    CHECK_FALSE(bursts.check(all).has_value());
    more_paths.paths.add(std::span(path).first(1), unknown, 1);
    CHECK_FALSE(more_paths.check(all).has_value());
}

TEST_CASE("bursts of values and references are counted, with the events in them") {
    TestProgram program;
    const auto plain = program.add(0x1000, Terminator::jump, 0x1000);
    const auto valued = program.with_values(plain, {{0, 53, 8, 1, ValueSlot::no_source, 0}});
    const ReferenceSlot load{.instruction_offset = 0,
                             .instruction = 0,
                             .words = 1,
                             .flags = ReferenceSlot::load | ReferenceSlot::direct,
                             .bytes = 8,
                             .address_registers = 8,
                             .written = 1};
    const auto referenced = program.with_references(plain, {load});
    for (const std::size_t piece : {std::size_t{1000}, std::size_t{3}}) {
        CAPTURE(piece);
        TestRun run({.references = ReorderWindow{}});
        run.begin_with_bursts(plan_of(7, 1, 1, 1), 1, {0x1000});
        // Each level has buffers of its own, as in the emulator. Records may be cut.
        const auto add = [&](BlockId id, std::size_t records) {
            Words words;
            for (std::size_t i = 0; i < records; ++i) {
                words.push_back(id);
                if (id != plain) words.push_back(0x5000);
            }
            for (std::size_t at = 0; at < words.size(); at += piece) {
                const auto end = std::min(words.size(), at + piece);
                run.add(program, {words.begin() + static_cast<std::ptrdiff_t>(at),
                                  words.begin() + static_cast<std::ptrdiff_t>(end)});
            }
        };
        for (int round = 0; round < 2; ++round) {
            add(plain, 10);
            add(valued, 5);
            add(plain, 20);
            add(referenced, 3);
            add(plain, 4);
            add(valued, 2);
        }
        run.collector.end();
        const auto counts = run.profile.burst_counts();
        CHECK(counts.events == 2 * 44 - 1);
        CHECK(counts.values == TracedBursts{.bursts = 4, .events = 14});
        CHECK(counts.references == TracedBursts{.bursts = 2, .events = 6});
        run.begin({0x1000});
        add(valued, 5);
        run.collector.end();
        CHECK(run.profile.burst_counts().values.bursts == 4);
    }
}

}  // namespace
}  // namespace shadowprof::bursts_test
