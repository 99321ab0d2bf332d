// When each kind of profile is on: count-driven bursts, as in bursty tracing (Mousa and Krintz,
// "HPS: Hybrid Profiling Support", 2005, section 4).
//
// Events are counted. A burst begins with an event, with which every kind is on, and stays on for
// as many events as its length says, that one included. When the longest is over, `every` events
// pass, on average, before the next burst. So a kind is on for length / (longest + every) of all
// events.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "emu/flow_events.h"
#include "profile/random.h"

namespace shadowprof {

enum class BurstKind : std::uint8_t { edge, path, call };
inline constexpr std::size_t burst_kinds = 3;

// A number of events for each kind.
struct KindEvents {
    std::array<std::uint64_t, burst_kinds> numbers = {};

    constexpr std::uint64_t& operator[](BurstKind kind) {
        return numbers[static_cast<std::size_t>(kind)];
    }
    constexpr std::uint64_t operator[](BurstKind kind) const {
        return numbers[static_cast<std::size_t>(kind)];
    }
    constexpr std::uint64_t most() const {
        return *std::max_element(numbers.begin(), numbers.end());
    }
    friend bool operator==(const KindEvents&, const KindEvents&) = default;
};

struct BurstPlan {
    EventKinds events;
    std::uint64_t every = 0;  // events from the end of a burst to the next; 0: none pass
    KindEvents lengths;       // 0: the kind is never on

    friend bool operator==(const BurstPlan&, const BurstPlan&) = default;
};

// What was counted.
struct BurstCounts {
    std::uint64_t events = 0;
    std::uint64_t bursts = 0;  // that began
    KindEvents events_on;      // with the kind on

    void add(const BurstCounts& more) {
        events += more.events;
        bursts += more.bursts;
        for (std::size_t i = 0; i < burst_kinds; ++i)
            events_on.numbers[i] += more.events_on.numbers[i];
    }
};

// The counters of one thread in one sample.
class EventBursts {
  public:
    // Begins at a random place between two bursts, or in one.
    EventBursts(const BurstPlan& plan, std::uint64_t seed);

    bool is_on(BurstKind kind) const { return left_[kind] != 0; }
    bool any_on() const { return any_on_; }
    // So many events change nothing but counts: pass() takes up to so many at once.
    std::uint64_t quiet_events() const { return any_on_ ? 0 : wait_ - 1; }
    void pass(std::uint64_t events) {
        wait_ -= events;
        counts_.events += events;
    }
    void on_event();

    const BurstCounts& counts() const { return counts_; }

  private:
    void begin();
    void end();

    BurstPlan plan_;
    Random random_;
    std::uint64_t wait_ = ~std::uint64_t{0};  // the event with which a burst begins, from 1
    KindEvents left_;                         // events that the kind is still on for
    bool any_on_ = false;
    BurstCounts counts_;
};

}  // namespace shadowprof
