// Checks that the confidence intervals in profiles contain the truth as often as they should, with
// thousands of profiles of random programs whose truths are known.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "profile/collect/test_traces.h"

namespace shadowprof::errors_test {
namespace {

using namespace testing;

// A dispatcher that calls functions again and again. The next function depends on the one before: a
// Markov chain. Phase 1 uses another matrix than phase 0.
class MarkovProgram {
  public:
    static constexpr std::size_t functions = 6;
    static constexpr std::uint64_t function_spacing = 0x1000;

    explicit MarkovProgram(std::uint64_t seed) : random_(seed) {
        dispatcher_ = program_.add(0x100, Terminator::indirect_call, 0, 4);
        for (std::size_t i = 0; i < functions; ++i)
            functions_.push_back(
                program_.add(entry(i), Terminator::ret, 0, 2 + static_cast<std::uint32_t>(2 * i)));
        again_ = program_.add(0x110, Terminator::jump, 0x100, 2);
        for (auto& phase : next_)
            for (auto& row : phase) {
                double sum = 0;
                for (double& p : row) sum += p = 0.05 + random_.unit() * random_.unit();
                for (double& p : row) p /= sum;
            }
        for (std::size_t phase = 0; phase < 2; ++phase) find_shares(phase);
    }

    static std::uint64_t entry(std::size_t function) { return function_spacing * (function + 1); }

    static constexpr double sample_ns = 1'000'000;

    // Where the samples of each phase begin.
    static constexpr std::array<std::uint64_t, 2> begins = {0x100, 0x1000};

    void sample(TestRun& run, std::size_t phase, std::uint32_t weight, Random& random,
                std::uint32_t calls = 60, bool in_kernel = false) {
        words_.clear();
        std::size_t function = pick(shares_[phase], random);
        for (std::uint32_t i = 0; i < calls; ++i) {
            words_.insert(words_.end(), {dispatcher_, functions_[function], again_});
            function = pick(next_[phase][function], random);
        }
        const std::array stack = {GuestAddress{0x100}, GuestAddress{0x90001}};
        std::optional<GuestAddress> began_at;
        if (!in_kernel) began_at = GuestAddress{begins[phase]};
        run.collector.begin({.resolver = run.resolver,
                             .stack = stack,
                             .weight = weight,
                             .time_ns = weight * sample_ns,
                             .began_at = began_at});
        run.add(program_, words_);
        run.collector.end();
    }

    // The expected values per instruction if phase 1 has `phase_share` of the samples: calls of a
    // function, and the function's share of all instructions.
    struct Truth {
        double calls = 0;
        double instructions = 0;
    };
    Truth truth(std::size_t function, double phase_share) const {
        const std::array weight = {1 - phase_share, phase_share};
        double all = 0, calls = 0;
        for (std::size_t phase = 0; phase < 2; ++phase) {
            for (std::size_t i = 0; i < functions; ++i)
                all += weight[phase] * shares_[phase][i] * (6 + instructions(i));
            calls += weight[phase] * shares_[phase][function];
        }
        return {calls / all, calls * instructions(function) / all};
    }

  private:
    using Row = std::array<double, functions>;

    static double instructions(std::size_t function) {
        return 2 + 2 * static_cast<double>(function);
    }
    static std::size_t pick(const Row& row, Random& random) {
        double left = random.unit();
        for (std::size_t i = 0; i + 1 < row.size(); ++i)
            if ((left -= row[i]) < 0) return i;
        return row.size() - 1;
    }
    // The stationary distribution of the matrix, by iteration.
    void find_shares(std::size_t phase) {
        shares_[phase].fill(1.0 / functions);
        for (int i = 0; i < 1000; ++i) {
            Row next{};
            for (std::size_t from = 0; from < functions; ++from)
                for (std::size_t to = 0; to < functions; ++to)
                    next[to] += shares_[phase][from] * next_[phase][from][to];
            shares_[phase] = next;
        }
    }

