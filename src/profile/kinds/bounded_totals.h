// Sums by key, in bounded space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace shadowprof {

// Entry has operator+= and a `count`.
template <typename Key, typename Entry>
class BoundedTotals {
  public:
    // What comes with further keys only adds to the number left out.
    static constexpr std::size_t max_entries = 65536;

    // Returns what it was added to, which stays where it is; null if it was left out.
    Entry* add(const Key& key, const Entry& more) {
        auto known = entries_.find(key);
        if (known == entries_.end()) {
            if (entries_.size() >= max_entries) {
                left_out_ += more.count;
                return nullptr;
            }
            known = entries_.emplace(key, Entry{}).first;
        }
        known->second += more;
        return &known->second;
    }
    void add(const BoundedTotals& more) {
        for (const auto& [key, entry] : more.entries_) add(key, entry);
        left_out_ += more.left_out_;
    }
    void add_left_out(std::uint64_t count) { left_out_ += count; }

    const std::map<Key, Entry>& entries() const { return entries_; }
    std::uint64_t left_out() const { return left_out_; }

  private:
    std::map<Key, Entry> entries_;
    std::uint64_t left_out_ = 0;
};

}  // namespace shadowprof
