// Random programs and traces: compares the collector with a model that follows the definitions word
// for word, block by block.
#include <doctest/doctest.h>

#include <map>
#include <tuple>

#include "profile/collect/test_programs.h"
#include "profile/flow/flow.h"

namespace shadowprof::model_test {
namespace {

using namespace testing;

struct Model {
    std::map<std::tuple<CodeLocation, CodeLocation, EdgeKind>, std::uint64_t> edges;
    std::map<std::vector<CodeLocation>, std::uint64_t> paths;
    std::map<std::vector<CodeLocation>, std::uint64_t> stacks;
    std::uint64_t instructions = 0;
    bool keep_stacks = true;

    struct Frame {
        std::uint64_t return_to, function;
    };

    void sample(const TestProgram& program, const Words& trace, const Words& stack) {
        std::vector<Frame> frames;  // outermost first
        for (std::size_t i = stack.size(); i-- > 0;)
            frames.push_back(
                {i + 1 < stack.size() ? stack[i + 1] : 0, i == 0 ? stack[i] : stack[i] - 1});
        std::vector<CodeLocation> path;
        for (std::size_t i = 0; i < trace.size(); ++i) {
            const BlockInfo& block = program.blocks[trace[i]];
            path.push_back(at(block.start.value));
            if (keep_stacks) stacks[locations(frames)] += block.instructions;
            instructions += block.instructions;
            if (i + 1 == trace.size()) break;
            const BlockInfo& next = program.blocks[trace[i + 1]];
            add_edge(block, next);
            step(frames, block, next);
            const bool backward = is_jump(block.terminator) && next.start <= block.last;
            if (backward || path.size() == 128) end_path(path);
        }
        if (!path.empty()) end_path(path);
    }

  private:
    void end_path(std::vector<CodeLocation>& path) {
        ++paths[path];
        path.clear();
    }
    static std::vector<CodeLocation> locations(const std::vector<Frame>& frames) {
        std::vector<CodeLocation> result;
        for (const Frame& frame : frames)
            if (frame.return_to) result.push_back(at(frame.return_to - 1));
        result.push_back(at(frames.back().function));
        return result;
    }
    void add_edge(const BlockInfo& block, const BlockInfo& next) {
        static const std::map<Terminator, EdgeKind> kinds = {
            {Terminator::jump, EdgeKind::jump},
            {Terminator::indirect_jump, EdgeKind::indirect},
            {Terminator::call, EdgeKind::call},
            {Terminator::indirect_call, EdgeKind::call},
            {Terminator::ret, EdgeKind::ret}};
        EdgeKind kind;
        if (block.terminator == Terminator::conditional)
            kind = next.start == block.end ? EdgeKind::fall_through : EdgeKind::taken;
        else if (auto found = kinds.find(block.terminator); found != kinds.end())
            kind = found->second;
        else
            return;
        ++edges[{at(block.last.value), at(next.start.value), kind}];
    }
    static void step(std::vector<Frame>& frames, const BlockInfo& block, const BlockInfo& next) {
        const bool call =
            block.terminator == Terminator::call || block.terminator == Terminator::indirect_call;
        if (call && next.start != block.end)
            frames.push_back({block.end.value, next.start.value});
        else if (block.terminator == Terminator::ret)
            pop(frames, next.start.value);
        else if (block.terminator == Terminator::indirect_jump &&
                 block.start.value == frames.back().function)
            frames.back().function = next.start.value;
    }
    static void pop(std::vector<Frame>& frames, std::uint64_t to) {
        if (frames.size() == 1) {
            frames[0] = {0, to};
            return;
        }
        for (std::size_t i = frames.size(); i-- > 1;) {
            if (frames[i].return_to != to) continue;
            frames.resize(i);
            return;
        }
    }
};

// Adjacent blocks of every kind, and a walk that mostly follows their branches.
struct RandomRun {
    TestProgram program;
    Words trace;

    RandomRun(std::uint64_t seed, std::size_t blocks, std::size_t length) {
        Random random(seed);
        auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random.next() % n); };
        for (std::size_t i = 0; i < blocks; ++i) {
            const auto terminator = static_cast<Terminator>(pick(9));
            const auto target = 0x1000 + 16 * pick(blocks);
            const auto instructions = static_cast<std::uint32_t>(1 + pick(4));
            program.add(0x1000 + 16 * i, terminator, target, instructions);
        }
        std::size_t block = 0;
        std::vector<std::size_t> returns;
        for (std::size_t i = 0; i < length; ++i) {
            trace.push_back(block);
            block = successor(block, blocks, returns, random);
        }
    }

  private:
    std::size_t successor(std::size_t block, std::size_t blocks, std::vector<std::size_t>& returns,
                          Random& random) const {
        const std::size_t next = (block + 1) % blocks;
        const std::size_t target = (program.blocks[block].target.value - 0x1000) / 16;
        const bool usual = random.unit() < 0.9;
        switch (program.blocks[block].terminator) {
            case Terminator::conditional:
                return usual ? target : next;
            case Terminator::jump:
                return target;
            case Terminator::call:
            case Terminator::indirect_call:
                if (returns.size() > 12) return next;  // then by definition no call
                returns.push_back(next);
                if (program.blocks[block].terminator == Terminator::call) return target;
                break;
            case Terminator::ret:
                return pop(returns, next, usual);
            case Terminator::indirect_jump:
                break;
            default:
                return next;
        }
        return usual ? target : static_cast<std::size_t>(random.next() % blocks);
    }
    static std::size_t pop(std::vector<std::size_t>& returns, std::size_t next, bool usual) {
        if (returns.empty()) return next;
        if (!usual && returns.size() > 2) returns.resize(returns.size() - 2);
        const std::size_t to = returns.back();
        returns.pop_back();
        return to;
    }
};

