// A memory map in the words of /proc/PID/maps.
#pragma once

#include <string>

#include "base/memory_map.h"

namespace shadowprof {

// What MemoryMap::parse() reads back as the same map.
std::string to_text(const MemoryMap& map);

}  // namespace shadowprof
