// Decides when each kind of profile is on: count-driven bursts, as in bursty tracing (Mousa and
// Krintz, "HPS: Hybrid Profiling Support", 2005, section 4).
//
// Every burst begins with an event. From that event on, which is included, each kind is on for as
// many events as its length says. When the longest kind is over, `every` events pass, on average,
// before the next burst. So a kind is on for length / (longest + every) of all events. A kind with
// a frequency of its own has bursts of its own, as if it were alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "emu/trace/flow_events.h"
#include "profile/statistics/random.h"

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
    std::uint64_t every = 0;  // events from the end of a burst to the next one; 0: none
    KindEvents lengths;       // in events; 0: the kind is never on
    KindEvents own_every;     // `every` of the kind's own bursts; 0: the kind shares those of the
                              // others

    friend bool operator==(const BurstPlan&, const BurstPlan&) = default;
};

// Bursts of values or of references in the emulator's trace.
struct TracedBursts {
    std::uint64_t bursts = 0;  // number of bursts that began
    std::uint64_t events = 0;  // events in them

    void add(const TracedBursts& more) {
        bursts += more.bursts;
        events += more.events;
    }
    friend bool operator==(const TracedBursts&, const TracedBursts&) = default;
};

struct BurstCounts {
    std::uint64_t events = 0;
    std::uint64_t bursts = 0;  // number of bursts that began; one with several kinds counts once
    KindEvents begun;          // the same by kind
    KindEvents events_on;      // events with the kind on
    TracedBursts values;
    TracedBursts references;

    void add(const BurstCounts& more) {
        events += more.events;
        bursts += more.bursts;
        for (std::size_t i = 0; i < burst_kinds; ++i) {
            begun.numbers[i] += more.begun.numbers[i];
            events_on.numbers[i] += more.events_on.numbers[i];
        }
        values.add(more.values);
        references.add(more.references);
    }
};

// The bursts that some kinds share.
class BurstSeries {
  public:
    // Begins at a random place in a burst or between two.
    BurstSeries(const KindEvents& lengths, std::uint64_t every, std::uint64_t seed);

    bool is_on(BurstKind kind) const { return left_[kind] != 0; }
    bool any_on() const { return any_on_; }
    std::uint64_t quiet_events() const { return any_on_ ? 0 : wait_ - 1; }
    void pass(std::uint64_t events) { wait_ -= events; }
    void on_event();
    std::uint64_t begun() const { return begun_; }
    // The number of bursts with the kind on.
    std::uint64_t begun(BurstKind kind) const { return lengths_[kind] == 0 ? 0 : begun_; }

  private:
    void begin();
    void end();

    KindEvents lengths_;
    std::uint64_t every_;
    Random random_;
    std::uint64_t wait_ = ~std::uint64_t{0};  // number of the event with which a burst begins, from
                                              // 1
    KindEvents left_;                         // events for which the kind is still on
    bool any_on_ = false;
    std::uint64_t begun_ = 0;
};

// The bursts of one thread in one sample.
class EventBursts {
  public:
    EventBursts(const BurstPlan& plan, std::uint64_t seed);

    bool is_on(BurstKind kind) const { return of(kind).is_on(kind); }
    bool any_on() const {
        return std::ranges::any_of(series_, [](const auto& each) { return each.any_on(); });
    }
    // Events during which no kind turns on or off: pass() takes up to so many at once.
    std::uint64_t quiet_events() const;
    void pass(std::uint64_t events);
    void on_event();

    BurstCounts counts() const;

  private:
    const BurstSeries& of(BurstKind kind) const {
        return series_[series_of_[static_cast<std::size_t>(kind)]];
    }

    std::vector<BurstSeries> series_;  // the first one is shared by the kinds without their own
    std::array<std::uint8_t, burst_kinds> series_of_ = {};
    std::uint64_t events_ = 0;
    KindEvents events_on_;
};

}  // namespace shadowprof
