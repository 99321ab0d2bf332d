// What profiles know of a function's code, for telling whether two builds have the same code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace shadowprof {

// Returns `text`, an instruction as SymbolSource gives it, without the parts that depend on where
// the code lies: branch targets, distances from rip and absolute addresses.
std::string without_addresses(std::string_view text);

class CodeShape {
  public:
    // `text` may be empty if it is unknown.
    void add(std::uint64_t offset, std::string_view text, bool has_line) {
        instructions_.try_emplace(offset, without_addresses(text));
        has_lines_ = has_lines_ || has_line;
    }
    bool has_lines() const { return has_lines_; }

    // Two shapes are the same code if they have the same instruction at each offset known in both,
    // and at least three quarters of the offsets of the smaller one are known in the other.
    friend bool is_same_code(const CodeShape& a, const CodeShape& b);

  private:
    std::map<std::uint64_t, std::string> instructions_;
    bool has_lines_ = false;
};

bool is_same_code(const CodeShape& a, const CodeShape& b);

}  // namespace shadowprof
