// Writes lists of a profile as JSON, for scripts.
#pragma once

#include "base/files/byte_sink.h"
#include "report/text/full_lists.h"

namespace shadowprof {

inline constexpr std::string_view report_schema = "shadowprof-report/1";

// Writes the lists that print_lists() prints as one JSON object; see man/shadowprof-report.1 for
// its members. Needs check(). Errors: those of the sink.
Result<void> write_lists_json(const Profile& profile, SymbolSource& symbols,
                              const ListRequest& request, ByteSink& sink);

}  // namespace shadowprof
