// The top-N-value table of Calder, Feller and Eustace ("Value profiling", MICRO 1997), as
// shadow-profiling 4.3 uses it. Each value in the table is counted, a new one is inserted if there
// is room, and periodically the colder half is flushed to make room. Counts of values that were
// flushed in between are too low by an unknown amount. It exists to compare CountingSample with.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/kinds/values/hotlist.h"

namespace shadowprof {

template <typename Value>
class TnvTable {
  public:
    static constexpr std::size_t capacity = 50;
    static constexpr std::uint64_t flush_interval = 2000;  // in executions

    void add(const Value& value, Random&) {
        ++executions_;
        if (executions_ % flush_interval == 0) flush();
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            if (entries_[i].value != value) continue;
            ++entries_[i].count;
            // Hot values move to the front, where they are found soon.
            if (i != 0 && entries_[i].count > entries_[i - 1].count)
                std::swap(entries_[i], entries_[i - 1]);
            return;
        }
        if (entries_.size() < capacity) entries_.push_back({value, 1});
    }

    std::uint64_t executions() const { return executions_; }
    double absent_error() const { return 0; }

    ValueSummary<Value> summary() const {
        ValueSummary<Value> summary{{}, absent_error(), executions_};
        for (const Entry& entry : entries_)
            summary.top.push_back({entry.value, static_cast<double>(entry.count), 0});
        sort_hottest_first(summary.top);
        return summary;
    }

  private:
    struct Entry {
        Value value{};
        std::uint64_t count = 0;
    };

    void flush() {
        std::stable_sort(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.count > b.count; });
        if (entries_.size() > capacity / 2) entries_.resize(capacity / 2);
    }

    std::vector<Entry> entries_;
    std::uint64_t executions_ = 0;
};

static_assert(Hotlist<TnvTable<std::uint64_t>, std::uint64_t>);

}  // namespace shadowprof
