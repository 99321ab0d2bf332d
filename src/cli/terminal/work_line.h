// The line that shows how far a command is that works on files.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "base/files/byte_sink.h"
#include "report/profile_file/profile_reader.h"

namespace shadowprof {

// One line on a terminal, shown only if the work takes longer than a second, rewritten now and
// then, and gone at the end.
class WorkLine {
  public:
    using Seconds = std::function<double()>;

    // `seconds` is a clock; empty: that of the system. If `out` is no terminal, nothing is shown.
    // `out` must outlive this object.
    WorkLine(std::FILE* out, bool is_terminal, Seconds seconds = {});
    WorkLine(const WorkLine&) = delete;
    WorkLine& operator=(const WorkLine&) = delete;
    ~WorkLine() { clear(); }

    // Shows what `text` returns, if it is time. May be called at any rate.
    void show(const std::function<std::string()>& text);
    // Removes the line, so that something else can be written.
    void clear();
    // Since this was made.
    double elapsed() const { return seconds_() - begin_; }

  private:
    std::FILE* out_;
    bool is_terminal_;
    Seconds seconds_;
    double begin_, next_;
    bool is_shown_ = false;
};

// "12.3 of 45.6 MB"; "12.3 MB" if `all` is 0.
std::string megabytes_text(std::uint64_t bytes, std::uint64_t all);
// For estimates: "12 s", "3 min".
std::string rough_duration(double seconds);
// ", about 3 s left", if the work goes on as it did in the `seconds` that it took so far. Empty if
// too little is done to tell.
std::string time_left_text(double seconds, double done, double all);

// Shows how far a profile is read, and removes the line when it is.
ReadListener reading_on(WorkLine& line);

// Passes bytes on, and shows how many.
class WatchedSink final : public ByteSink {
  public:
    WatchedSink(ByteSink& sink, WorkLine& line, std::string what)
        : sink_(sink), line_(line), what_(std::move(what)) {}

    Result<void> write(std::string_view bytes) override;

  private:
    ByteSink& sink_;
    WorkLine& line_;
    const std::string what_;
    std::uint64_t written_ = 0;
};

}  // namespace shadowprof
