// Checks what must hold for host code that was made from any guest code.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "emu/translation/code_cache.h"

namespace shadowprof {

// Returns an empty text if every instruction in `code` decodes, accesses only guest memory (through
// FS or GS), the context, the trace and the tables of indirect branches, uses host RSP only for the
// trace, and branches only to code of the cache. Otherwise returns a sentence that says what is
// wrong.
std::string check_host_code(CodeCache& cache, std::span<const std::uint8_t> code);

}  // namespace shadowprof
