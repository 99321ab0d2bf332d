// Whether samples of a process are worth so little without what it reads that this is recorded for
// them. They end where a pipe or a socket would have to be read, as those of servers do soon.
#pragma once

#include "emu/guest/sample_end.h"

namespace shadowprof {

class InputNeed {
  public:
    // Whether the end of a sample for which nothing was recorded tells anything.
    static bool tells(SampleEnd end) {
        return end == SampleEnd::input || end == SampleEnd::size || end == SampleEnd::met;
    }
    // A sample for which nothing was recorded needs input if it ended by that; another one does if
    // something was recorded. True if the answer has changed.
    bool observe(bool is_needed);
    bool is_there() const { return is_there_; }

  private:
    unsigned samples_ = 0;
    double needed_ = 0;  // the share of the last ones
    bool is_there_ = false;
};

}  // namespace shadowprof
