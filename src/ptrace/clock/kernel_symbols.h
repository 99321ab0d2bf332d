// Why a thread is in the kernel, by the kernel's functions that it is in.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace shadowprof {

struct KernelEntry {
    enum class Cause : std::uint8_t { unknown, system_call, page_fault, interrupt };

    Cause cause = Cause::unknown;
    std::uint64_t system_call = 0;  // its number

    friend bool operator==(const KernelEntry&, const KernelEntry&) = default;
};

class KernelSymbols {
  public:
    // Whether the kernel tells us its addresses. Takes some 20 us.
    static bool are_readable();
    // Reads /proc/kallsyms, which takes some 0.1 s. Errors: permission, if the kernel tells no
    // addresses; system.
    static Result<KernelSymbols> read();
    // `text`: lines of /proc/kallsyms. Lines that say nothing are left out.
    explicit KernelSymbols(std::string_view text);

    // `calls`: addresses in the kernel's functions, the outermost first.
    KernelEntry entry(std::span<const std::uint64_t> calls) const;
    // Whether any function is known.
    bool empty() const { return symbols_.empty(); }

  private:
    // What is known of the code from here to the next symbol.
    struct Symbol {
        std::uint64_t start = 0;
        bool is_way = false;  // every system call goes through it
        KernelEntry entry = {};
    };
    static Symbol classified(std::uint64_t start, std::string_view name);

    std::vector<Symbol> symbols_;  // sorted
};

}  // namespace shadowprof
