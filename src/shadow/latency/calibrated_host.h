// The calibration of this machine, measured once.
#pragma once

#include "base/result.h"
#include "shadow/latency/calibration.h"

namespace shadowprof {

// From the cache file of the user, or else measured, and then kept there. One that was measured
// while the machine was busy is measured again when it is less so. Error: as calibrate().
Result<HostCalibration> calibrated_host(WaitHub& hub);

}  // namespace shadowprof
