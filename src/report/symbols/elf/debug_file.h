// Finds a module's separate debug file.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>

#include "base/result.h"

namespace shadowprof {

// Where debug information is looked for that is not in the file itself. Servers are asked by
// build-id, by elfutils' debuginfod library, whose environment (DEBUGINFOD_URLS and others) holds.
enum class DebugSearch : std::uint8_t { this_host, servers_too };

// Whether it can be looked for there. Errors: no server is named, or the library is not installed.
Result<void> check_debug_search(DebugSearch search);

// Sets what find_debug_file() does for `module`.
void set_debug_search(Dwfl_Module* module, DebugSearch search);

// The find_debuginfo callback of libdwfl (see libdwfl.h for the contract). It looks by build-id
// under /usr/lib/debug/.build-id, then by .gnu_debuglink beside the file, in .debug/ beside it and
// under /usr/lib/debug, where the check sum must match. Unlike dwfl_standard_find_debuginfo it does
// not wait for a pipe with such a name, and asks servers only if it is told to: a profiler must not
// use the network unasked.
int find_debug_file(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                    const char* file_name, const char* debuglink_file, GElf_Word debuglink_crc,
                    char** debuginfo_file_name);

}  // namespace shadowprof
