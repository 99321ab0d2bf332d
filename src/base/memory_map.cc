#include "base/memory_map.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace shadowprof {
namespace {

// Consumes fields of one line of /proc/PID/maps from the front.
class LineReader {
  public:
    explicit LineReader(std::string_view line) : rest_(line) {}

    bool number(std::uint64_t& out, int base) {
        auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out, base);
        if (error != std::errc{}) return false;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return true;
    }
    bool literal(char c) {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool take(std::size_t count, std::string_view& out) {
        if (rest_.size() < count) return false;
        out = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return true;
    }
    std::string_view rest_after_spaces() {
        auto first = rest_.find_first_not_of(' ');
        return first == std::string_view::npos ? std::string_view{} : rest_.substr(first);
    }

  private:
    std::string_view rest_;
};

bool parse_line(std::string_view line, Mapping& m) {
    LineReader in(line);
    std::string_view permissions;
    std::uint64_t major = 0, minor = 0;
    bool ok = in.number(m.start.value, 16) && in.literal('-') && in.number(m.end.value, 16) &&
              in.literal(' ') && in.take(4, permissions) && in.literal(' ') &&
              in.number(m.file_offset, 16) && in.literal(' ') && in.number(major, 16) &&
              in.literal(':') && in.number(minor, 16) && in.literal(' ') && in.number(m.inode, 10);
    if (!ok || m.end <= m.start) return false;
    m.readable = permissions[0] == 'r';
    m.writable = permissions[1] == 'w';
    m.executable = permissions[2] == 'x';
    m.shared = permissions[3] == 's';
    m.device = major << 32 | minor;
    m.name = in.rest_after_spaces();
    return true;
}

}  // namespace

MemoryMap::MemoryMap(std::vector<Mapping> mappings) : mappings_(std::move(mappings)) {
    std::sort(mappings_.begin(), mappings_.end(),
              [](const Mapping& a, const Mapping& b) { return a.start < b.start; });
}

void MemoryMap::replace(GuestAddress start, GuestAddress end, std::vector<Mapping> pieces) {
    const auto first =
        std::ranges::upper_bound(mappings_, start, {}, [](const Mapping& m) { return m.end; });
    const auto last = std::ranges::lower_bound(first, mappings_.end(), end, {}, &Mapping::start);
    if (first != last && first->start < start) {
        pieces.insert(pieces.begin(), *first);
        pieces.front().end = start;
    }
    if (first != last && end < std::prev(last)->end) {
        pieces.push_back(*std::prev(last));
        pieces.back().file_offset += end - pieces.back().start;
        pieces.back().start = end;
    }
    // As many as there were are overwritten, so that few others move.
    const auto kept = std::min(last - first, std::ssize(pieces));
    const auto rest = std::move(pieces.begin(), pieces.begin() + kept, first);
    mappings_.insert(mappings_.erase(rest, last), std::make_move_iterator(pieces.begin() + kept),
                     std::make_move_iterator(pieces.end()));
}

Result<MemoryMap> MemoryMap::parse(std::string_view text) {
    std::vector<Mapping> mappings;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        Mapping m;
        if (!parse_line(line, m))
            return Error{ErrorCode::invalid, 0, fmt::format("memory map: bad line '{}'", line)};
        if (!mappings.empty() && m.start < mappings.back().end)
            return Error{ErrorCode::invalid, 0, fmt::format("memory map: overlap at '{}'", line)};
        mappings.push_back(std::move(m));
    }
    return MemoryMap(std::move(mappings));
}

const Mapping* MemoryMap::find_at_or_after(GuestAddress address) const {
    auto it = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                               [](GuestAddress a, const Mapping& m) { return a < m.end; });
    return it == mappings_.end() ? nullptr : &*it;
}

const Mapping* MemoryMap::find(GuestAddress address) const {
    const Mapping* m = find_at_or_after(address);
    return m && m->contains(address) ? m : nullptr;
}

}  // namespace shadowprof
