// Writes the diff of two profiles as one self-contained HTML page.
#pragma once

#include "base/files/byte_sink.h"
#include "report/diff/text/diff_report.h"

namespace shadowprof {

// How many entries of a table the page has, if nobody says otherwise.
inline constexpr std::size_t default_page_entries = 500;

// Nothing in the profiles becomes markup or script. Errors: those of the sink.
Result<void> write_diff_page(const DiffReport& report, ByteSink& sink);

}  // namespace shadowprof
