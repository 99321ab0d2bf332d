// The calibration of this machine, measured once.
#pragma once

#include "base/result.h"
#include "shadow/latency/calibration.h"

namespace shadowprof {

// From the cache file of the user, or else measured, and then kept there.
Result<HostCalibration> calibrated_host(WaitHub& hub);

}  // namespace shadowprof
