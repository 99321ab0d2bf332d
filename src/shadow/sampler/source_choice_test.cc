#include "shadow/sampler/source_choice.h"

#include <doctest/doctest.h>

#include "ptrace/thread/wait_hub.h"
#include "shadow/sampler/fake_source.h"

namespace shadowprof::source_choice_test {
namespace {

struct Scene {
    explicit Scene(const RunOptions& wanted) : options(wanted), costs(options, hub) {}

    RunOptions options;
    WaitHub hub;
    SamplingCosts costs;
    FakeSource shadows{0.001}, live{0.002}, beside{0.001};
    SourceChoice choice{options, costs, shadows, live};
    SampledProcess process;
};

}  // namespace

TEST_CASE("the mode says which kind of sample is taken") {
    Scene of_live({.mode = SamplingMode::live}), of_shadows({.mode = SamplingMode::shadow}),
        with_load({.load = 0.5});
    CHECK(&of_live.choice.next(of_live.process) == &of_live.live);
    CHECK(&of_shadows.choice.next(of_shadows.process) == &of_shadows.shadows);
    CHECK(&with_load.choice.next(with_load.process) == &with_load.shadows);
    CHECK(of_live.choice.expected_cost_seconds(of_live.process) == 0.002);
}

TEST_CASE("what is beside samples has a quarter of the cost, and never two turns in a row") {
    Scene scene({.mode = SamplingMode::shadow});
    scene.choice.set_beside(&scene.beside);
    CHECK(scene.choice.expected_cost_seconds(scene.process) == doctest::Approx(0.001 / 0.75));
    int beside = 0, in_a_row = 0;
    for (int i = 0; i < 1000; ++i) {
        auto& source = scene.choice.next(scene.process);
        const bool is_beside = &source == &scene.beside;
        if (i < 3) CHECK_FALSE(is_beside);
        beside += is_beside;
        in_a_row = is_beside ? in_a_row + 1 : 0;
        CHECK(in_a_row < 2);
        scene.costs.add_pause(std::chrono::milliseconds(1));
        scene.choice.on_tried(source, 0.001);
        scene.choice.on_done(source);
    }
    CHECK(beside >= 240);
    CHECK(beside <= 250);
    scene.beside.allowed = false;
    for (int i = 0; i < 10; ++i) {
        auto& source = scene.choice.next(scene.process);
        CHECK(&source == &scene.shadows);
        scene.choice.on_done(source);
    }
}

TEST_CASE("where no profile is made of samples, all turns are those of what is beside them") {
    Scene scene({.profiles = ProfileKinds::of<LatencyList>()});
    scene.choice.set_beside(&scene.beside);
    for (int i = 0; i < 3; ++i) {
        auto& source = scene.choice.next(scene.process);
        CHECK(&source == &scene.beside);
        scene.choice.on_tried(source, 0.001);
        scene.choice.on_done(source);
    }
}

TEST_CASE("samples and what is beside them are switched off and on again") {
    Scene scene({.mode = SamplingMode::shadow});
    scene.choice.set_beside(&scene.beside);
    const auto besides = [&] {
        int beside = 0;
        for (int i = 0; i < 100; ++i) {
            auto& source = scene.choice.next(scene.process);
            beside += &source == &scene.beside;
            scene.costs.add_pause(std::chrono::milliseconds(1));
            scene.choice.on_tried(source, 0.001);
            scene.choice.on_done(source);
        }
        return beside;
    };
    CHECK(besides() > 0);
    scene.choice.collect(ProfileKinds());
    CHECK(besides() == 0);
    CHECK(scene.choice.expected_cost_seconds(scene.process) == 0.001);
    scene.choice.collect(ProfileKinds::of<LatencyList>());
    CHECK(besides() == 100);
}

}  // namespace shadowprof::source_choice_test