    Random random_;
    TestProgram program_;
    BlockId dispatcher_ = 0, again_ = 0;
    std::vector<BlockId> functions_;
    std::array<std::array<Row, functions>, 2> next_{};
    std::array<Row, 2> shares_{};
    std::vector<std::uint64_t> words_;
};

// How often the intervals of one kind contain the truth, and how wide they are.
struct Coverage {
    std::uint64_t intervals = 0, right = 0;
    double relative_errors = 0;

    void add(double count, std::optional<double> error, double truth) {
        REQUIRE(error.has_value());
        ++intervals;
        right += std::abs(count - truth) <= *error;
        relative_errors += *error / truth;
    }
    double share() const { return static_cast<double>(right) / static_cast<double>(intervals); }
    double relative_error() const { return relative_errors / static_cast<double>(intervals); }
};

std::uint64_t instructions(const Profile& profile) {
    std::uint64_t sum = 0;
    for (const Stack& stack : profile.stacks) sum += stack.instructions;
    return sum;
}

struct Experiment {
    std::size_t samples = 0;  // per profile
    std::size_t profiles = 0;
    double phase_share = 0;  // phase 1's share of the program's time
    // How many times as densely phase 1 is sampled. Samples of phase 0 weigh so much more.
    std::uint32_t denser = 1;
    // How many times as many instructions phase 0 executes in the same time.
    std::uint32_t faster = 1;
    // Looks in a run. They tell the phases apart.
    std::size_t looks = 0;
    // The share of samples that begin in the kernel.
    double in_kernel = 0;

