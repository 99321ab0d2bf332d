// Decides whether the input of a process is recorded because its samples are worth little without
// it. Such samples end where a pipe or a socket would have to be read, as those of servers do soon.
#pragma once

#include "emu/guest/sample_end.h"

namespace shadowprof {

class InputNeed {
  public:
    // Whether the end of a sample without recorded input says if it needed some.
    static bool tells(SampleEnd end) {
        return end == SampleEnd::input || end == SampleEnd::size || end == SampleEnd::met;
    }
    // Adds a sample. One without recorded input needs input if it ended for lack of it. One with a
    // recording needs input if something was recorded. Returns whether is_there() has changed.
    bool observe(bool is_needed);
    bool is_there() const { return is_there_; }

  private:
    unsigned samples_ = 0;
    double needed_ = 0;  // smoothed share of samples that needed input
    bool is_there_ = false;
};

}  // namespace shadowprof
