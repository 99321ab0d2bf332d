// Merging random profiles: neither the order nor the grouping matters.
#include <doctest/doctest.h>

#include <random>

#include "profile/merge/merge.h"
#include "profile/merge/process_list.h"

namespace shadowprof::merge_property_test {
namespace {

class RandomProfiles {
  public:
    explicit RandomProfiles(unsigned seed) : engine_(seed) {}

    // Makes a random profile. Its ranges are small, so that profiles have much in common.
    Profile profile() {
        Profile p;
        add_modules(p);
        for (std::uint64_t i = below(20); i > 0; --i)
            p.edges.push_back(
                {location(p), location(p), static_cast<EdgeKind>(below(6)), count(), error()});
        for (std::uint64_t i = below(20); i > 0; --i)
            p.paths.push_back({{location(p), location(p)}, below(3), count(), error()});
        for (std::uint64_t i = below(20); i > 0; --i)
            // One that no sample has has no error.
            p.stacks.push_back({{location(p)}, count(), 1 + below(8), error()});
        for (std::uint64_t i = below(20); i > 0; --i)
            p.calls.push_back({location(p), location(p), count(), error()});
        for (std::uint64_t i = below(20); i > 0; --i)
            p.methods.push_back({location(p), count(), count(), maybe(count()), error()});
        for (std::uint64_t address = 0; address < 6; ++address)
            if (below(2) == 0) p.values.push_back(value(address, p));
        for (std::uint64_t i = below(6); i > 0; --i)
            p.threads.push_back({integer(3), integer(3), word(), count(), count(), count()});
        for (std::uint64_t i = below(9); i > 0; --i)
            p.times.push_back({location(p), count(), count()});
        for (std::uint64_t i = below(max_processes); i > 0; --i) p.processes.push_back(process());
        for (std::uint64_t i = below(9); i > 0; --i) p.hazards.push_back(hazard(p));
        for (std::uint64_t i = below(9); i > 0; --i) p.addresses.push_back({location(p), moves()});
        for (std::uint64_t i = below(9); i > 0; --i) p.streams.push_back(stream(p));
        for (std::uint64_t i = below(9); i > 0; --i)
            p.system_calls.push_back({location(p), word(), {location(p)}, count()});
        for (auto& call : p.system_calls)
            if (below(2) == 0) call.failed = call.bytes = count();
        for (std::uint64_t i = below(9); i > 0; --i)
            p.waits.push_back({word(), location(p), word(), {location(p)}, count(), count()});
        for (std::uint64_t i = below(9); i > 0; --i)
            p.allocations.push_back({location(p), {location(p)}, count(), count()});
        for (std::uint64_t i = below(9); i > 0; --i)
            p.call_costs.push_back({location(p), location(p), count(), count()});
        for (std::uint64_t i = below(9); i > 0; --i) p.branches.push_back(branch(p));
        for (std::uint64_t i = below(9); i > 0; --i)
            p.cache.push_back({location(p),
                               count(),
                               count(),
                               count(),
                               count(),
                               {count(), count(), count(), count()}});
        if (below(2) == 0) p.cache_model = CacheModel{.source = word(), .levels = {}};
        if (below(2) == 0) p.branch_model = BranchModel{.return_stack_entries = below(8) / 7};
        for (std::uint64_t i = below(9); i > 0; --i) p.latency.push_back(load(p));
        for (std::uint64_t i = below(5); i > 0; --i) p.probes.push_back(probe(p));
        if (below(2) == 0) p.latency_host = LatencyHost{.step_cycles = 1 + below(8) / 7};
        fill_sampling(p.sampling);
        if (below(4) != 0) p.sampling.counters["looks_lost"] = count();
        fill_run(p.run);
        p.overhead.pause = {seconds(), seconds(), seconds()};
        p.overhead.budget_percent = seconds();
        p.overhead.stops = count();
        p.syscalls.by_name = counts();
        for (std::uint64_t i = below(4); i > 0; --i) p.notes.push_back(word());
        return p;
    }

  private:
    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    std::uint64_t count() { return below(50); }
    std::int64_t integer(std::uint64_t n) { return static_cast<std::int64_t>(below(n)); }
    // Multiples of 1/8, whose sums are exact and can be compared.
    double seconds() { return static_cast<double>(below(64)) / 8; }
    std::string word() { return std::string(1, static_cast<char>('a' + below(4))); }
    template <typename T>
    std::optional<T> maybe(T value) {
        return below(4) == 0 ? std::nullopt : std::optional<T>(value);
    }
    std::optional<double> error() { return maybe(1 + seconds()); }
    std::map<std::string, std::uint64_t> counts() { return {{word(), count()}, {word(), count()}}; }

