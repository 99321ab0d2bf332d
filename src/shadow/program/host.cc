#include "shadow/program/host.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include "profile/kinds/cache/cache_parameters.h"

namespace shadowprof {
namespace {

// The first bytes of a file that says little.
std::optional<std::string> read_little(const std::string& path) {
    std::ifstream file(path);
    std::array<char, 64> text{};
    file.read(text.data(), text.size());
    if (file.gcount() == 0) return std::nullopt;
    return std::string(text.data(), static_cast<std::size_t>(file.gcount()));
}

// The kernel numbers caches as the leaf does: Intel SDM vol. 2, CPUID, leaf 4; AMD APM vol. 3,
// CPUID Fn8000_001D.
bool is_inclusive(unsigned index) {
    const unsigned leaf = host_processor().vendor == "GenuineIntel" ? 4 : 0x8000001d;
    unsigned type = 0, unused = 0, properties = 0;
    if (!__get_cpuid_count(leaf, index, &type, &unused, &unused, &properties)) return false;
    return (type & 31) != 0 && (properties & 2) != 0;
}

}  // namespace

void describe_host(RunInfo& run) {
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);) {
        const auto colon = line.find(": ");
        if (!line.starts_with("model name") || colon == std::string::npos) continue;
        run.cpu = line.substr(colon + 2);
        break;
    }
    utsname names = {};
    if (uname(&names) == 0) run.kernel = fmt::format("{} {}", names.sysname, names.release);
    run.cores = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// Intel SDM vol. 2, CPUID, leaf 1: extended family and model count for some families only.
ProcessorModel host_processor() {
    static const auto vendor = [] {
        unsigned most = 0;
        std::array<char, 12> name{};
        std::array<unsigned, 3> parts{};
        if (__get_cpuid(0, &most, &parts[0], &parts[2], &parts[1]))
            std::memcpy(name.data(), parts.data(), name.size());
        return name;
    }();
    unsigned signature = 0, unused = 0;
    if (!__get_cpuid(1, &signature, &unused, &unused, &unused)) return {};
    ProcessorModel processor{.vendor = {vendor.data(), vendor.size()},
                             .family = signature >> 8 & 15,
                             .model = signature >> 4 & 15};
    const bool extended = processor.family == 6 || processor.family == 15;
    if (extended) processor.model |= signature >> 12 & 0xf0;
    if (processor.family == 15) processor.family += signature >> 20 & 0xff;
    return processor;
}

CacheModel host_caches() {
    return cache_model(
        [](unsigned index, std::string_view file) {
            return read_little(
                fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/{}", index, file));
        },
        is_inclusive);
}

std::string rfc3339_now() {
    const time_t now = time(nullptr);
    tm parts = {};
    gmtime_r(&now, &parts);
    char text[32];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

}  // namespace shadowprof
