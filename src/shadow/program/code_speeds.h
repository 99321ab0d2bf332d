// How fast a process executes instructions by itself, by the code that it is in, as the windows of
// its samples say (sample_window.h). Samples without a window weigh by the speed of their code.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "base/guest_address.h"

namespace shadowprof {

class CodeSpeeds {
  public:
    // A sample has begun at `pc`.
    void note_start(GuestAddress pc);
    // There will be a window of one that did, unless something comes in between.
    void note_trial(GuestAddress pc);
    // The same of a rough one.
    void note_rough_trial(GuestAddress pc);
    // A window that begins at `pc`: the program needed so long for so many instructions.
    void add(GuestAddress pc, std::uint64_t instructions, double seconds);
    // The same of a window that is so short that it says little. It counts for code that no other
    // window begins near to.
    void add_rough(GuestAddress pc, std::uint64_t instructions, double seconds);

    // A window had an end that the emulation did not come by, within
    // most_instructions_per_second().
    void add_missed();

    // The speed of code at `pc`. It is that of the windows that begin near it. Without these it is
    // that of the rough windows there, and without any it is the speed of all code.
    double instructions_per_second(GuestAddress pc) const;
    // A window has begun near `pc`, and was no rough one.
    bool knows(GuestAddress pc) const { return exact_.near(pc) != nullptr; }
    // No window has begun near `pc`, not even a rough one, and few were tried.
    bool wants_guess(GuestAddress pc) const;
    // The speed of all code together.
    double instructions_per_second() const;
    // Several were missed in a row.
    bool misses_often() const;
    // More than the process is likely to execute. The more after each miss, until there is an end
    // that is met again.
    double most_instructions_per_second() const;
    // Few samples of a process are to have a window if all were missed lately: a miss costs much.
    // To be asked once for each sample.
    bool may_have_window();
    // Many samples begin near `pc`, no window has, and few were tried.
    bool wants_window(GuestAddress pc) const;
    // There is such code.
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
    // Code that is so near is taken to be alike: a cache line, or what is likely to be one
    // function. The first that has a window counts.
    static constexpr std::array<std::uint64_t, 2> region_bytes = {64, 1024};
    // More code is not told apart.
    static constexpr std::size_t most_regions = 4096;

    struct Speeds {
        Speed all;
        std::array<std::map<std::uint64_t, Speed>, region_bytes.size()> regions;

        void add(GuestAddress pc, std::uint64_t instructions, double seconds);
        // Null: no window has begun near it.
        const Speed* near(GuestAddress pc) const;
    };
    struct Starts {
        std::uint64_t samples = 0;
        std::uint64_t trials = 0, rough_trials = 0;
    };
    bool wants_window(std::uint64_t region, const Starts& starts) const;

    Speeds exact_, rough_;
    std::map<std::uint64_t, Starts> starts_;  // by the smallest regions
    std::uint64_t samples_ = 0;
    double fastest_ = 0;         // instructions a second
    unsigned misses_ = 0;        // since an end was met
    std::uint64_t without_ = 0;  // samples that are to have no window, before the next that may
};

}  // namespace shadowprof
