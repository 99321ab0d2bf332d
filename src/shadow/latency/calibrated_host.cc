#include "shadow/latency/calibrated_host.h"

#include "shadow/latency/calibration_cache.h"
#include "shadow/latency/processor_use.h"

namespace shadowprof {
namespace {

// Whether other programs used more of the processors then than they are likely to do now.
bool is_worth_repeating(const HostCalibration& known) {
    constexpr double quiet = 0.25, much_less = 0.5;
    return known.others_share > quiet && share_wanted_now() < much_less * known.others_share;
}

}  // namespace

Result<HostCalibration> calibrated_host(WaitHub& hub) {
    const auto key = calibration_key();
    auto known = read_calibration(key);
    if (known && !is_worth_repeating(*known)) return *std::move(known);
    auto measured = calibrate(hub);
    if (known && !(measured && measured->others_share < known->others_share))
        return *std::move(known);
    // If it cannot be kept, it will be measured again.
    if (measured) (void)write_calibration(key, *measured);
    return measured;
}

}  // namespace shadowprof
