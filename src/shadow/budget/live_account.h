// Sums over live samples, for the profile's counters.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"

namespace shadowprof {

// The longest stop of a live sample or latency session if the user has set none.
inline constexpr std::chrono::milliseconds default_stop_limit{2};

class LiveAccount {
  public:
    // Records a stop that took `pause` and should have taken `limit` at most.
    void add_stop(std::chrono::nanoseconds pause, std::chrono::nanoseconds limit) {
        excess_max_ = std::max(excess_max_, pause - limit);
    }
    // Counts a sample that its time limit cut while the emulation could have gone on.
    void add_cut() { ++cut_; }
    void add_discarded() { ++discarded_; }
    // Records one emulated sample. `translation_ns` is part of `emulation_ns`.
    void add_emulation(std::uint64_t emulation_ns, std::uint64_t translation_ns) {
        emulation_ns_ += emulation_ns;
        translation_ns_ += translation_ns;
    }

    // Records what was emulated after a sample, for the next one (WorkerProcess::rehearse).
    void add_rehearsal(std::uint64_t instructions, std::uint64_t ns) {
        rehearsed_instructions_ += instructions;
        rehearsal_ns_ += ns;
    }

    void fill(std::map<std::string, std::uint64_t>& counters) const {
        counters["live_samples_cut_by_time"] = cut_;
        counters["live_samples_discarded"] = discarded_;
        counters["live_excess_max_us"] = (to_ns(excess_max_) + 999) / 1000;
        counters["live_emulation_ns"] = emulation_ns_;
        counters["live_translation_ns"] = translation_ns_;
        counters["rehearsed_instructions"] = rehearsed_instructions_;
        counters["rehearsal_ns"] = rehearsal_ns_;
    }

  private:
    std::uint64_t cut_ = 0;
    std::uint64_t discarded_ = 0;
    std::chrono::nanoseconds excess_max_{0};
    std::uint64_t emulation_ns_ = 0, translation_ns_ = 0;
    std::uint64_t rehearsed_instructions_ = 0, rehearsal_ns_ = 0;
};

}  // namespace shadowprof