    // Modules in any order: some with a build-id under several names, some without.
    void add_modules(Profile& p) {
        p.modules = {{"/bin/a", "aa", 1 + below(3)},
                     {"/bin/" + word(), "bb", 1},
                     {"/lib/c", "", 1},
                     {"/lib/c", "cc", 1},
                     {"[anon]", "", 0}};
        std::shuffle(p.modules.begin(), p.modules.end(), engine_);
    }
    // Now and then a location in no module.
    CodeLocation location(const Profile& p) {
        const auto module = below(40) == 0 ? 99 : below(p.modules.size());
        return {static_cast<std::uint32_t>(module), below(4)};
    }
    // All in one module, so that profiles often have the same instruction.
    ValueProfile value(std::uint64_t address, const Profile& p) {
        std::uint32_t module = 0;
        while (p.modules[module].build_id != "aa") ++module;
        ValueProfile v{.at = {module, address},
                       .operand = "al",
                       .width_bytes = 1,
                       .type = {static_cast<ValueType::Kind>(below(3)),
                                static_cast<std::uint8_t>(1 << below(4))},
                       .count = 200 + count(),
                       .invariance = {},
                       .top = {},
                       .top_tnv = {}};
        for (int i = 0; i < 4; ++i)
            if (below(2) == 0)
                v.top.push_back({{static_cast<std::byte>(i)}, count(), 1 + seconds()});
        for (std::uint64_t i = below(3); i > 0; --i)
            v.by_caller.push_back({.callers = {location(p)},
                                   .count = 50 + count(),
                                   .top = {{{static_cast<std::byte>(below(3))}, count(), 1}},
                                   .absent_error = 1});
        return v;
    }
    Hazard hazard(const Profile& p) {
        return {static_cast<HazardKind>(below(hazard_kinds)), location(p), location(p), count(),
                count()};
    }
    DataStream stream(const Profile& p) {
        DataStream s{{}, count()};
        for (std::uint64_t i = 1 + below(2); i > 0; --i)
            s.references.push_back({location(p), below(2)});
        return s;
    }
    AddressMoves moves() {
        return {.constant = count(),
                .chased = count(),
                .irregular = count(),
                .strides = {{8 * integer(3) - 8, count()}}};
    }
    PredictedBranch branch(const Profile& p) {
        return {.at = location(p),
                .kind = static_cast<BranchKind>(below(branch_kinds)),
                .executions = count(),
                .taken = count(),
                .mispredictions = count()};
    }
    LoadLatency load(const Profile& p) {
        return {.at = location(p),
                .timed = count(),
                .reused = count(),
                .line_crossings = count(),
                .page_crossings = count(),
                .histogram = {{below(3), count()}, {below(3), count()}},
                .levels = counts(),
                .lost_cycles = count(),
                .moves = moves()};
    }
    ProbeDatum datum(ProbeDatumKind kind, const Profile& p) {
        if (kind == ProbeDatumKind::none) return {};
        if (kind == ProbeDatumKind::location) return location(p);
        return below(5) - 2;
    }
    ProbeEntry probe_entry(const ProbeProfile& probe, const Profile& p) {
        ProbeEntry e{.key = datum(probe.key, p),
                     .count = count(),
                     .sum = integer(9) - 4,
                     .histogram = {{static_cast<int>(below(4)), count()}},
                     .least = below(5) - 2,
                     .most = below(5) - 2};
        if (probe.reducer != Reducer::hotlist) return e;
        for (std::uint64_t i = below(4); i > 0; --i)
            e.top.push_back({datum(probe.value, p), count(), 1 + seconds()});
        e.absent_error = seconds();
        return e;
    }
    // Keys may repeat, as if they were in two modules that are the same.
    ProbeProfile probe(const Profile& p) {
        ProbeProfile probe{.name = word(),
                           .text = "true",
                           .reducer = static_cast<Reducer>(below(4)),
                           .value = static_cast<ProbeDatumKind>(below(4)),
                           .key = static_cast<ProbeDatumKind>(below(4)),
                           .hits = count(),
                           .missed = count(),
                           .left_out = count()};
        for (std::uint64_t i = below(6); i > 0; --i) probe.entries.push_back(probe_entry(probe, p));
        return probe;
    }
    ProcessInfo process() {
        return {.pid = integer(5),
                .parent = maybe(integer(3)),
                .command = {word()},
                .started_seconds = seconds(),
                .seconds = seconds(),
                .exit_status = maybe(1),
                .exit_signal = {},
                .samples = count(),
                .instructions = below(4)};
    }
    void fill_sampling(SamplingStats& s) {
        s.mode = below(3) == 0 ? "live" : "shadow";
        s.samples = below(3);
        s.instructions = count();
        s.emulation_seconds = seconds();
        s.target_instructions = maybe(count());
        s.ended = counts();
        if (below(3) != 0)
            s.bursts = BurstStats{.every = 100 + below(2),
                                  .events = "calls",
                                  .lengths = {{"edge", 1}},
                                  .events_counted = count(),
                                  .bursts = count(),
                                  .bursts_by_kind = counts(),
                                  .events_in_bursts = counts()};
        for (std::uint64_t i = below(70); i > 0; --i)
            s.changes.push_back({seconds(), below(9), word()});
        if (below(4) != 0) s.exact = ExactStats{.intervals = count(), .stopped_early = word()};
    }
    void fill_run(RunInfo& run) {
        run.command = {word()};
        run.pid = integer(2);
        run.started = maybe(std::string("2024-0") + word()).value_or("");
        run.seconds = seconds();
        run.exit_status = maybe(static_cast<int>(below(2)));
        run.seed = below(2);
        run.options = {{"mode", word()}, {word(), word()}};
        run.cpu = word();
    }

