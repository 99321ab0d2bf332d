#include "shadow/input/input_need.h"

#include <algorithm>

namespace shadowprof {
namespace {

constexpr double needs_smoothing = 1.0 / 8;
constexpr unsigned fewest_needs = 2;
// Between the two, the answer does not change.
constexpr double needed_by_many = 0.5, needed_by_few = 0.25;

}  // namespace

bool InputNeed::observe(bool is_needed) {
    ++samples_;
    const double part = std::max(needs_smoothing, 1.0 / samples_);
    needed_ += part * ((is_needed ? 1 : 0) - needed_);
    const bool was_there = is_there_;
    if (samples_ >= fewest_needs)
        is_there_ = needed_ >= (was_there ? needed_by_few : needed_by_many);
    return is_there_ != was_there;
}

}  // namespace shadowprof
