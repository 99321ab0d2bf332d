// Several emulators, processes and threads at once.
#include <doctest/doctest.h>

#include <thread>

#include "profile/collect/test_traces.h"

namespace shadowprof::process_profile_test {
namespace {

using namespace testing;
using Words = std::vector<std::uint64_t>;

// A module that is loaded at another address in each process.
class ShiftedResolver final : public AddressResolver {
  public:
    explicit ShiftedResolver(std::uint64_t base) : base_(base) {}
    CodeLocation resolve(GuestAddress address) override { return {0, address.value - base_}; }

  private:
    std::uint64_t base_;
};

TestProgram loop_at(std::uint64_t base) {
    TestProgram program;
    program.add(base + 0x1000, Terminator::conditional, base + 0x1020);
    program.add(base + 0x1010, Terminator::none);
    program.add(base + 0x1020, Terminator::jump, base + 0x1000);
    return program;
}

TEST_CASE("processes with different layouts add up by module and address") {
    ModuleTable modules;
    ProcessProfile profile({}, modules);
    for (std::uint64_t base : {0x100000u, 0x7700000u}) {
        SampleCollector& collector = profile.add_collector();
        const TestProgram program = loop_at(base);
        ShiftedResolver resolver(base);
        const std::vector<GuestAddress> stack = {{base + 0x1000}, {base + 0x9001}};
        collector.begin({resolver, stack});
        collector.add(batch({0, 1, 2, 0, 2, 0}), program.table());
        collector.end();
    }
    Profile p;
    profile.fill(p);
    CHECK(p.sampling.counters.at("blocks") == 3);
    CHECK(p.sampling.counters.at("impossible_steps") == 0);
    REQUIRE(p.stacks.size() == 1);
    CHECK(p.stacks[0].instructions == 2 * 18);
    CHECK(p.stacks[0].samples == 2);
    CHECK(p.stacks[0].frames == std::vector{at(0x9000), at(0x1000)});
    CHECK(profile.check().has_value());
}

TEST_CASE("threads may collect while a profile is being made") {
    ModuleTable modules;
    ProcessProfile profile({}, modules);
    constexpr int samples = 200;
    constexpr std::size_t threads = 3;
    std::vector<std::thread> collecting;
    for (std::size_t i = 0; i < threads; ++i)
        collecting.emplace_back([&, &collector = profile.add_collector()] {
            TestProgram program;
            Words words;
            for (std::uint64_t k = 0; k < 50; ++k) {
                const auto id = program.add(0x1000 + 16 * k, Terminator::jump, 0x1000);
                words.insert(words.end(), {id, program.with_values(id, {{0, 53, 8, 1, 0}}), k});
            }
            IdentityResolver resolver;
            for (int sample = 0; sample < samples; ++sample) {
                collector.begin({resolver, {}});
                collector.add(batch(words), program.table());
                collector.end();
            }
        });
    for (int i = 0; i < 20; ++i) {
        Profile p;
        profile.fill(p);
    }
    for (auto& thread : collecting) thread.join();
    Profile p;
    profile.fill(p);
    CHECK(p.sampling.counters.at("blocks") == 50);
    CHECK(p.sampling.counters.at("samples_collected") == threads * samples);
    std::uint64_t instructions = 0;
    for (const Stack& stack : p.stacks) instructions += stack.instructions;
    CHECK(instructions == threads * samples * 100 * 3);
    REQUIRE(p.values.size() == 50);
    for (const ValueProfile& v : p.values) CHECK(v.count == threads * samples);
    CHECK(profile.check().has_value());
}

TEST_CASE("lists are sorted hottest first") {
    TestRun run;
    TestProgram program;
    for (std::uint64_t i = 0; i < 6; ++i)
        program.add(0x1000 + 0x100 * i, Terminator::indirect_jump);
    Words words;
    for (std::uint64_t i = 0; i < 6; ++i)
        for (std::uint64_t k = 0; k <= i * i; ++k) words.insert(words.end(), {i, 0});
    run.sample(program, words);
    const Profile p = run.result();
    REQUIRE(p.edges.size() > 5);
    for (std::size_t i = 1; i < p.edges.size(); ++i)
        CHECK(p.edges[i - 1].count >= p.edges[i].count);
    for (std::size_t i = 1; i < p.paths.size(); ++i)
        CHECK(p.paths[i - 1].count >= p.paths[i].count);
}

}  // namespace
}  // namespace shadowprof::process_profile_test