    std::mt19937 engine_;
};

using Errors = std::vector<std::pair<std::optional<double>, std::optional<double>>>;

void check_errors(const Errors& errors) {
    for (const auto& [a, b] : errors) {
        REQUIRE(a.has_value() == b.has_value());
        if (a) REQUIRE(*a == doctest::Approx(*b).epsilon(1e-9));
    }
}

// Checks that both have the same items in the same order. Returns their errors.
template <typename T, typename Fields>
void check_same(const std::vector<T>& a, const std::vector<T>& b, Fields fields) {
    REQUIRE(a.size() == b.size());
    Errors errors;
    for (std::size_t i = 0; i < a.size(); ++i) {
        REQUIRE(fields(a[i]) == fields(b[i]));
        errors.push_back({a[i].error, b[i].error});
    }
    check_errors(errors);
}

void check_same_values(const std::vector<ValueProfile>& a, const std::vector<ValueProfile>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto fields = [](const ValueProfile& v) {
            return std::tie(v.at, v.operand, v.width_bytes, v.count);
        };
        REQUIRE(fields(a[i]) == fields(b[i]));
        REQUIRE(a[i].type == b[i].type);
        REQUIRE(share_of(a[i].invariance) == share_of(b[i].invariance));
        check_errors({{a[i].absent_error, b[i].absent_error}});
        check_same(a[i].top, b[i].top,
                   [](const TopValue& top) { return std::tie(top.value, top.count); });
        REQUIRE(a[i].by_caller.size() == b[i].by_caller.size());
        for (std::size_t j = 0; j < a[i].by_caller.size(); ++j) {
            const auto &of_a = a[i].by_caller[j], &of_b = b[i].by_caller[j];
            REQUIRE(std::tie(of_a.callers, of_a.count) == std::tie(of_b.callers, of_b.count));
            check_same(of_a.top, of_b.top,
                       [](const TopValue& top) { return std::tie(top.value, top.count); });
        }
    }
}

void check_same_entries(const ProbeProfile& a, const ProbeProfile& b) {
    REQUIRE(a.entries.size() == b.entries.size());
    for (std::size_t i = 0; i < a.entries.size(); ++i) {
        const ProbeEntry &x = a.entries[i], &y = b.entries[i];
        const auto fields = [](const ProbeEntry& e) {
            return std::tie(e.key, e.count, e.histogram, e.least, e.most);
        };
        REQUIRE(bool(fields(x) == fields(y)));
        REQUIRE(bool(x.sum == y.sum));
        check_errors({{x.absent_error, y.absent_error}});
        check_same(x.top, y.top, [](const ProbeTop& top) { return top.count; });
        for (std::size_t k = 0; k < x.top.size(); ++k)
            REQUIRE(bool(x.top[k].value == y.top[k].value));
    }
}

void check_same_probes(const std::vector<ProbeProfile>& a, const std::vector<ProbeProfile>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto fields = [](const ProbeProfile& p) {
            return std::tie(p.name, p.text, p.reducer, p.value, p.key, p.hits, p.missed,
                            p.left_out);
        };
        REQUIRE(bool(fields(a[i]) == fields(b[i])));
        check_same_entries(a[i], b[i]);
    }
}

void check_same(const SamplingStats& a, const SamplingStats& b) {
    const auto fields = [](const SamplingStats& s) {
        return std::tie(s.mode, s.samples, s.instructions, s.emulation_seconds,
                        s.target_instructions, s.ended, s.single_stepped, s.counters, s.bursts,
                        s.changes, s.changes_left_out, s.convergence);
    };
    REQUIRE(fields(a) == fields(b));
    REQUIRE(a.exact.has_value() == b.exact.has_value());
    if (a.exact) REQUIRE(a.exact->intervals == b.exact->intervals);
    if (a.exact) REQUIRE(a.exact->stopped_early == b.exact->stopped_early);
}

