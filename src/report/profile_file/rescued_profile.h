// Saves a profile that cannot be written where the user wants to have it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// $TMPDIR, if it is set, /tmp and /var/tmp.
std::vector<std::string> temporary_folders();

// Writes `profile` to a new file in the first of the folders that takes it, see save_profile(). Its
// name cannot be foreseen, and only its owner may read it. It is compressed as a file `wanted`
// would be. Returns its name. Errors: that of the last folder.
Result<std::string> rescue_profile(Profile& profile, SymbolSource& symbols, std::string_view wanted,
                                   std::uint64_t max_bytes, std::span<const std::string> folders);

}  // namespace shadowprof
