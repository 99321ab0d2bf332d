#include "base/xsave_layout.h"

#include <cpuid.h>

#include <array>

#include "base/cpu_state.h"

namespace shadowprof {
namespace {

constexpr unsigned first_extended = 2, component_count = 8;
constexpr std::uint64_t x87_and_sse = 3;

struct Layout {
    std::uint64_t components = x87_and_sse;
    std::array<XsaveRange, component_count> ranges{};
};

// CPUID's leaf 0xd describes the components that the system has enabled in XCR0.
Layout read_layout() {
    Layout layout;
    unsigned enabled = 0, size = 0, offset = 0, unused = 0;
    if (!__get_cpuid_count(0xd, 0, &enabled, &unused, &unused, &unused)) return layout;
    for (unsigned i = first_extended; i < component_count; ++i) {
        if (!((enabled & CpuState::xsave_components) >> i & 1)) continue;
        __get_cpuid_count(0xd, i, &size, &offset, &unused, &unused);
        if (size == 0) continue;
        layout.ranges[i] = {offset, size};
        layout.components |= std::uint64_t{1} << i;
    }
    return layout;
}

const Layout& host_layout() {
    static const Layout layout = read_layout();
    return layout;
}

}  // namespace

XsaveRange host_xsave_range(unsigned component) {
    return component < component_count ? host_layout().ranges[component] : XsaveRange{};
}

std::uint64_t host_xsave_components() {
    return host_layout().components;
}

}  // namespace shadowprof
