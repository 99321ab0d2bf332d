#include "shadow/latency/calibrated_host.h"

#include "shadow/latency/calibration_cache.h"

namespace shadowprof {

Result<HostCalibration> calibrated_host(WaitHub& hub) {
    const auto key = calibration_key();
    if (auto known = read_calibration(key)) return *std::move(known);
    TRY_ASSIGN(auto measured, calibrate(hub));
    // Where it cannot be kept, it will be measured again; and where it told nothing apart, as on a
    // machine that is busy.
    if (measured.host.levels.size() > 1) (void)write_calibration(key, measured);
    return measured;
}

}  // namespace shadowprof
