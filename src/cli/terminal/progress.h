// The line that shows how far a run is.
#pragma once

#include <cstdio>
#include <string>

#include "shadow/request/run_hooks.h"

namespace shadowprof {

// "12.5 s, 3100 samples, 3098.2 million instructions"
std::string progress_text(const RunProgress& progress);

// On a terminal, one line that is rewritten and disappears in the end; elsewhere, a line of its own
// now and then.
class ProgressLine {
  public:
    // `out` outlives this.
    ProgressLine(std::FILE* out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine();

    // May be called as often as one likes: what comes too soon after the last one is not shown.
    void show(const RunProgress& progress);

  private:
    std::FILE* out_;
    bool is_terminal_;
    double next_seconds_ = 0;
    bool shown_ = false;
};

}  // namespace shadowprof
