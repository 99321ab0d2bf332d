#include "guest_kernel/environment/environment_proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/files/fd.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_proc_bytes = 64 * 1024;
constexpr std::uint32_t overflow_id = 65534;

std::string_view next_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    auto word = text.substr(0, text.find_first_of(" \t\n"));
    text.remove_prefix(word.size());
    return word;
}

}  // namespace

Result<std::string> read_proc_file(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) {
        // A process's directory vanishes when the process ends.
        if (errno == ENOENT && path.starts_with("/proc/")) errno = ESRCH;
        return errno_error(path);
    }
    std::string text;
    while (text.size() < max_proc_bytes) {
        std::size_t old_size = text.size();
        text.resize(std::min(old_size + 4096, max_proc_bytes));
        ssize_t got = ::read(fd.get(), text.data() + old_size, text.size() - old_size);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got < 0)
            return errno_error(path);
        text.resize(old_size + static_cast<std::size_t>(got));
        if (got == 0) break;
    }
    return text;
}

std::vector<std::uint64_t> parse_numbers(std::string_view text, int base) {
    std::vector<std::uint64_t> numbers;
    for (auto word = next_word(text); !word.empty(); word = next_word(text)) {
        std::uint64_t number = 0;
        auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
        if (error != std::errc{} || end != word.data() + word.size()) break;
        numbers.push_back(number);
    }
    return numbers;
}

std::optional<std::uint64_t> stat_field(std::string_view text, std::size_t number) {
    // The second field is the name in parentheses, which may itself contain blanks and parentheses.
    auto name_end = text.rfind(')');
    if (name_end == std::string_view::npos || number < 3) return std::nullopt;
    text.remove_prefix(name_end + 1);
    std::string_view word;
    for (std::size_t i = 2; i < number; ++i) word = next_word(text);
    std::int64_t negative = 0;
    std::uint64_t value = 0;
    const char* end = word.data() + word.size();
    if (word.starts_with('-')) {
        if (std::from_chars(word.data(), end, negative).ec != std::errc{}) return std::nullopt;
        return static_cast<std::uint64_t>(negative);
    }
    if (std::from_chars(word.data(), end, value).ec != std::errc{}) return std::nullopt;
    return value;
}

std::uint32_t map_id(std::string_view map, std::uint32_t id) {
    while (!map.empty()) {
        auto line = map.substr(0, map.find('\n'));
        map.remove_prefix(std::min(map.size(), line.size() + 1));
        auto range = parse_numbers(line);
        if (range.size() != 3) continue;
        auto [inside, outside, count] = std::tuple(range[0], range[1], range[2]);
        if (id >= outside && id - outside < count)
            return static_cast<std::uint32_t>(inside + (id - outside));
    }
    return overflow_id;
}

}  // namespace shadowprof
