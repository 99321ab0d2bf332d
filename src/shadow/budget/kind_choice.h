// Chooses the kind of sample that is worth its price. A shadow sample costs the target a fork, and
// a fault for each page that it writes to. A live sample costs it the time of the emulation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "shadow/budget/sample_kind.h"
#include "shadow/budget/sample_spread.h"

namespace shadowprof {

// Chooses the kind of a process's next sample, from what its samples have cost and yielded.
class KindChoice {
  public:
    // Returns the kind to take next. At first it is one that surely costs little: a shadow sample,
    // whose code is translated while the target goes on, if its greatest cost,
    // `shadow_bound_seconds`, is small enough; else a live sample. When both are known, it is the
    // one that yields more for its cost, and now and then the other one.
    SampleKind choose(double shadow_bound_seconds) const;
    // To be called if samples are by time. Shadow samples then have a window and tell how fast code
    // is. As long as they cost little, more of them come before the first live sample, whose weight
    // needs that speed.
    void begin_with_windows() { begins_with_windows_ = true; }

    // `pages`: how many the process has of its own. If they are many more than at the last shadow
    // sample, the costs of shadow samples are forgotten.
    void on_pages(std::uint64_t pages);
    // Forgets costs and yields, as if no sample of the kind had been taken.
    void forget(SampleKind kind) { of(kind) = {}; }
    std::uint64_t pages() const { return pages_; }
    void on_sample(SampleKind kind);
    // The last sample of the kind came to nothing, which does not speak against the kind.
    void on_lost(SampleKind kind);
    // Records what a sample has cost the target in all.
    void on_cost(SampleKind kind, double seconds);
    // Records how many instructions a sample had. `is_wanted`: whether it has what samples should
    // have, which is a known speed of the program if samples are by time. Others are worth less.
    void on_yield(SampleKind kind, std::uint64_t instructions, bool is_wanted = true);

    // Records which blocks a sample of `instructions` instructions executed. They tell how much
    // samples of the kind differ. forget() keeps this, as it holds for the program.
    void on_blocks(SampleKind kind, const BlockVector& blocks, std::uint64_t instructions);

    // The expected cost of one more sample; a guess if nothing is known.
    double expected_cost_seconds(SampleKind kind) const;
    // Like expected_cost_seconds(), without a guess: nothing if no cost is known since the last
    // forget().
    std::optional<double> known_cost_seconds(SampleKind kind) const;
    // The share of the kind in the costs of all samples of the process, if one more of the kind
    // costs `seconds`.
    double share_of_costs_with(SampleKind kind, double seconds) const;
    // The expected instructions of a sample; 0 if not known.
    double expected_yield(SampleKind kind) const { return of(kind).yield; }

  private:
    struct Experience {
        std::uint64_t samples = 0;
        std::uint64_t last = 0;  // number of samples of both kinds when it was taken last
        double cost_seconds = 0;
        double yield = 0;   // instructions
        double wanted = 1;  // share of samples that are wanted
        bool has_cost = false, has_yield = false, has_wanted = false;
    };

    const Experience& of(SampleKind kind) const { return kinds_[static_cast<std::size_t>(kind)]; }
    Experience& of(SampleKind kind) { return kinds_[static_cast<std::size_t>(kind)]; }
    bool is_known(SampleKind kind) const { return of(kind).has_cost && of(kind).has_yield; }
    std::optional<SampleKind> first_choice(double shadow_bound_seconds) const;
    std::uint64_t shadows_before_live() const;
    double spent_seconds(SampleKind kind) const {
        return spent_seconds_[static_cast<std::size_t>(kind)];
    }
    double expected_spread(SampleKind kind) const;
    double worth_per_second(SampleKind kind) const;

    std::array<Experience, 2> kinds_;
    SampleSpread spread_;
    std::array<double, 2> spent_seconds_{};
    std::uint64_t samples_ = 0;
    std::uint64_t pages_ = 0;
    std::uint64_t pages_at_shadow_ = 0;
    bool begins_with_windows_ = false;
};

}  // namespace shadowprof
