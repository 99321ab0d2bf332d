// Strings that many places share, stored once.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace shadowprof {

class StringPool {
  public:
    StringPool() = default;
    StringPool(StringPool&&) = default;  // views stay valid
    StringPool& operator=(StringPool&&) = default;
    StringPool(const StringPool&) = delete;
    StringPool& operator=(const StringPool&) = delete;

    // Returns a view that lives as long as the pool.
    std::string_view intern(std::string_view text) {
        auto it = strings_.find(text);
        if (it == strings_.end()) it = strings_.emplace(text).first;
        return *it;
    }

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const {
            return std::hash<std::string_view>{}(s);
        }
    };
    std::unordered_set<std::string, Hash, std::equal_to<>> strings_;
};

}  // namespace shadowprof