void check_same(const RunInfo& a, const RunInfo& b) {
    const auto fields = [](const RunInfo& r) {
        return std::tie(r.command, r.pid, r.started, r.seconds, r.exit_status, r.exit_signal,
                        r.seed, r.options, r.cpu, r.kernel, r.cores, r.merged_runs);
    };
    REQUIRE(fields(a) == fields(b));
}

void check_same(const Profile& a, const Profile& b) {
    REQUIRE(a.modules.size() == b.modules.size());
    for (std::size_t i = 0; i < a.modules.size(); ++i) {
        REQUIRE(a.modules[i].path == b.modules[i].path);
        REQUIRE(a.modules[i].build_id == b.modules[i].build_id);
        REQUIRE(a.modules[i].size_bytes == b.modules[i].size_bytes);
    }
    check_same(a.edges, b.edges,
               [](const Edge& e) { return std::tie(e.from, e.to, e.kind, e.count); });
    check_same(a.paths, b.paths,
               [](const Path& p) { return std::tie(p.blocks, p.instructions, p.count); });
    check_same(a.stacks, b.stacks,
               [](const Stack& s) { return std::tie(s.frames, s.instructions, s.samples); });
    check_same(a.calls, b.calls,
               [](const CallPair& c) { return std::tie(c.site, c.callee, c.count); });
    check_same(a.methods, b.methods, [](const Method& m) {
        return std::tie(m.entry, m.entries, m.back_edges, m.instructions);
    });
    check_same_values(a.values, b.values);
    REQUIRE(a.hazards == b.hazards);
    REQUIRE(a.addresses == b.addresses);
    REQUIRE(a.streams == b.streams);
    REQUIRE(a.latency == b.latency);
    REQUIRE(a.latency_host == b.latency_host);
    REQUIRE(a.allocations == b.allocations);
    REQUIRE(a.call_costs == b.call_costs);
    REQUIRE(a.branches == b.branches);
    REQUIRE(a.branch_model == b.branch_model);
    REQUIRE(a.cache == b.cache);
    REQUIRE(a.cache_model == b.cache_model);
    check_same_probes(a.probes, b.probes);
    REQUIRE(a.threads == b.threads);
    REQUIRE(a.times == b.times);
    REQUIRE(a.processes == b.processes);
    REQUIRE(a.other_processes == b.other_processes);
    check_same(a.sampling, b.sampling);
    REQUIRE(a.overhead.pause.p99_us == b.overhead.pause.p99_us);
    REQUIRE(a.overhead.budget_percent == b.overhead.budget_percent);
    REQUIRE(a.overhead.stops == b.overhead.stops);
    REQUIRE(a.syscalls.by_name == b.syscalls.by_name);
    check_same(a.run, b.run);
    REQUIRE(a.notes == b.notes);
}

Profile merged(Profile a, const Profile& b) {
    merge_into(a, b);
    return a;
}

constexpr unsigned rounds = 200;

}  // namespace

TEST_CASE("merging is commutative") {
    for (unsigned seed = 0; seed < rounds; ++seed) {
        CAPTURE(seed);
        RandomProfiles random(seed);
        const Profile a = random.profile(), b = random.profile();
        check_same(merged(a, b), merged(b, a));
    }
}

TEST_CASE("merging is associative") {
    for (unsigned seed = 0; seed < rounds; ++seed) {
        CAPTURE(seed);
        RandomProfiles random(seed + rounds);
        const Profile a = random.profile(), b = random.profile(), c = random.profile();
        check_same(merged(merged(a, b), c), merged(a, merged(b, c)));
    }
}

TEST_CASE("what a merged profile says of the run is what all agree in") {
    Profile a, b;
    a.run = {.command = {"p", "x"},
             .pid = 7,
             .started = "2024-02",
             .seconds = 2,
             .exit_status = 0,
             .seed = 1,
             .options = {{"mode", "auto"}, {"load", "1"}},
             .cpu = "c",
             .cores = 2};
    b.run = {.command = {"p", "x"},
             .pid = 8,
             .started = "2024-01",
             .seconds = 3,
             .exit_status = 1,
             .seed = 1,
             .options = {{"mode", "auto"}, {"load", "2"}},
             .cpu = "c",
             .cores = 4};
    const RunInfo run = merged(a, b).run;
    CHECK(run.command == a.run.command);
    CHECK(run.pid == 0);
    CHECK(run.started == "2024-01");
    CHECK(run.seconds == 5);
    CHECK_FALSE(run.exit_status);
    CHECK(run.seed == 1);
    CHECK(run.options == std::map<std::string, std::string>{{"mode", "auto"}});
    CHECK(run.cpu == "c");
    CHECK(run.cores == 0);
    CHECK(run.merged_runs == 2);
}

}  // namespace shadowprof::merge_property_test
