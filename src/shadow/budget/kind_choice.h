// Which kind of sample is worth its price: a shadow sample costs the target a fork and a fault for
// each page that it writes to; a live sample costs it the time of the emulation.
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
    // The kind to take next. First what is certain to cost little: a shadow sample, whose code is
    // translated while the target goes on, if `shadow_bound_seconds`, which it costs at most, is
    // little enough; else a live sample. When both are known, the one that yields more for its
    // cost; and now and then the other one.
    SampleKind choose(double shadow_bound_seconds) const;
    // Samples are by time. Those of replicas have a window, and tell how fast code is: there are
    // more of them, as long as they cost little, before the first live one, which weighs by that.
    void begin_with_windows() { begins_with_windows_ = true; }

    // The process has so many pages of its own. When they are many more than at the last shadow
    // sample, what those have cost says nothing any more.
    void on_pages(std::uint64_t pages);
    // As if no sample of the kind had been taken.
    void forget(SampleKind kind) { of(kind) = {}; }
    std::uint64_t pages() const { return pages_; }
    void on_sample(SampleKind kind);
    // The last one came to nothing, which does not speak against its kind.
    void on_lost(SampleKind kind);
    // What a sample has cost the target in all, and how many instructions it had.
    void on_cost(SampleKind kind, double seconds);
    // `is_wanted`: it has what samples are to have (of samples by time: how fast the program is
    // there is known), or nothing is asked of them. One that has not is worth less.
    void on_yield(SampleKind kind, std::uint64_t instructions, bool is_wanted = true);

    // A sample of so many instructions had executed these blocks. They tell how much samples of the
    // kind differ. forget() leaves that, as it holds for the program.
    void on_blocks(SampleKind kind, const BlockVector& blocks, std::uint64_t instructions);

    // What one more costs, as far as that is known.
    double expected_cost_seconds(SampleKind kind) const;
    // The same; nothing if none has been settled since the process had so many pages.
    std::optional<double> known_cost_seconds(SampleKind kind) const;
    // The part of all that the process's samples have cost that those of a kind make up, if there
    // is one more, for so much.
    double share_of_costs_with(SampleKind kind, double seconds) const;
    // How many instructions it has; 0 if that is not known.
    double expected_yield(SampleKind kind) const { return of(kind).yield; }

  private:
    struct Experience {
        std::uint64_t samples = 0;
        std::uint64_t last = 0;  // when it was chosen last, in samples of both kinds
        double cost_seconds = 0;
        double yield = 0;   // instructions
        double wanted = 1;  // the share of samples that are
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
