#include "base/xsave_layout.h"

#include <cpuid.h>

#include <array>
#include <cstring>

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

// Intel SDM vol. 1, 11.6.6.
std::uint32_t read_mxcsr_mask() {
    constexpr std::size_t mask_at = 28, area_bytes = 512;
    constexpr std::uint32_t mask_of_old_processors = 0xffbf;
    alignas(16) std::array<std::byte, area_bytes> area{};
    asm volatile("fxsave %0" : "=m"(area));
    std::uint32_t mask;
    std::memcpy(&mask, area.data() + mask_at, sizeof mask);
    return mask != 0 ? mask : mask_of_old_processors;
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

std::uint32_t host_mxcsr_mask() {
    static const std::uint32_t mask = read_mxcsr_mask();
    return mask;
}

}  // namespace shadowprof
