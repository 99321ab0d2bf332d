// The spelling of probe results for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/kinds/probes/probe_profile.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Small numbers in decimal; large ones, which are likely addresses, in hexadecimal.
std::string short_probe_number(std::uint64_t number, bool is_signed);
// A number or the name of a location; empty for none.
std::string datum_text(const ProbeDatum& datum, ProbeDatumKind kind,
                       const std::vector<Module>& modules, SymbolSource& symbols);

// The range of a histogram's bucket: "8-15", or "-15..-8" for negative numbers.
std::string bucket_text(int bucket);
// "8-15 45%, 16-31 20%, 3 more 5%": the `most` fullest buckets, in the order of their values.
std::string histogram_text(const ProbeHistogram& histogram, std::size_t most);

}  // namespace shadowprof
