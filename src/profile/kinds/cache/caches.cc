#include "profile/kinds/cache/caches.h"

#include <algorithm>
#include <bit>

namespace shadowprof {

bool CacheArray::touch(std::uint64_t line) {
    std::uint64_t* const set = set_of(line);
    if (set[0] == line) return true;
    std::uint64_t* const found = std::find(set + 1, set + ways_, line);
    if (found == set + ways_) return false;
    std::copy_backward(set, found, found + 1);
    set[0] = line;
    return true;
}

std::optional<std::uint64_t> CacheArray::insert(std::uint64_t line) {
    std::uint64_t* const set = set_of(line);
    const std::uint64_t last = set[ways_ - 1];
    std::copy_backward(set, set + ways_ - 1, set + ways_);
    set[0] = line;
    return last == no_line ? std::nullopt : std::optional(last);
}

// Empty ways are the last ones of a set.
bool CacheArray::remove(std::uint64_t line) {
    std::uint64_t* const set = set_of(line);
    std::uint64_t* const end = set + ways_;
    std::uint64_t* const found = std::find(set, end, line);
    if (found == end) return false;
    std::copy(found + 1, end, found);
    end[-1] = no_line;
    return true;
}

Caches::Caches(const CacheModel& model)
    : line_shift_(static_cast<unsigned>(std::countr_zero(model.levels[0].line_bytes))) {
    for (const CacheLevel& level : model.levels) levels_.push_back({CacheArray(level), level.fill});
}

// The line is not in the first level.
std::size_t Caches::miss(std::uint64_t line) {
    std::size_t at = 1;
    while (at < levels_.size() && !levels_[at].array.touch(line)) ++at;
    const std::size_t missed = at;
    if (at < levels_.size() && levels_[at].fill == CacheFill::victim)
        levels_[at].array.remove(line);
    while (at > 0) fill(--at, line);
    return missed;
}

void Caches::fill(std::size_t level, std::uint64_t line) {
    if (levels_[level].fill == CacheFill::victim) return;
    const auto evicted = levels_[level].array.insert(line);
    if (!evicted) return;
    if (levels_[level].fill == CacheFill::inclusive)
        for (std::size_t before = 0; before < level; ++before)
            levels_[before].array.remove(*evicted);
    const std::size_t next = level + 1;
    if (next < levels_.size() && levels_[next].fill == CacheFill::victim &&
        !levels_[next].array.touch(*evicted))
        levels_[next].array.insert(*evicted);
}

}  // namespace shadowprof
