// The sizes of the host's data caches, for the model.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "profile/kinds/cache/cache_accesses.h"

namespace shadowprof {

// One cache as the kernel describes it: the text of a file of
// /sys/devices/system/cpu/cpu0/cache/indexN (Documentation/ABI/testing/sysfs-devices-system-cpu),
// or nothing.
using ReadCacheFile =
    std::function<std::optional<std::string>(unsigned index, std::string_view file)>;
// Whether the cache `index` includes the levels before it (CPUID, leaf 4 or 8000001DH, EDX bit 1).
using IsInclusive = std::function<bool(unsigned index)>;

// Whether a level can be modelled: lines are a power of two, the size is a multiple of lines and
// ways, and all are within limits.
bool is_possible(const CacheLevel& level);
// What a model takes for a host that does not describe its caches: 32 KiB, 8 ways; 1 MiB, 8 ways;
// a victim cache of 32 MiB, 16 ways; lines of 64 bytes. Those of Zen 4.
CacheModel default_cache_model();
// The first three levels of data caches. The text is hostile: a model with impossible, missing or
// very large sizes is the default one. A third level that is not inclusive is a victim cache, as
// those of AMD since Zen and of Intel since Skylake-SP.
CacheModel cache_model(const ReadCacheFile& read, const IsInclusive& is_inclusive);

}  // namespace shadowprof
