// What probes saw, as profiles and people spell it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/probe_profile.h"
#include "report/symbol_source.h"

namespace shadowprof {

// In decimal; a signed number as such.
std::string probe_number(std::uint64_t number, bool is_signed);
// Small numbers in decimal, large ones, which are likely addresses, in hexadecimal.
std::string short_probe_number(std::uint64_t number, bool is_signed);
// A number, or the name of a location; empty for none.
std::string datum_text(const ProbeDatum& datum, ProbeDatumKind kind,
                       const std::vector<Module>& modules, SymbolSource& symbols);

// "8-15" and, of negative numbers, "-15..-8": what a bucket of a histogram is of.
std::string bucket_text(int bucket);
// "8-15 45%, 16-31 20%, 3 more 5%": the `most` fullest buckets, in the order of their values.
std::string histogram_text(const ProbeHistogram& histogram, std::size_t most);

// "0x1f" or "-0x1f".
std::string sum_hex(ProbeSum sum);
// The reverse; nothing if it is not that, or does not fit.
std::optional<ProbeSum> parse_sum_hex(std::string_view text);
// 0 for an entry without values.
double mean_of(const ProbeEntry& entry);

}  // namespace shadowprof
