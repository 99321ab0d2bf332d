// What is thin in a profile, and what would help.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "report/lists/hot_lists.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Returns sentences for who reads the profile, the most important first; none if nothing is thin.
// `functions` are the profile's hot_functions().
std::vector<std::string> advice(const Profile& profile, SymbolSource& symbols,
                                const HotFunctions& functions);

// Returns how many samples are proven right: the program came by the very state that their
// emulation ended with. Nothing if that was looked for in no sample.
std::optional<std::uint64_t> verified_samples(const SamplingStats& sampling);

}  // namespace shadowprof