void check_equal(const Profile& p, const Model& model) {
    std::uint64_t instructions = 0;
    CHECK(p.edges.size() == model.edges.size());
    for (const Edge& edge : p.edges) {
        auto found = model.edges.find({edge.from, edge.to, edge.kind});
        REQUIRE(found != model.edges.end());
        CHECK(found->second == edge.count);
    }
    CHECK(p.paths.size() == model.paths.size());
    for (const Path& path : p.paths) {
        auto found = model.paths.find(path.blocks);
        REQUIRE(found != model.paths.end());
        CHECK(found->second == path.count);
        instructions += path.count * path.instructions;
    }
    CHECK(instructions == model.instructions);
    CHECK(p.stacks.size() == model.stacks.size());
    for (const Stack& stack : p.stacks) {
        auto found = model.stacks.find(stack.frames);
        REQUIRE(found != model.stacks.end());
        CHECK(found->second == stack.instructions);
    }
}

// Collects a trace in pieces of at most `piece` words.
BatchResult collect_in_pieces(TestRun& run, const RandomRun& input, const Words& stack,
                              std::size_t piece) {
    BatchResult sum;
    run.begin(stack);
    for (std::size_t at = 0; at < input.trace.size(); at += piece) {
        const auto size = static_cast<std::ptrdiff_t>(std::min(piece, input.trace.size() - at));
        const auto begin = input.trace.begin() + static_cast<std::ptrdiff_t>(at);
        const BatchResult result = run.add(input.program, Words(begin, begin + size));
        sum.instructions += result.instructions;
        sum.damaged |= result.damaged;
    }
    run.collector.end();
    return sum;
}

const Words stack = {0x1000, 0x100010, 0x200010};

TEST_CASE("random programs have the profile that the definitions give") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        const RandomRun input(seed, 2 + seed % 40, 3000);
        Model model;
        model.sample(input.program, input.trace, stack);
        TestRun run;
        const BatchResult result = run.sample(input.program, input.trace, stack);
        CHECK_FALSE(result.damaged);
        CHECK(result.instructions == model.instructions);
        check_equal(run.result(), model);
        CHECK(run.profile.check().has_value());
    }
}

TEST_CASE("several samples of a random program are the model's sum") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        const RandomRun input(seed, 20, 2000);
        Model model;
        TestRun run;
        for (std::size_t length : {2000u, 1u, 777u, 128u, 129u}) {
            const Words part(input.trace.begin(),
                             input.trace.begin() + static_cast<std::ptrdiff_t>(length));
            model.sample(input.program, part, stack);
            run.sample(input.program, part, stack);
        }
        check_equal(run.result(), model);
        CHECK(run.profile.check().has_value());
    }
}

TEST_CASE("where a trace is cut into batches changes nothing") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        const RandomRun input(seed, 12, 1000);
        Model model;
        model.sample(input.program, input.trace, stack);
        for (std::size_t piece : {1u, 2u, 3u, 7u, 128u, 129u, 255u, 999u}) {
            CAPTURE(piece);
            TestRun run;
            const BatchResult result = collect_in_pieces(run, input, stack, piece);
            CHECK(result.instructions == model.instructions);
            check_equal(run.result(), model);
        }
    }
}

TEST_CASE("a trace cut in two at any place has the same profile") {
    const RandomRun input(5, 10, 300);
    Model model;
    model.sample(input.program, input.trace, stack);
    for (std::size_t cut = 0; cut <= input.trace.size(); ++cut) {
        CAPTURE(cut);
        const auto middle = input.trace.begin() + static_cast<std::ptrdiff_t>(cut);
        TestRun run;
        run.begin(stack);
        run.add(input.program, Words(input.trace.begin(), middle));
        run.add(input.program, Words(middle, input.trace.end()));
        run.collector.end();
        check_equal(run.result(), model);
    }
}

TEST_CASE("a stream that fills the graph loses nothing") {
    const GraphFillingStream stream;
    const auto& program = stream.program;
    const auto& trace = stream.trace;
    Model model;
    model.keep_stacks = false;  // they would not fit into memory
    model.sample(program, trace, stack);
    TestRun run;
    run.sample(program, trace, stack);
    const Profile p = run.result();
    std::map<std::tuple<CodeLocation, CodeLocation, EdgeKind>, std::uint64_t> edges;
    for (const Edge& edge : p.edges) edges[{edge.from, edge.to, edge.kind}] = edge.count;
    CHECK(edges == model.edges);
    CHECK(p.sampling.counters.at("graphs_emptied") > 0);
    CHECK(run.profile.check().has_value());
}

}  // namespace
}  // namespace shadowprof::model_test
