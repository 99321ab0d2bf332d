// What profiles know of a function's code, to tell whether two builds have the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace shadowprof {

// `text`, an instruction as SymbolSource gives it, without what depends on where the code lies:
// targets of branches, distances from rip, absolute addresses of memory.
std::string without_addresses(std::string_view text);

class CodeShape {
  public:
    // `text` may be empty: not known.
    void add(std::uint64_t offset, std::string_view text, bool has_line) {
        instructions_.try_emplace(offset, without_addresses(text));
        has_lines_ = has_lines_ || has_line;
    }
    bool has_lines() const { return has_lines_; }

    // At no offset known in both is there another instruction, and at least three quarters of the
    // offsets of the one that has fewer are known in the other.
    friend bool is_same_code(const CodeShape& a, const CodeShape& b);

  private:
    std::map<std::uint64_t, std::string> instructions_;
    bool has_lines_ = false;
};

bool is_same_code(const CodeShape& a, const CodeShape& b);

}  // namespace shadowprof
