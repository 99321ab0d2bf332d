#include "profile/kinds/cache/cache_parameters.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/guest_address.h"

namespace shadowprof {
namespace {

constexpr unsigned max_caches = 8;
constexpr std::size_t max_levels = 3;
// Limits above what processors have, below what would exhaust memory.
constexpr std::uint64_t max_size_bytes = std::uint64_t{2} << 30;
constexpr std::uint64_t max_ways = 64;
constexpr std::uint64_t min_line_bytes = 16, max_line_bytes = 1024;

// "48K\n". Nothing if the text is anything else.
std::optional<std::uint64_t> number_in(const std::optional<std::string>& text) {
    if (!text) return std::nullopt;
    std::uint64_t number = 0;
    const char* const end = text->data() + text->size();
    auto [rest, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc{} || number > max_size_bytes) return std::nullopt;
    if (rest != end && *rest == 'K') {
        number <<= 10;
        ++rest;
    } else if (rest != end && *rest == 'M') {
        number <<= 20;
        ++rest;
    }
    if (rest != end && *rest == '\n') ++rest;
    return rest == end ? std::optional(number) : std::nullopt;
}

std::optional<CacheLevel> read_level(unsigned index, const ReadCacheFile& read,
                                     std::uint64_t number) {
    const auto bytes = number_in(read(index, "size")),
               ways = number_in(read(index, "ways_of_associativity")),
               line = number_in(read(index, "coherency_line_size"));
    if (!bytes || !ways || !line) return std::nullopt;
    CacheLevel level{.name = number == 1 ? "L1d" : "L" + std::to_string(number),
                     .size_bytes = *bytes,
                     .ways = *ways,
                     .line_bytes = *line};
    if (!is_possible(level)) return std::nullopt;
    return level;
}

CacheFill fill_of(std::uint64_t number, bool includes) {
    if (number == 1) return CacheFill::non_inclusive;
    if (includes) return CacheFill::inclusive;
    return number == max_levels ? CacheFill::victim : CacheFill::non_inclusive;
}

}  // namespace

bool is_possible(const CacheLevel& level) {
    return std::has_single_bit(level.line_bytes) && level.line_bytes >= min_line_bytes &&
           level.line_bytes <= max_line_bytes && level.ways >= 1 && level.ways <= max_ways &&
           level.size_bytes <= max_size_bytes &&
           level.size_bytes % (level.ways * level.line_bytes) == 0 && level.sets() != 0;
}

CacheModel default_cache_model() {
    return {.source = "defaults",
            .levels = {{"L1d", 32 << 10, 8, line_bytes, CacheFill::non_inclusive},
                       {"L2", 1 << 20, 8, line_bytes, CacheFill::non_inclusive},
                       {"L3", 32 << 20, 16, line_bytes, CacheFill::victim}}};
}

CacheModel cache_model(const ReadCacheFile& read, const IsInclusive& is_inclusive) {
    CacheModel model{.source = "host", .levels = {}};
    for (unsigned index = 0; index < max_caches; ++index) {
        const auto type = read(index, "type");
        if (!type) break;
        if (type->starts_with("Instruction")) continue;
        const auto number = model.levels.size() + 1;
        if (number > max_levels) break;
        auto level = read_level(index, read, number);
        if (!level || number_in(read(index, "level")) != number) return default_cache_model();
        level->fill = fill_of(number, is_inclusive(index));
        model.levels.push_back(std::move(*level));
    }
    const auto has_other_lines = [&](const CacheLevel& level) {
        return level.line_bytes != model.levels[0].line_bytes;
    };
    if (model.levels.empty() || std::ranges::any_of(model.levels, has_other_lines))
        return default_cache_model();
    return model;
}

}  // namespace shadowprof
