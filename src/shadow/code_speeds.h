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
    // A window that begins at `pc`: the program needed so long for so many instructions.
    void add(GuestAddress pc, std::uint64_t instructions, double seconds);

    // A window had an end that the emulation did not come by, within
    // most_instructions_per_second().
    void add_missed();

    // Of code at `pc`: as windows say that begin near, or else of all code. As long as there is no
    // window, all code is alike.
    double instructions_per_second(GuestAddress pc) const;
    // A window has begun near `pc`.
    bool knows(GuestAddress pc) const { return near(pc) != nullptr; }
    // Of all code.
    double instructions_per_second() const;
    // More than the process is likely to execute. The more after each miss, until there is an end
    // that is met again.
    double most_instructions_per_second() const;
    // Of processes whose windows were all missed lately, few samples are to have one: a miss costs
    // much. To be asked once for each sample.
    bool may_have_window();
    // Many samples begin near `pc`, no window has, and few were tried.
    bool wants_window(GuestAddress pc) const;
    // There is such code.
    bool wants_window() const;

  private:
    struct Speed {
        double instructions = 0, seconds = 0;
    };
    // Code that is so near is taken to be alike: a cache line, or what is likely to be one
    // function. The first that has a window counts.
    static constexpr std::array<std::uint64_t, 2> region_bytes = {64, 1024};
    // More code is not told apart.
    static constexpr std::size_t most_regions = 4096;

    struct Starts {
        std::uint64_t samples = 0;
        std::uint64_t trials = 0;
    };
    bool wants_window(std::uint64_t region, const Starts& starts) const;
    // Null: no window has begun near it.
    const Speed* near(GuestAddress pc) const;

    Speed all_;
    std::array<std::map<std::uint64_t, Speed>, region_bytes.size()> speeds_;
    std::map<std::uint64_t, Starts> starts_;  // by the smallest regions
    std::uint64_t samples_ = 0;
    double fastest_ = 0;         // instructions a second
    unsigned misses_ = 0;        // since an end was met
    std::uint64_t without_ = 0;  // samples that are to have no window, before the next that may
};

}  // namespace shadowprof
