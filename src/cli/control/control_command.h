// The lines that a control channel takes, from whoever may write to it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "shadow/request/sampling_control.h"

namespace shadowprof {

// Cuts what comes in pieces into lines of a bounded length.
class CommandLines {
  public:
    static constexpr std::size_t longest = 4096;  // with any name of a file

    // Calls `on_line` with each line that ends in `bytes`, without its end; with nothing for one
    // that is too long.
    using OnLine = std::function<void(std::optional<std::string_view>)>;
    void add(std::string_view bytes, const OnLine& on_line);
    // What has no end yet is forgotten.
    void clear();

  private:
    std::string line_;
    bool too_long_ = false;
};

// What holds when a line's command is obeyed.
struct ControlledRun {
    ProfileKinds collected;              // since the run began
    std::optional<BurstOptions> bursts;  // of samples by now, if they have any
    bool has_phases = false;             // --dump-every
};

// What a line asks for: nothing if it wants but an answer (`ping`). Errors: usage, saying what is
// accepted, and the word that was meant. A dump has no receiver yet.
Result<std::optional<SamplingCommand>> parse_command(std::string_view line,
                                                     const ControlledRun& run);

// Nothing but spaces.
bool is_blank(std::string_view line);

}  // namespace shadowprof
