// The line that shows the progress of a run.
#pragma once

#include <cstdio>
#include <string>

#include "shadow/request/run_hooks.h"

namespace shadowprof {

// "12.5 s, 3100 samples, 3098.2 million instructions"
std::string progress_text(const RunProgress& progress);

// On a terminal, this is one line that is rewritten and disappears at the end. Elsewhere, a new
// line is written now and then.
class ProgressLine {
  public:
    // `out` must outlive this object.
    ProgressLine(std::FILE* out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine();

    // May be called at any rate: calls too soon after the last line are ignored.
    void show(const RunProgress& progress);

  private:
    std::FILE* out_;
    bool is_terminal_;
    double next_seconds_ = 0;
    bool shown_ = false;
};

}  // namespace shadowprof
