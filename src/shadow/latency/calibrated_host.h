// The calibration of this machine, measured once.
#pragma once

#include "base/result.h"
#include "shadow/latency/calibration.h"

namespace shadowprof {

// Returns the calibration in the user's cache file, or measures it and keeps it there. One that was
// measured on a busy machine is measured again when the machine is less busy. Error: as
// calibrate().
Result<HostCalibration> calibrated_host(WaitHub& hub);

}  // namespace shadowprof
