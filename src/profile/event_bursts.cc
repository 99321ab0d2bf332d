#include "profile/event_bursts.h"

namespace shadowprof {

EventBursts::EventBursts(const BurstPlan& plan, std::uint64_t seed) : plan_(plan), random_(seed) {
    const auto longest = plan_.lengths.most();
    if (longest == 0) return;
    const auto period = longest + plan_.every;
    const auto passed = random_.next() % period;
    for (std::size_t i = 0; i < burst_kinds; ++i) {
        const auto length = plan_.lengths.numbers[i];
        left_.numbers[i] = length - std::min(length, passed);
    }
    any_on_ = passed < longest;
    if (!any_on_) wait_ = period - passed;
}

void EventBursts::on_event() {
    ++counts_.events;
    if (!any_on_) {
        if (--wait_ == 0) begin();
    } else {
        for (auto& left : left_.numbers) left -= left != 0;
        any_on_ = left_.most() != 0;
        if (!any_on_) end();
    }
    for (std::size_t i = 0; i < burst_kinds; ++i)
        counts_.events_on.numbers[i] += left_.numbers[i] != 0;
}

void EventBursts::begin() {
    left_ = plan_.lengths;
    any_on_ = true;
    ++counts_.bursts;
}

// Half to one and a half times as many events pass, so that no loop is in step with bursts.
void EventBursts::end() {
    const auto spread = plan_.every / 2;
    wait_ = plan_.every - spread + random_.next() % (2 * spread + 1);
    if (wait_ == 0) begin();
}

}  // namespace shadowprof
