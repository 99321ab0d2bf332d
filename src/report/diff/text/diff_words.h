// Phrases that the text formats of a diff share.
#pragma once

#include <string>
#include <string_view>

#include "report/diff/text/diff_report.h"

namespace shadowprof {

// "123456", "43.12%", "154".
std::string quantity_text(DiffUnit unit, double value);
// "+1234", "+1.88 points".
std::string difference_text(DiffUnit unit, double difference);
// "+2.01%"; "new" or "gone" if one profile lacks the entry; empty if there was nothing before.
std::string relative_text(const DiffEntry& entry);
std::string relative_text(double base, double next);

std::string_view title(DiffKind kind);
// The entry's name, printable. Those of functions are without their arguments.
std::string shown_name(DiffKind kind, const DiffEntry& entry);

// "exact, 9445853 instructions"; may hold any bytes.
std::string side_words(const DiffReportSide& side);
// How modules and functions were compared, one sentence each; may hold any bytes.
std::vector<std::string> matching_words(const Diff& diff);
// "12 changed, 3 within the noise, 40 the same; 2 of BASE and 0 of NEW could not be matched".
std::string counts_words(const DiffTable& table);
// The result of a limit, with the worst functions; may hold any bytes.
std::string limit_words(const LimitResult& result);
// One entry: "checksum: +20.00% (9001500 -> 10801500 instructions)"; may hold any bytes.
std::string test_words(const LimitTest& test);

}  // namespace shadowprof
