#include "profile/timeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "profile/kinds/stacks/sample_stacks.h"
#include "profile/merge/merge.h"
#include "profile/merge/phase.h"

namespace shadowprof::timeline_test {
namespace {

constexpr CodeLocation at(std::uint64_t address) {
    return {0, address};
}

// As many samples, a millisecond apart, each with two stacks: main calls f or g.
Timeline timeline_of(std::size_t samples) {
    Timeline timeline{.kinds = {"shadow"},
                      .ends = {"size"},
                      .threads = {{.pid = 1, .tid = 1, .name = "", .start_us = 0, .end_us = {}}},
                      .samples = {},
                      .stacks = {},
                      .parents = {0, 1, 1},
                      .frames = {at(0x10), at(0x20), at(0x30)}};
    for (std::size_t i = 0; i < samples; ++i) {
        timeline.samples.push_back({.start_us = 1000 * i,
                                    .instructions = 100,
                                    .counted = 200,
                                    .stacks = 2,
                                    .number = i + 1});
        timeline.stacks.push_back({2, 60});
        timeline.stacks.push_back({3, 40});
    }
    return timeline;
}

std::uint64_t instructions_of(const Timeline& timeline) {
    return std::accumulate(timeline.stacks.begin(), timeline.stacks.end(), std::uint64_t{0},
                           [](auto sum, const auto& each) { return sum + each.instructions; });
}

}  // namespace

TEST_CASE("thinning keeps every so many samples, with their stacks") {
    Timeline timeline = timeline_of(10);
    thin_out(timeline, 4);
    CHECK(timeline.stride == 4);
    REQUIRE(timeline.samples.size() == 3);
    CHECK(timeline.samples[2].start_us == 8000);
    CHECK(timeline.stacks.size() == 6);
    CHECK(!fault_of(timeline));
}

TEST_CASE("a timeline is kept within its size, its largest stacks last") {
    Timeline timeline = timeline_of(1000);
    const Timeline whole = timeline;
    keep_timeline_size(timeline, 1'000'000);
    CHECK(timeline == whole);
    keep_timeline_size(timeline, 70'000);
    CHECK(timeline.samples.size() < 1000);
    CHECK(timeline.stride > 1);
    CHECK(!fault_of(timeline));
}

TEST_CASE("of stacks of the same size as many stay as there is room for") {
    Timeline equal = timeline_of(10);
    for (TimelineStack& stack : equal.stacks) stack.instructions = 50;
    for (TimelineSample& sample : equal.samples) sample.stacks = 2;
    keep_timeline_size(equal, 900);
    CHECK(!fault_of(equal));
    CHECK(equal.samples.size() == 10);
    CHECK(equal.stacks.size() >= 5);
    CHECK(equal.stacks.size() < 20);
}

TEST_CASE("threads of samples that are left out go, too") {
    Timeline many = timeline_of(100);
    many.threads.clear();
    for (std::uint32_t i = 0; i < 200; ++i)
        many.threads.push_back({.pid = 1, .tid = i, .name = "", .start_us = {}, .end_us = {}});
    for (std::uint32_t i = 0; i < 100; ++i) many.samples[i].thread = 199 - i;
    keep_timeline_size(many, 4400);
    CHECK(!fault_of(many));
    CHECK(many.threads.size() <= 11);
    CHECK(many.threads.size() + many.threads_left_out == 200);
    REQUIRE(many.samples.size() >= 2);
    CHECK(many.threads[many.samples[0].thread].tid == 199);
}

TEST_CASE("stacks that are too deep are a fault") {
    Timeline deep = timeline_of(1);
    for (std::size_t i = deep.frames.size(); i < 2 * max_timeline_depth; ++i) {
        deep.parents.push_back(static_cast<std::uint32_t>(i));
        deep.frames.push_back(at(i));
    }
    CHECK(fault_of(deep) == "a call stack that is too deep");
}

TEST_CASE("a stride of any size stays one") {
    Timeline strange = timeline_of(4);
    strange.stride = std::uint64_t{1} << 63;
    thin_out(strange, 2);
    CHECK(strange.stride == UINT64_MAX);
    CHECK(!fault_of(strange));
}

TEST_CASE("where samples fit, but not their stacks, the largest stacks stay") {
    Timeline small = timeline_of(10);
    small.stacks.clear();
    for (TimelineSample& sample : small.samples) {
        sample.stacks = 20;
        small.stacks.push_back({2, 62});
        small.stacks.insert(small.stacks.end(), 19, {3, 2});
    }
    keep_timeline_size(small, 2000);
    CHECK(!fault_of(small));
    CHECK(small.samples.size() == 10);
    CHECK(std::ranges::count(small.stacks, TimelineStack{2, 62}) == 10);
    CHECK(small.stacks.size() < 200);
    keep_timeline_size(small, 0);
    CHECK(!fault_of(small));
    CHECK(small.stacks.empty());
    CHECK(small.frames.empty());
}

TEST_CASE("a phase has the samples that came behind the last one") {
    Timeline earlier = timeline_of(4), later = timeline_of(7);
    later.threads.push_back({.pid = 1, .tid = 2, .name = "", .start_us = 100, .end_us = 2000});
    subtract(later, earlier, 3500);
    REQUIRE(later.samples.size() == 3);
    CHECK(later.samples[0].start_us == 4000);
    CHECK(later.threads.size() == 1);  // the other one had ended
    CHECK(!fault_of(later));
    CHECK(frames_of(later, later.stacks[1].node) == std::vector{at(0x10), at(0x30)});
}

TEST_CASE("frames that no stack needs are dropped") {
    Timeline timeline = timeline_of(1);
    timeline.stacks.erase(timeline.stacks.begin());
    timeline.samples[0].stacks = 1;
    drop_unused_frames(timeline);
    CHECK(timeline.parents == std::vector<std::uint32_t>{0, 1});
    CHECK(timeline.frames == std::vector{at(0x10), at(0x30)});
    CHECK(timeline.stacks[0].node == 2);
}

TEST_CASE("what would lead out of a list is a fault") {
    CHECK(!fault_of(timeline_of(3)));
    const auto faulty = [](auto change) {
        Timeline timeline = timeline_of(3);
        change(timeline);
        return fault_of(timeline).has_value();
    };
    CHECK(faulty([](Timeline& t) { t.stride = 0; }));
    CHECK(faulty([](Timeline& t) { t.samples[1].thread = 1; }));
    CHECK(faulty([](Timeline& t) { t.samples[1].kind = 1; }));
    CHECK(faulty([](Timeline& t) { t.samples[1].end = 1; }));
    CHECK(faulty([](Timeline& t) { t.samples[1].stacks = 3; }));
    CHECK(faulty([](Timeline& t) { t.samples[1].start_us = 9000; }));
    CHECK(faulty([](Timeline& t) { t.stacks[0].node = 4; }));
    CHECK(faulty([](Timeline& t) { t.parents[0] = 1; }));
    CHECK(faulty([](Timeline& t) { t.parents.pop_back(); }));
    CHECK(faulty([](Timeline& t) { t.stacks.pop_back(); }));
    CHECK(faulty([](Timeline& t) {
        t.threads[0].start_us = 2;
        t.threads[0].end_us = 1;
    }));
}

TEST_CASE("the timelines of several runs are left out, with one note") {
    Profile one, two;
    one.timeline = timeline_of(2);
    Profile sum = one;
    merge_into(sum, two);
    CHECK(!sum.timeline);
    REQUIRE(sum.notes.size() == 1);
    CHECK(sum.notes[0].find("timeline") != std::string::npos);
    merge_into(sum, one);
    CHECK(!sum.timeline);
    CHECK(sum.notes.size() == 1);
    Profile neither;
    merge_into(neither, two);
    CHECK(neither.notes.empty());
}

TEST_CASE("samples have what they executed by context, and what that stands for") {
    StackTree tree;
    const auto main = tree.initial(std::vector{at(0x100)});
    const auto callee = tree.initial(std::vector{at(0x200), at(0x101)});
    SampleStacks stacks;
    stacks.add({1, 2, 50, {{main, 10}, {callee, 30}}});
    stacks.add({1, 2, 25, {{main, 20}}});  // the sample's other part
    Timeline timeline{.kinds = {"shadow"}, .ends = {"size"}, .threads = {{}}};
    timeline.samples = {{.number = 1}, {.start_us = 5, .number = 2}};
    stacks.fill(timeline, tree, {.instructions = 60, .weighted = 120});
    CHECK(!fault_of(timeline));
    CHECK(timeline.samples[0].instructions == 60);
    CHECK(timeline.samples[0].counted == 60);
    CHECK(timeline.samples[0].time_ns == 75);
    CHECK(timeline.samples[0].stacks == 2);
    CHECK(timeline.samples[1].stacks == 0);
    CHECK(instructions_of(timeline) == 60);
    const auto& second = timeline.stacks[1];
    CHECK(second.instructions == 30);
    CHECK(frames_of(timeline, second.node) == tree.frames(callee));
}

TEST_CASE("contexts that become one are one in each sample") {
    SampleStacks stacks;
    StackTree tree;
    const auto main = tree.initial(std::vector{at(0x100)});
    const auto other = tree.initial(std::vector{at(0x200)});
    stacks.add({1, 1, 0, {{main, 1}, {other, 2}}});
    std::vector<ContextId> into(tree.size());
    into[main] = into[other] = main;
    stacks.join(into);
    Timeline timeline{.kinds = {"shadow"}, .ends = {"size"}, .threads = {{}}};
    timeline.samples = {{.number = 1}};
    stacks.fill(timeline, tree, {});
    REQUIRE(timeline.stacks.size() == 1);
    CHECK(timeline.stacks[0].instructions == 3);
}

TEST_CASE("a long run is thinned out, and says by which stride") {
    SampleStacks stacks;
    StackTree tree;
    const auto main = tree.initial(std::vector{at(0x100)});
    Timeline timeline{.kinds = {"shadow"}, .ends = {"size"}, .threads = {{}}};
    const auto most = 2 * max_timeline_samples + 2;
    for (std::uint64_t number = 1; number <= most; ++number) {
        stacks.add({number, 1, 0, {{main, 1}}});
        timeline.samples.push_back({.number = number});
    }
    stacks.fill(timeline, tree, {});
    CHECK(timeline.stride == 4);
    CHECK(timeline.samples.size() == most / 4);
    for (const TimelineSample& sample : timeline.samples) CHECK(sample.stacks == 1);
}

}  // namespace shadowprof::timeline_test
