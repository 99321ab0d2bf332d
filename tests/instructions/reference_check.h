// Compares the references in one case's trace with what the hardware did.
#pragma once

#include <span>
#include <string>

#include "case.h"
#include "emu/translation/block_tables.h"

namespace shadowprof {

// `words` is the case's trace at TraceLevel::references, oldest first, in whole records. Checks
// that the accesses of a single instruction are those that Zydis reports, that every change of
// memory has a store, and that what an AddressTracker knows about registers is true. Returns text;
// empty if all is correct.
std::string check_references(const Case& test, const Outcome& native,
                             std::span<const std::uint64_t> words, const BlockTables& tables);

}  // namespace shadowprof
