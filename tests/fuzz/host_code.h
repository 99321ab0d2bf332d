// What must hold for host code that was made from guest code, whatever the guest code was.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "emu/translation/code_cache.h"

namespace shadowprof {

// Nothing to say if every instruction in `code` decodes, accesses only guest memory (through FS or
// GS), the context, the trace and the tables of indirect branches, leaves host RSP to the trace,
// and goes nowhere but to code of the cache. Else what is wrong, as a sentence.
std::string check_host_code(CodeCache& cache, std::span<const std::uint8_t> code);

}  // namespace shadowprof
