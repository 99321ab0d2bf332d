#include "report/symbols/source_file.h"

#include <algorithm>

#include "base/files/file_text.h"

namespace shadowprof {
namespace {

std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    lines.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        auto line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.push_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

}  // namespace

const SourceFiles::File& SourceFiles::file(std::string_view path) {
    const auto [it, added] = files_.try_emplace(std::string(path));
    File& file = it->second;
    // Relative paths are refused, also "-", which would be standard input.
    if (!added || !path.starts_with('/') || path.find('\0') != path.npos) return file;
    auto text = read_file_text(it->first, std::min(max_file_bytes, max_bytes - bytes_));
    if (!text || text->find('\0') != text->npos) return file;
    file.text = std::move(text).value();
    bytes_ += file.text.size();
    file.lines = split_lines(file.text);
    file.readable = true;
    return file;
}

std::optional<std::span<const std::string_view>> SourceFiles::lines(std::string_view path) {
    const File& found = file(path);
    if (!found.readable) return std::nullopt;
    return found.lines;
}

std::optional<std::string_view> SourceFiles::line(std::string_view path, std::uint32_t number) {
    const auto all = lines(path);
    if (!all || number == 0 || number > all->size()) return std::nullopt;
    return (*all)[number - 1];
}

}  // namespace shadowprof
