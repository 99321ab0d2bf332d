// What `shadowprof report --host` prints.
#pragma once

#include <string>

#include "shadow/latency/calibration.h"

namespace shadowprof {

std::string host_report(const HostCalibration& calibration);

}  // namespace shadowprof
