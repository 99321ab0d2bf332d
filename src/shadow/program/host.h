// What the profile says about the machine and the time.
#pragma once

#include <string>

#include "profile/kinds/cache/cache_accesses.h"
#include "profile/kinds/hazards/reorder_window.h"
#include "profile/profile.h"

namespace shadowprof {

// Sets cpu, kernel and cores.
void describe_host(RunInfo& run);
// From CPUID; all zero if that says nothing.
ProcessorModel host_processor();
// The data caches of the first processor, from the kernel's description and CPUID.
CacheModel host_caches();
// The present time, in UTC, as RFC 3339.
std::string rfc3339_now();

}  // namespace shadowprof
