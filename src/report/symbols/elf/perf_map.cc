#include "report/symbols/elf/perf_map.h"

#include <charconv>
#include <map>
#include <optional>

#include "base/files/file_text.h"

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

// Entries by start, with names in the text of the map. Adding an entry cuts or removes those that
// it overlaps.
class FunctionRanges {
  public:
    void add(const FunctionRange& entry) {
        auto it = entries_.lower_bound(entry.start);
        if (it != entries_.begin()) {
            FunctionRange& before = std::prev(it)->second;
            if (before.end > entry.end)  // the new one lies inside, so the part behind it stays
                entries_.emplace(entry.end, FunctionRange{entry.end, before.end, before.name});
            before.end = std::min(before.end, entry.start);
        }
        while (it != entries_.end() && it->second.start < entry.end) {
            const FunctionRange old = it->second;
            it = entries_.erase(it);
            if (old.end > entry.end)
                entries_.emplace(entry.end, FunctionRange{entry.end, old.end, old.name});
        }
        entries_.insert_or_assign(entry.start, entry);
    }
    NamedFunctions list() const {
        NamedFunctions list;
        for (const auto& [start, entry] : entries_)
            list.functions.push_back({entry.start, entry.end, list.names.add(entry.name)});
        return list;
    }

  private:
    std::map<std::uint64_t, FunctionRange> entries_;
};

}  // namespace

NamedFunctions parse_perf_map(std::string_view text) {
    FunctionRanges entries;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (const auto entry = parse_line(line)) entries.add(*entry);
    }
    return entries.list();
}

Result<NamedFunctions> read_perf_map(const std::string& path) {
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;
    TRY_ASSIGN(std::string text, read_file_text(path, max_bytes));
    return parse_perf_map(text);
}

}  // namespace shadowprof
