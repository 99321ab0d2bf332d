// A profile's facts about an instruction, in a few words.
#pragma once

#include <optional>
#include <string>

#include "report/lists/hot_lists.h"

namespace shadowprof {

// part / whole; 0 if whole is 0.
double ratio(double part, double whole);
double ratio(std::uint64_t part, std::uint64_t whole);

// "12.3 k"
std::string count_text(std::uint64_t count);
// "1 run", "12.3 k runs".
std::string counted(std::uint64_t count, std::string_view singular);

// "3 threads by instructions and time: 12 main 60%/55%, 13 pool 40%/45%": the first `most`.
std::string thread_shares_text(const std::vector<ThreadProfile>& threads, std::size_t most);

// Whether half the width of a share's 95% confidence interval is more than half of the share: what
// was seen is too little to say how much it is.
bool is_few(double share, const std::optional<double>& error);
// " +-0.4" behind a percentage: half the width of a 95% confidence interval, rounded upwards.
// " few" if is_few(). Without an error, " ?" if counts are `sampled`,
// otherwise nothing.
std::string margin_text(double share, const std::optional<double>& error, bool sampled);

// "taken 85.7%", "-> f+0x10", "16 targets, 20.6% -> f".
std::string outcome_text(const HotBranch& branch, const std::vector<Module>& modules,
                         SymbolSource& symbols);

// Small integers, also negative ones, in decimal; addresses, masks and bits as they are.
std::string short_value(const std::vector<std::byte>& value, ValueType type);
// "85.5% >=83.1%": the bound is rounded down, and left out if it equals the share. "rarely the
// same" if there is no invariance.
std::string invariance_text(const std::optional<Invariance>& invariance);
// "eax = 16384 (85.5% >=83.1%)", or "eax: rarely the same"
std::string value_text(const ValueProfile& value);

// "stride 98% by 64"
std::string pattern_text(const AddressMoves& moves);
// "blocked behind f+0x10"
std::string hazard_text(const Hazard& hazard, const std::vector<Module>& modules,
                        SymbolSource& symbols);

// "L1 2%, memory 98%": the levels of its loads, in the order of `host`.
std::string level_shares_text(const LoadLatency& load, const std::optional<LatencyHost>& host);
// "; 25% across lines" if the share is worth mentioning.
std::string crossings_text(const LoadLatency& load);

}  // namespace shadowprof
