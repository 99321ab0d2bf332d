// When each kind of profile is on: count-driven bursts, as in bursty tracing (Mousa and Krintz,
// "HPS: Hybrid Profiling Support", 2005, section 4).
//
// Events are counted. A burst begins with an event, with which every kind is on, and stays on for
// as many events as its length says, that one included. When the longest is over, `every` events
// pass, on average, before the next burst. So a kind is on for length / (longest + every) of all
// events. A kind may have a frequency of its own: then it has bursts of its own, as if it were
// alone.
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
    std::uint64_t every = 0;  // events from the end of a burst to the next; 0: none pass
    KindEvents lengths;       // 0: the kind is never on
    KindEvents own_every;  // `every` of the kind's own bursts; 0: it is on in those of the others

    friend bool operator==(const BurstPlan&, const BurstPlan&) = default;
};

// Bursts that the emulator traced, of values or of references.
struct TracedBursts {
    std::uint64_t bursts = 0;  // that began
    std::uint64_t events = 0;  // in them

    void add(const TracedBursts& more) {
        bursts += more.bursts;
        events += more.events;
    }
    friend bool operator==(const TracedBursts&, const TracedBursts&) = default;
};

// What was counted.
struct BurstCounts {
    std::uint64_t events = 0;
    std::uint64_t bursts = 0;  // that began; one of several kinds counts once
    KindEvents begun;          // the same, of each kind
    KindEvents events_on;      // with the kind on
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

// The bursts that some kinds have together.
class BurstSeries {
  public:
    // Begins at a random place between two bursts, or in one.
    BurstSeries(const KindEvents& lengths, std::uint64_t every, std::uint64_t seed);

    bool is_on(BurstKind kind) const { return left_[kind] != 0; }
    bool any_on() const { return any_on_; }
    std::uint64_t quiet_events() const { return any_on_ ? 0 : wait_ - 1; }
    void pass(std::uint64_t events) { wait_ -= events; }
    void on_event();
    std::uint64_t begun() const { return begun_; }
    // With the kind on.
    std::uint64_t begun(BurstKind kind) const { return lengths_[kind] == 0 ? 0 : begun_; }

  private:
    void begin();
    void end();

    KindEvents lengths_;
    std::uint64_t every_;
    Random random_;
    std::uint64_t wait_ = ~std::uint64_t{0};  // the event with which a burst begins, from 1
    KindEvents left_;                         // events that the kind is still on for
    bool any_on_ = false;
    std::uint64_t begun_ = 0;
};

// The counters of one thread in one sample.
class EventBursts {
  public:
    EventBursts(const BurstPlan& plan, std::uint64_t seed);

    bool is_on(BurstKind kind) const { return of(kind).is_on(kind); }
    bool any_on() const {
        return std::ranges::any_of(series_, [](const auto& each) { return each.any_on(); });
    }
    // So many events change nothing but counts: pass() takes up to so many at once.
    std::uint64_t quiet_events() const;
    void pass(std::uint64_t events);
    void on_event();

    BurstCounts counts() const;

  private:
    const BurstSeries& of(BurstKind kind) const {
        return series_[series_of_[static_cast<std::size_t>(kind)]];
    }

    std::vector<BurstSeries> series_;  // the first one is that of kinds without their own
    std::array<std::uint8_t, burst_kinds> series_of_ = {};
    std::uint64_t events_ = 0;
    KindEvents events_on_;
};

}  // namespace shadowprof
