// How fast a process executes instructions by itself, depending on the code that it is in. The
// windows of its samples tell (sample_window.h). Samples without a window are weighted by the speed
// of their code.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "base/guest_address.h"

namespace shadowprof {

class CodeSpeeds {
  public:
    // Records that a sample has begun at `pc`.
    void note_start(GuestAddress pc);
    // Records that a sample which began at `pc` will have a window, unless that fails.
    void note_trial(GuestAddress pc);
    // Like note_trial(), for a rough window.
    void note_rough_trial(GuestAddress pc);
    // Records a window that begins at `pc`: the program executed `instructions` in `seconds`.
    void add(GuestAddress pc, std::uint64_t instructions, double seconds);
    // Like add(), for a rough window, which is so short that it says little. It counts for code
    // near which no other window begins.
    void add_rough(GuestAddress pc, std::uint64_t instructions, double seconds);

    // Records a window whose end the emulation did not reach within max_instructions_per_second().
    void add_missed();

    // The speed of code at `pc`. It is that of the windows that begin near it. Without these it is
    // that of the rough windows there, and without any it is the speed of all code.
    double instructions_per_second(GuestAddress pc) const;
    // Whether a window that is not rough has begun near `pc`.
    bool knows(GuestAddress pc) const { return exact_.near(pc) != nullptr; }
    // Whether no window has begun near `pc`, not even a rough one, and few were tried.
    bool wants_guess(GuestAddress pc) const;
    // The speed of all code together.
    double instructions_per_second() const;
    // Whether several windows in a row were missed.
    bool misses_often() const;
    // More than the process is likely to execute. Grows with each miss, until an end is met again.
    double max_instructions_per_second() const;
    // Whether the next sample may have a window; to be called once for each sample. If all windows
    // were missed lately, few samples have one, as a miss costs much.
    bool may_have_window();
    // Whether many samples begin near `pc`, no window does, and few were tried.
    bool wants_window(GuestAddress pc) const;
    // Whether there is such code.
    bool wants_window() const;

  private:
    struct Speed {
        double instructions = 0, seconds = 0;

        void add(std::uint64_t more, double in_seconds) {
            instructions += static_cast<double>(more);
            seconds += in_seconds;
        }
        double per_second() const { return instructions / seconds; }
    };
    // Sizes of regions whose code is taken to be alike: a cache line, and what is likely to be one
    // function. The smallest region that has a window counts.
    static constexpr std::array<std::uint64_t, 2> region_bytes = {64, 1024};
    // Further regions are not told apart.
    static constexpr std::size_t max_regions = 4096;

    struct Speeds {
        Speed all;
        std::array<std::map<std::uint64_t, Speed>, region_bytes.size()> regions;

        void add(GuestAddress pc, std::uint64_t instructions, double seconds);
        // Null: no window has begun near `pc`.
        const Speed* near(GuestAddress pc) const;
    };
    struct Starts {
        std::uint64_t samples = 0;
        std::uint64_t trials = 0, rough_trials = 0;
    };
    bool wants_window(std::uint64_t region, const Starts& starts) const;

    Speeds exact_, rough_;
    std::map<std::uint64_t, Starts> starts_;  // by region of the smallest size
    std::uint64_t samples_ = 0;
    double fastest_ = 0;         // instructions a second
    unsigned misses_ = 0;        // misses since an end was met
    std::uint64_t without_ = 0;  // how many samples have no window before the next that may
};

}  // namespace shadowprof
