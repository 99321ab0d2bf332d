#include "emu/guest/guest_place.h"

#include <algorithm>

#include "base/guest_address.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t mmap_minimum = 0x10000;
constexpr std::uint64_t down_step = 0x0080'0000'0000;
// Moves programs to between a position-independent program and its libraries, which is most likely
// free here, even where sanitizers reserve memory.
constexpr std::uint64_t usual_shift = 0x2000'0000'0000;

// How far the guest's mappings lie from ours: as far as there is room, of distances down to a page.
// An access behind a mapping of the guest must not reach ours, nor what the kernel will map in gaps
// between ours.
constexpr std::uint64_t most_apart_bytes = std::uint64_t{1} << 30;

// What is kept free below a mapping.
std::uint64_t room_below(const Mapping& m, std::uint64_t apart_bytes) {
    return m.name == "[stack]" ? std::max(GuestPlace::stack_growth_bytes, apart_bytes)
                               : apart_bytes;
}

bool is_of_user(const Mapping& m) {
    return m.end.value <= GuestPlace::user_end;
}

}  // namespace

// Preferably a round distance downwards. What fits exactly is sought upwards first.
std::optional<std::uint64_t> GuestPlace::choose(SegmentBases bases) const {
    std::uint64_t lowest = user_end, highest = 0;
    for (const Mapping& m : guest_.mappings()) {
        if (!is_of_user(m)) continue;
        lowest = std::min(lowest, m.start.value);
        highest = std::max(highest, m.end.value);
    }
    if (highest == 0) return 0;
    constexpr auto page = static_cast<std::int64_t>(page_bytes);
    const auto most_up = static_cast<std::int64_t>(user_end - highest);
    const auto most_down = static_cast<std::int64_t>(lowest) - std::int64_t{mmap_minimum};
    if (bases == SegmentBases::by_kernel && fits(0)) return 0;
    if (bases != SegmentBases::by_kernel)
        if (const auto down = down_in_steps()) return down;
    for (auto apart_bytes = most_apart_bytes; apart_bytes >= page_bytes; apart_bytes /= 8) {
        if (const auto up = highest_fit(most_up, page, apart_bytes)) return *up;
        if (bases == SegmentBases::by_kernel) continue;
        if (const auto down = highest_fit(-page, -most_down, apart_bytes)) return *down;
    }
    if (bases == SegmentBases::by_kernel) return std::nullopt;
    return fits(0) ? std::optional<std::uint64_t>(0) : std::nullopt;
}

std::optional<std::uint64_t> GuestPlace::down_in_steps() const {
    // Preferably below everything of this process, so that no guest address reaches it.
    const auto out_of_reach = own_.mappings().empty() ? 0 : distance_below_own();
    if (out_of_reach != 0 && fits(0 - out_of_reach)) return 0 - out_of_reach;
    if (fits(0 - usual_shift)) return 0 - usual_shift;
    const auto lowest = guest_.mappings().front().start.value;
    for (auto down = lowest & ~(down_step - 1); down >= down_step; down -= down_step)
        if (fits(0 - down)) return 0 - down;
    return std::nullopt;
}

// How far down guests must be moved for user_end to lie below this process's lowest mapping; a
// multiple of down_step.
std::uint64_t GuestPlace::distance_below_own() const {
    const auto lowest = std::min(own_.mappings().front().start.value, user_end);
    return (user_end - lowest + down_step - 1) & ~(down_step - 1);
}

bool GuestPlace::fits(std::uint64_t delta) const {
    return std::ranges::all_of(guest_.mappings(), [&](const Mapping& m) { return fits(m, delta); });
}

bool GuestPlace::fits(const Mapping& m, std::uint64_t delta) const {
    if (!is_of_user(m)) return true;
    const auto start = m.start.value + delta, end = m.end.value + delta;
    if (start < mmap_minimum || start > end || end > user_end) return false;
    return !in_the_way(m, delta, page_bytes);
}

// Returns the highest distance in these bounds at which all mappings fit. Each step goes down to
// where one more mapping fits below one of ours, so no distance between is left out, and there are
// at most as many steps as pairs of mappings.
std::optional<std::int64_t> GuestPlace::highest_fit(std::int64_t most, std::int64_t least,
                                                    std::uint64_t apart_bytes) const {
    auto fit = most;
    for (auto before = fit + 1; before != fit;) {
        before = fit;
        for (const Mapping& m : guest_.mappings()) {
            if (!is_of_user(m)) continue;
            const auto lower = highest_fit(m, fit, least, apart_bytes);
            if (!lower) return std::nullopt;
            fit = *lower;
        }
    }
    return fit;
}

std::optional<std::int64_t> GuestPlace::highest_fit(const Mapping& m, std::int64_t most,
                                                    std::int64_t least,
                                                    std::uint64_t apart_bytes) const {
    for (auto fit = most; fit >= least;) {
        const Mapping* ours = in_the_way(m, static_cast<std::uint64_t>(fit), apart_bytes);
        if (!ours) return fit;
        fit = static_cast<std::int64_t>(ours->start.value - room_below(*ours, apart_bytes) -
                                        m.end.value);
    }
    return std::nullopt;
}

// Returns the first of our mappings where this one and its growth would be; null if there is none.
const Mapping* GuestPlace::in_the_way(const Mapping& m, std::uint64_t delta,
                                      std::uint64_t apart_bytes) const {
    const auto start = m.start.value + delta, end = m.end.value + delta;
    const auto* ours = own_.find_at_or_after({start - std::min(start, room_below(m, apart_bytes))});
    return ours && ours->start.value < end + room_below(*ours, apart_bytes) ? ours : nullptr;
}

}  // namespace shadowprof