    // Phase 1's share of all calls. Its share of the time is phase_share.
    double phase_calls() const {
        const double calls = phase_share / faster;
        return calls / (calls + 1 - phase_share);
    }
};

void add_profile(const Profile& profile, const MarkovProgram& program, const Experiment& experiment,
                 std::map<std::string, Coverage>& coverage) {
    const auto all = static_cast<double>(instructions(profile));
    for (std::size_t f = 0; f < MarkovProgram::functions; ++f) {
        const auto truth = program.truth(f, experiment.phase_calls());
        const auto entry = at(MarkovProgram::entry(f));
        const auto add_count = [&](const char* kind, const auto& item) {
            coverage[kind].add(static_cast<double>(item.count), item.error, truth.calls * all);
        };
        for (const CallPair& call : profile.calls)
            if (call.callee == entry) add_count("calls", call);
        for (const Edge& edge : profile.edges)
            if (edge.kind == EdgeKind::ret && edge.from.address == entry.address + 12)
                add_count("edges", edge);
        for (const Path& path : profile.paths)
            if (path.blocks.size() == 3 && path.blocks[1] == entry) add_count("paths", path);
        for (const Stack& stack : profile.stacks)
            if (stack.frames.back() == entry)
                coverage["stacks"].add(static_cast<double>(stack.instructions), stack.error,
                                       truth.instructions * all);
    }
}

// The samples of each phase begin in a function of its own.
class PhaseFunctions final : public FunctionFinder {
  public:
    std::optional<FoundFunction> find(CodeLocation at, const ModuleTable&) override {
        return FoundFunction{at};
    }
};

std::vector<PlaceTime> times_of(const Experiment& experiment, Random& random) {
    std::vector<PlaceTime> times(2);
    const double all_ns = MarkovProgram::sample_ns * (1 - experiment.in_kernel) *
                          static_cast<double>(experiment.samples);
    for (std::size_t i = 0; i < experiment.looks; ++i)
        ++times[random.unit() < experiment.phase_share].looks;
    for (std::size_t phase = 0; phase < times.size(); ++phase) {
        times[phase].at = at(MarkovProgram::begins[phase]);
        times[phase].time_ns = static_cast<std::uint64_t>(
            all_ns * static_cast<double>(times[phase].looks) /
            static_cast<double>(std::max<std::size_t>(experiment.looks, 1)));
    }
    return times;
}

// The coverage for each kind of entry.
std::map<std::string, Coverage> coverage_of(const Experiment& experiment) {
    std::map<std::string, Coverage> coverage;
    const double dense = experiment.phase_share * experiment.denser;
    const double phase_1 = dense / (dense + 1 - experiment.phase_share);
    for (std::size_t i = 0; i < experiment.profiles; ++i) {
        MarkovProgram program(i + 1);
        Random random(mix64(i));
        PhaseFunctions functions;
        TestRun run({.weighs_by_time = experiment.looks != 0, .functions = &functions});
        for (std::size_t k = 0; k < experiment.samples; ++k) {
            const std::size_t phase = random.unit() < phase_1;
            const bool in_kernel = random.unit() < experiment.in_kernel;
            constexpr std::uint32_t calls = 60;
            if (phase == 0)
                program.sample(run, phase, experiment.denser, random, calls, in_kernel);
            else
                program.sample(run, phase, 1, random, calls / experiment.faster, in_kernel);
        }
        Profile profile;
        if (experiment.looks != 0) profile.times = times_of(experiment, random);
        run.profile.fill(profile);
        add_profile(profile, program, experiment, coverage);
    }
    return coverage;
}

void check_coverage(const Experiment& experiment) {
    CAPTURE(experiment.samples);
    CAPTURE(experiment.phase_share);
    CAPTURE(experiment.denser);
    CAPTURE(experiment.faster);
    const auto coverage = coverage_of(experiment);
    CHECK(coverage.size() == 4);
    for (const auto& entry : coverage) {
        CAPTURE(entry.first);
        CHECK(entry.second.intervals == MarkovProgram::functions * experiment.profiles);
        CHECK(entry.second.share() >= 0.92);
        CHECK(entry.second.share() <= 0.985);
    }
}

TEST_CASE("intervals of 95% contain the truth 95 times in 100") {
    for (const double phase_share : {0.0, 0.3}) {
        check_coverage({.samples = 32, .profiles = 1000, .phase_share = phase_share});
        check_coverage({.samples = 100, .profiles = 400, .phase_share = phase_share});
        check_coverage({.samples = 500, .profiles = 150, .phase_share = phase_share});
    }
}

TEST_CASE("where a phase is sampled more densely, weights keep the intervals true") {
    check_coverage({.samples = 32, .profiles = 600, .phase_share = 0.3, .denser = 4});
    check_coverage({.samples = 200, .profiles = 250, .phase_share = 0.3, .denser = 4});
}

TEST_CASE("intervals hold where one phase is ten times as fast as the other") {
    check_coverage({.samples = 100, .profiles = 400, .phase_share = 0.5, .faster = 10});
    check_coverage({.samples = 300, .profiles = 200, .phase_share = 0.3, .faster = 10});
}

TEST_CASE("intervals hold where looks say how long each phase is") {
    check_coverage({.samples = 32, .profiles = 600, .phase_share = 0.3, .looks = 400});
    check_coverage({.samples = 100, .profiles = 300, .phase_share = 0.5, .looks = 600});
    check_coverage(
        {.samples = 100, .profiles = 300, .phase_share = 0.3, .faster = 10, .looks = 900});
    check_coverage(
        {.samples = 60, .profiles = 400, .phase_share = 0.5, .looks = 600, .in_kernel = 0.3});
    check_coverage({.samples = 100, .profiles = 300, .phase_share = 0.03, .looks = 900});
}

TEST_CASE("looks make intervals narrower") {
    Experiment experiment{.samples = 60, .profiles = 50, .phase_share = 0.5};
    const double without = coverage_of(experiment)["edges"].relative_error();
    experiment.looks = 1000;
    const double with = coverage_of(experiment)["edges"].relative_error();
    CHECK(with < 0.92 * without);
}

TEST_CASE("quantiles of Student's t are those of the tables") {
    for (const auto& [degrees, t] : std::map<double, double>{
             {3, 3.182}, {5, 2.571}, {7, 2.365}, {15, 2.131}, {31, 2.040}, {120, 1.980}})
        CHECK(student_t(degrees) == doctest::Approx(t).epsilon(0.005));
}

TEST_CASE("blocks that overlap are one edge, with one error") {
    TestProgram program;
    const auto whole = program.add(0x1000, Terminator::indirect_jump);
    const auto half = program.add(0x1008, Terminator::indirect_jump);
    program.blocks[half].last = program.blocks[whole].last;
    program.blocks[half].end = program.blocks[whole].end;
    program.blocks[half].instructions = program.blocks[whole].instructions;
    const auto next = program.add(0x2000, Terminator::none);
    TestRun run;
    for (int i = 0; i < 20; ++i) run.sample(program, {i % 2 ? whole : half, next});
    const Profile profile = run.result();
    REQUIRE(profile.edges.size() == 1);
    CHECK(profile.edges[0].count == 20);
    CHECK(profile.edges[0].error.value() <= 0.1);
}

TEST_CASE("a stack is the same wherever in its callers samples began") {
    TestProgram program;
    const auto call = program.add(0x1000, Terminator::call, 0x2000);
    const auto callee = program.add(0x2000, Terminator::none);
    TestRun run;
    for (std::uint64_t i = 0; i < 20; ++i) run.sample(program, {call, callee}, {0x1000 - i});
    const Profile profile = run.result();
    const std::vector frames = {at(0x100f), at(0x2000)};
    const auto stack = std::find_if(profile.stacks.begin(), profile.stacks.end(),
                                    [&](const Stack& s) { return s.frames == frames; });
    REQUIRE(stack != profile.stacks.end());
    CHECK(stack->instructions == 20 * 3);
    CHECK(stack->error.value() <= 0.1);
}

// Each of the samples counts one of two edges, in turn.
Profile alternating(TestRun& run, int samples) {
    TestProgram program;
    const auto from = program.add(0x1000, Terminator::indirect_jump);
    const auto one = program.add(0x2000, Terminator::none);
    const auto other = program.add(0x3000, Terminator::none);
    for (int i = 0; i < samples; ++i) run.sample(program, {from, i % 2 ? one : other});
    return run.result();
}

TEST_CASE("the error of a coin's heads is that of the binomial distribution") {
    TestRun run;
    const Profile profile = alternating(run, 32);
    REQUIRE(profile.edges.size() == 2);
    const double deviation = std::sqrt(32 * 0.5 * 0.5 * 32 / 31);
    CHECK(profile.edges[0].error.value() == doctest::Approx(2.04 * deviation).epsilon(0.02));
}

TEST_CASE("few batches say nothing about errors, nor does what is no sample") {
    TestRun few, exact({.are_samples = false});
    CHECK_FALSE(alternating(few, 7).edges[0].error);
    CHECK(alternating(few, 1).edges[0].error);
    const Profile profile = alternating(exact, 100);
    CHECK_FALSE(profile.edges[0].error);
    CHECK_FALSE(profile.paths[0].error);
    CHECK_FALSE(profile.stacks[0].error);
    CHECK(profile.function_batches.sizes.empty());
}

TEST_CASE("batches grow with the number of samples") {
    TestRun run;
    CHECK(alternating(run, 32).sampling.counters.at("batches") == 32);
    const auto many = alternating(run, 3200 - 32).sampling.counters.at("batches");
    CHECK(many > 32 + 100);
    CHECK(many < 32 + 200);
}

TEST_CASE("instructions by function and batch add up to the stacks") {
    TestRun run;
    MarkovProgram program(5);
    Random random(5);
    for (int i = 0; i < 100; ++i) program.sample(run, 0, 1, random);
    const Profile profile = run.result();
    std::map<CodeLocation, double> by_function;
    std::vector<double> by_batch(profile.function_batches.sizes.size());
    for (const auto& part : profile.function_batches.parts) {
        by_function[part.at] += part.instructions;
        by_batch.at(part.batch) += part.instructions;
    }
    for (std::size_t i = 0; i < by_batch.size(); ++i)
        CHECK(by_batch[i] == profile.function_batches.sizes[i].instructions);
    for (const Stack& stack : profile.stacks)
        CHECK(by_function[stack.frames.back()] == static_cast<double>(stack.instructions));
}

}  // namespace
}  // namespace shadowprof::errors_test
