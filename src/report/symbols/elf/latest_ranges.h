// Ranges of addresses of which the later one counts where two overlap, as a just-in-time compiler
// uses memory again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace shadowprof {

template <typename Value>
class LatestRanges {
  public:
    struct Range {
        std::uint64_t end = 0;  // one past the last byte
        Value value;
    };

    // Cuts or removes the ranges that it overlaps. Needs: start < end.
    void add(std::uint64_t start, std::uint64_t end, const Value& value) {
        auto it = ranges_.lower_bound(start);
        if (it != ranges_.begin()) {
            Range& before = std::prev(it)->second;
            if (before.end > end)  // the new one lies inside, so the part behind it stays
                ranges_.emplace(end, Range{before.end, before.value});
            before.end = std::min(before.end, start);
        }
        while (it != ranges_.end() && it->first < end) {
            const Range old = it->second;
            it = ranges_.erase(it);
            if (old.end > end) ranges_.emplace(end, old);
        }
        ranges_.insert_or_assign(start, Range{end, value});
    }

    // By start.
    const std::map<std::uint64_t, Range>& all() const { return ranges_; }

    // The value of the range with `address`; null if there is none.
    const Value* find(std::uint64_t address) const {
        auto it = ranges_.upper_bound(address);
        if (it == ranges_.begin()) return nullptr;
        --it;
        return address < it->second.end ? &it->second.value : nullptr;
    }

  private:
    std::map<std::uint64_t, Range> ranges_;
};

}  // namespace shadowprof
