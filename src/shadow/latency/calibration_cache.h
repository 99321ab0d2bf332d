// The calibration of a machine, in a file of the user.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "shadow/latency/calibration.h"

namespace shadowprof {

// What a calibration depends on, as one line: the processor, the kernel and its boot, the number of
// processors, and the version of shadowprof.
std::string calibration_key();

// A calibration as text, and back. Nothing if the text is damaged or has another key.
std::string calibration_text(std::string_view key, const HostCalibration& calibration);
std::optional<HostCalibration> parse_calibration(std::string_view text, std::string_view key);

// $XDG_CACHE_HOME/shadowprof/latency, or the same in ~/.cache; empty if there is no such place.
std::string calibration_path();

// Returns nothing unless the file is a regular one of ours that nobody else may write to.
std::optional<HostCalibration> read_calibration(std::string_view key);
// Replaces the file as a whole.
Result<void> write_calibration(std::string_view key, const HostCalibration& calibration);

}  // namespace shadowprof
