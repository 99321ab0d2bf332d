// Finds a module's separate debug file.
#pragma once

#include <elfutils/libdwfl.h>

namespace shadowprof {

// The find_debuginfo callback of libdwfl (see libdwfl.h for the contract). It looks by build-id
// under /usr/lib/debug/.build-id, then by .gnu_debuglink beside the file, in .debug/ beside it and
// under /usr/lib/debug, where the check sum must match. Unlike dwfl_standard_find_debuginfo it
// never asks a debuginfod server, as a profiler must not use the network unasked.
int find_debug_file(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                    const char* file_name, const char* debuglink_file, GElf_Word debuglink_crc,
                    char** debuginfo_file_name);

}  // namespace shadowprof
