#include "report/lists/probe_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/text_format.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t first_of(unsigned bits) {
    return bits == 0 ? 0 : std::uint64_t{1} << (bits - 1);
}
constexpr std::uint64_t last_of(unsigned bits) {
    return bits == 0 ? 0 : first_of(bits) + (first_of(bits) - 1);
}

}  // namespace

std::string short_probe_number(std::uint64_t number, bool is_signed) {
    constexpr std::uint64_t large = 0x1'0000'0000;
    const bool negative = is_signed && static_cast<std::int64_t>(number) < 0;
    return number < large || negative ? probe_number(number, is_signed)
                                      : fmt::format("{:#x}", number);
}

std::string datum_text(const ProbeDatum& datum, ProbeDatumKind kind,
                       const std::vector<Module>& modules, SymbolSource& symbols) {
    if (const auto* location = std::get_if<CodeLocation>(&datum))
        return location_name(modules, symbols, *location);
    const auto* number = std::get_if<std::uint64_t>(&datum);
    return number ? short_probe_number(*number, kind == ProbeDatumKind::signed_number) : "";
}

std::string bucket_text(int bucket) {
    const auto bits = static_cast<unsigned>(bucket < 0 ? -bucket : bucket);
    const auto first = first_of(bits), last = last_of(bits);
    if (bucket < 0)
        return first == last ? fmt::format("-{}", first) : fmt::format("-{}..-{}", last, first);
    const auto spelled = [](std::uint64_t n) { return short_probe_number(n, false); };
    return first == last ? spelled(first) : fmt::format("{}-{}", spelled(first), spelled(last));
}

std::string histogram_text(const ProbeHistogram& histogram, std::size_t most) {
    std::vector<std::pair<int, std::uint64_t>> buckets(histogram.begin(), histogram.end());
    double all = 0;
    for (const auto& [bucket, count] : buckets) all += static_cast<double>(count);
    std::stable_sort(buckets.begin(), buckets.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    const auto shown = static_cast<std::ptrdiff_t>(std::min(most, buckets.size()));
    std::sort(buckets.begin(), buckets.begin() + shown);
    const auto share = [&](double count) { return whole_percent(all > 0 ? count / all : 0); };
    std::string text;
    double rest = all;
    for (auto it = buckets.begin(); it != buckets.begin() + shown; ++it) {
        const auto count = static_cast<double>(it->second);
        text +=
            fmt::format("{}{} {}", text.empty() ? "" : ", ", bucket_text(it->first), share(count));
        rest -= count;
    }
    const auto left = buckets.size() - static_cast<std::size_t>(shown);
    return left == 0 ? text : fmt::format("{}, {} more {}", text, left, share(rest));
}

}  // namespace shadowprof
