// The line that shows the progress of a run.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "shadow/request/run_hooks.h"

namespace shadowprof {

// When a run, or its sampling, ends at the latest. Nothing where no limit is known.
struct RunLimit {
    std::optional<double> seconds;  // since the begin
    std::optional<std::uint64_t> samples, instructions;
};

// "12.5 s, 3100 samples, 3098.2 million instructions, about 7.5 s to the limit". Where all
// instructions are followed, their speed is told. The time that is left is told only if there is a
// limit, and something to reckon with.
std::string progress_text(const RunProgress& progress, const RunLimit& limit = {});

// On a terminal, this is one line that is rewritten and disappears at the end. Elsewhere, a new
// line is written now and then.
class ProgressLine {
  public:
    // `out` must outlive this object.
    ProgressLine(std::FILE* out, bool is_terminal, RunLimit limit = {})
        : out_(out), is_terminal_(is_terminal), limit_(limit) {}
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;
    ~ProgressLine();

    // May be called at any rate: calls too soon after the last line are ignored.
    void show(const RunProgress& progress);

  private:
    std::FILE* out_;
    bool is_terminal_;
    const RunLimit limit_;
    double next_seconds_ = 0;
    bool shown_ = false;
};

}  // namespace shadowprof
