// How far apart two accesses to memory may be to be under way at the same time.
#pragma once

#include <cstdint>
#include <string_view>

namespace shadowprof {

struct ReorderWindow {
    // Entries of the reorder buffer. They hold micro-operations; here each instruction is one.
    std::uint32_t instructions = 224;
    // Entries of the store buffer. A store that is further back has left it.
    std::uint32_t stores = 56;

    friend bool operator==(const ReorderWindow&, const ReorderWindow&) = default;
};

// As CPUID reports: the vendor's name, and family and model with their extensions added (Intel SDM
// vol. 2, CPUID, leaf 1).
struct ProcessorModel {
    std::string_view vendor;
    std::uint32_t family = 0;
    std::uint32_t model = 0;
};

// Returns the window of a processor; that of Skylake for one that is not known.
ReorderWindow reorder_window(const ProcessorModel& processor);

}  // namespace shadowprof
