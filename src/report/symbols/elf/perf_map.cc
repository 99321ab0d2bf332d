#include "report/symbols/elf/perf_map.h"

#include <charconv>
#include <optional>

#include "base/files/file_text.h"
#include "report/symbols/elf/latest_ranges.h"

namespace shadowprof {
namespace {

std::optional<std::uint64_t> take_hex(std::string_view& line) {
    if (line.starts_with("0x")) line.remove_prefix(2);
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
    auto length = static_cast<std::size_t>(end - line.data());
    if (error != std::errc{} || length == line.size() || line[length] != ' ') return std::nullopt;
    line.remove_prefix(length + 1);
    return value;
}

std::optional<FunctionRange> parse_line(std::string_view line) {
    auto start = take_hex(line);
    auto size = start ? take_hex(line) : std::nullopt;
    if (!size || *size == 0 || *start + *size < *start || line.empty()) return std::nullopt;
    return FunctionRange{*start, *start + *size, line};
}

}  // namespace

NamedFunctions parse_perf_map(std::string_view text) {
    NamedFunctions named;
    LatestRanges<std::string_view> entries;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (const auto entry = parse_line(line))
            entries.add(entry->start, entry->end, named.names.add(entry->name));
    }
    for (const auto& [start, entry] : entries.all())
        named.functions.push_back({start, entry.end, entry.value});
    return named;
}

Result<NamedFunctions> read_perf_map(const std::string& path) {
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;
    TRY_ASSIGN(std::string text, read_file_text(path, max_bytes));
    return parse_perf_map(text);
}

}  // namespace shadowprof
