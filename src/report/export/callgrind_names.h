// Callgrind's name compression: "(3) name" at a name's first use, "(3)" after that.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>

#include "base/text/text_format.h"

namespace shadowprof {

class CallgrindNames {
  public:
    // Without `compresses`, names are written whole each time.
    explicit CallgrindNames(bool compresses) : compresses_(compresses) {}

    // Each kind of name is numbered separately. Empty names become "???", as in callgrind.
    std::string object(std::string_view name) { return written(objects_, name); }
    std::string file(std::string_view name) { return written(files_, name); }
    std::string function(std::string_view name) { return written(functions_, name); }

  private:
    using Numbers = std::map<std::string, std::size_t, std::less<>>;

    std::string written(Numbers& numbers, std::string_view name) const {
        std::string text = name.empty() ? "???" : printable(name);
        if (!compresses_) return text;
        const auto [it, added] = numbers.try_emplace(text, numbers.size() + 1);
        return added ? fmt::format("({}) {}", it->second, text) : fmt::format("({})", it->second);
    }

    const bool compresses_;
    Numbers objects_, files_, functions_;
};

}  // namespace shadowprof
