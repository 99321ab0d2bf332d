// The code that the kernel maps into every process.
#pragma once

#include "base/files/fd.h"
#include "base/result.h"

namespace shadowprof {

// Returns a file in memory with the ELF image of the running kernel's vDSO. Errors: there is none.
Result<UniqueFd> vdso_image();

}  // namespace shadowprof
