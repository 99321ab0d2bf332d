// The references of one case's trace against what the hardware did.
#pragma once

#include <span>
#include <string>

#include "case.h"
#include "emu/translation/block_tables.h"

namespace shadowprof {

// `words`: what the case left at TraceLevel::references, the oldest first, in whole records. The
// accesses of a case of one instruction must be those that Zydis says; whatever a case changed in
// memory must have been stored to; and what an AddressTracker knows of registers must be so. As
// text, empty if nothing is wrong.
std::string check_references(const Case& test, const Outcome& native,
                             std::span<const std::uint64_t> words, const BlockTables& tables);

}  // namespace shadowprof
