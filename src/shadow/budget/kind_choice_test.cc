#include "shadow/budget/kind_choice.h"

#include <doctest/doctest.h>

namespace shadowprof::kind_choice_test {
namespace {

// A process whose samples always cost and yield the same.
struct Process {
    double shadow_cost_seconds, live_cost_seconds;
    double shadow_bound_seconds;
    std::uint64_t shadow_yield = 1'000'000, live_yield = 200'000;
    bool is_live_wanted = true;

    SampleKind take_one(KindChoice& choice) const {
        const auto kind = choice.choose(shadow_bound_seconds);
        const bool is_shadow = kind == SampleKind::shadow;
        choice.on_sample(kind);
        choice.on_yield(kind, is_shadow ? shadow_yield : live_yield, is_shadow || is_live_wanted);
        choice.on_cost(kind, is_shadow ? shadow_cost_seconds : live_cost_seconds);
        return kind;
    }
    // Returns how many of `samples` samples are shadow samples.
    int shadows_of(KindChoice& choice, int samples) const {
        int shadows = 0;
        for (int i = 0; i < samples; ++i) shadows += take_one(choice) == SampleKind::shadow;
        return shadows;
    }
};

}  // namespace

TEST_CASE("what cannot cost much comes first") {
    KindChoice choice;
    CHECK(choice.choose(0.001) == SampleKind::shadow);
    CHECK(choice.choose(0.1) == SampleKind::live);
}

TEST_CASE("the kind that yields more for its cost is taken, and the other one tried") {
    KindChoice cheap_shadows, cheap_live;
    const Process small{
        .shadow_cost_seconds = 3e-4, .live_cost_seconds = 5e-4, .shadow_bound_seconds = 1e-3};
    const Process large{
        .shadow_cost_seconds = 3e-3, .live_cost_seconds = 5e-4, .shadow_bound_seconds = 3e-3};
    const auto of_small = small.shadows_of(cheap_shadows, 1000);
    CHECK(of_small > 950);
    CHECK(of_small < 1000);
    const auto of_large = large.shadows_of(cheap_live, 1000);
    CHECK(of_large < 50);
    CHECK(of_large > 2);
}

namespace {

// A sample that executed `count` of sixteen blocks, from the number `first` on.
BlockVector blocks_of(std::uint64_t first, std::uint64_t count) {
    BlockVector blocks;
    for (std::uint64_t i = 0; i < 1600; ++i)
        blocks.add(static_cast<BlockToken>((first + i / 2 % count) % 16), 1);
    return blocks;
}

// Returns how many of 200 samples are shadow samples, for a process whose samples cost the same and
// are equally long, but have these blocks.
template <typename OfShadow, typename OfLive>
int shadows_by_blocks(OfShadow of_shadow, OfLive of_live) {
    const Process process{.shadow_cost_seconds = 1e-3,
                          .live_cost_seconds = 1e-3,
                          .shadow_bound_seconds = 1e-3,
                          .shadow_yield = 500'000,
                          .live_yield = 500'000};
    KindChoice choice;
    int shadows = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
        const bool is_shadow = process.take_one(choice) == SampleKind::shadow;
        shadows += is_shadow;
        choice.on_blocks(is_shadow ? SampleKind::shadow : SampleKind::live,
                         is_shadow ? of_shadow(i) : of_live(i), 500'000);
    }
    return shadows;
}

}  // namespace

TEST_CASE("the kind whose samples differ less is taken") {
    const auto whole = [](std::uint64_t) { return blocks_of(0, 16); };
    const auto a_part = [](std::uint64_t i) { return blocks_of(5 * i, 2); };
    CHECK(shadows_by_blocks(whole, a_part) > 180);
    CHECK(shadows_by_blocks(a_part, whole) < 40);
    // If all are alike, either will do.
    const auto either = shadows_by_blocks(whole, whole);
    CHECK(either > 0);
    CHECK(either < 200);
}

TEST_CASE("samples that have what is asked of them are taken, though they cost somewhat more") {
    const Process dearer{
        .shadow_cost_seconds = 1.2e-3, .live_cost_seconds = 4e-4, .shadow_bound_seconds = 2e-3};
    Process untimed = dearer;
    untimed.is_live_wanted = false;
    Process dear = untimed;
    dear.shadow_cost_seconds = 4e-3;
    KindChoice all_wanted, shadows_wanted, too_dear;
    CHECK(dearer.shadows_of(all_wanted, 1000) < 100);
    CHECK(untimed.shadows_of(shadows_wanted, 1000) > 900);
    CHECK(dear.shadows_of(too_dear, 1000) < 100);
}

TEST_CASE("samples by time begin with windows, as long as these cost little") {
    const auto shadows_first = [](double shadow_cost_seconds, bool by_time) {
        KindChoice choice;
        if (by_time) choice.begin_with_windows();
        const Process process{.shadow_cost_seconds = shadow_cost_seconds,
                              .live_cost_seconds = 1e-5,
                              .shadow_bound_seconds = 1e-3};
        int shadows = 0;
        while (process.take_one(choice) == SampleKind::shadow) ++shadows;
        return shadows;
    };
    CHECK(shadows_first(5e-4, true) == 8);
    CHECK(shadows_first(3e-3, true) == 3);
    CHECK(shadows_first(3e-2, true) == 1);
    CHECK(shadows_first(5e-4, false) == 2);
}

TEST_CASE("the first live samples, which are poor, do not speak against all") {
    KindChoice choice;
    choice.begin_with_windows();
    const Process process{
        .shadow_cost_seconds = 1e-2, .live_cost_seconds = 2e-3, .shadow_bound_seconds = 3e-3};
    REQUIRE(process.take_one(choice) == SampleKind::shadow);
    Process poor = process;
    poor.live_yield = 2000;
    REQUIRE(poor.take_one(choice) == SampleKind::live);
    CHECK(process.shadows_of(choice, 100) < 20);
}

TEST_CASE("a process that grows does not begin with windows again") {
    KindChoice choice;
    choice.begin_with_windows();
    const Process process{
        .shadow_cost_seconds = 1e-2, .live_cost_seconds = 2e-3, .shadow_bound_seconds = 3e-3};
    CHECK(process.shadows_of(choice, 50) < 20);
    choice.on_pages(100'000);
    CHECK(process.shadows_of(choice, 50) < 5);
}

TEST_CASE("what a kind has cost is known, also of a process that has grown since") {
    KindChoice choice;
    CHECK(choice.share_of_costs_with(SampleKind::shadow, 1e-3) == 1);
    CHECK(!choice.known_cost_seconds(SampleKind::shadow));
    choice.on_sample(SampleKind::shadow);
    choice.on_cost(SampleKind::shadow, 1e-3);
    choice.on_cost(SampleKind::live, 6e-3);
    CHECK(*choice.known_cost_seconds(SampleKind::shadow) == 1e-3);
    choice.on_pages(1'000'000);
    CHECK(!choice.known_cost_seconds(SampleKind::shadow));
    CHECK(choice.share_of_costs_with(SampleKind::shadow, 3e-3) == doctest::Approx(0.4));
    CHECK(choice.share_of_costs_with(SampleKind::live, 0) == doctest::Approx(6.0 / 7));
}

TEST_CASE("a fork that may cost too much is not tried") {
    KindChoice choice;
    const Process huge{
        .shadow_cost_seconds = 0.5, .live_cost_seconds = 5e-4, .shadow_bound_seconds = 0.5};
    CHECK(huge.shadows_of(choice, 1000) == 0);
}

TEST_CASE("one that may cost something is, when live samples have shown what they do") {
    KindChoice choice;
    const Process writes_little{
        .shadow_cost_seconds = 3e-4, .live_cost_seconds = 1e-3, .shadow_bound_seconds = 0.015};
    CHECK(writes_little.shadows_of(choice, 4) == 0);
    CHECK(writes_little.shadows_of(choice, 100) > 90);
}

TEST_CASE("a shadow of which nothing became known is not tried at once again") {
    KindChoice choice;
    int shadows = 0;
    for (int i = 0; i < 320; ++i) {
        const auto kind = choice.choose(0.001);
        choice.on_sample(kind);
        if (kind == SampleKind::shadow) {
            ++shadows;
            continue;
        }
        choice.on_yield(kind, 200'000);
        choice.on_cost(kind, 5e-4);
    }
    CHECK(shadows == 10);
}

TEST_CASE("a shadow that came to nothing by no fault of its own is tried at once again") {
    KindChoice choice;
    for (int i = 0; i < 3; ++i) {
        REQUIRE(choice.choose(0.001) == SampleKind::shadow);
        choice.on_sample(SampleKind::shadow);
        CHECK(choice.choose(0.001) == SampleKind::live);
        choice.on_lost(SampleKind::shadow);
    }
}

TEST_CASE("a process that has grown is one whose forks are not known") {
    KindChoice choice;
    Process process{
        .shadow_cost_seconds = 3e-4, .live_cost_seconds = 5e-4, .shadow_bound_seconds = 1e-3};
    choice.on_pages(10'000);
    CHECK(process.shadows_of(choice, 100) > 90);
    process.shadow_bound_seconds = 0.5;
    choice.on_pages(15'000);
    CHECK(process.shadows_of(choice, 100) > 90);
    choice.on_pages(35'000);
    CHECK(process.shadows_of(choice, 1000) == 0);
}

TEST_CASE("a choice follows what changes") {
    KindChoice choice;
    Process process{
        .shadow_cost_seconds = 3e-4, .live_cost_seconds = 5e-4, .shadow_bound_seconds = 1e-3};
    process.shadows_of(choice, 100);
    process.shadow_cost_seconds = 0.01;
    CHECK(process.shadows_of(choice, 100) < 20);
}

}  // namespace shadowprof::kind_choice_test
