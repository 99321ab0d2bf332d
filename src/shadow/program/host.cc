#include "shadow/program/host.h"

#include <cpuid.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

namespace shadowprof {

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

std::string rfc3339_now() {
    const time_t now = time(nullptr);
    tm parts = {};
    gmtime_r(&now, &parts);
    char text[32];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

}  // namespace shadowprof
