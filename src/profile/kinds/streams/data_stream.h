// Data streams: sequences of memory references that repeat (profile/kinds/streams/data_streams.h).
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/code_location.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"
#include "profile/kinds/streams/stream_limits.h"
#include "profile/statistics/count_limits.h"

namespace shadowprof {

// One access to memory.
struct DataReference {
    CodeLocation at;
    std::uint64_t address = 0;

    friend constexpr auto operator<=>(const DataReference&, const DataReference&) = default;
};

struct DataStream {
    std::vector<DataReference> references;
    std::uint64_t occurrences = 0;

    // The number of references that occur in the stream.
    std::uint64_t heat() const { return references.size() * occurrences; }
    friend bool operator==(const DataStream&, const DataStream&) = default;
};

inline auto identity(const DataStream& s) {
    return std::tie(s.references);
}
inline std::uint64_t heat(const DataStream& s) {
    return s.heat();
}
inline void add(DataStream& sum, const DataStream& s) {
    add_moves(sum.occurrences, s.occurrences);
}

void fields(auto& visitor, Like<DataStream> auto& s) {
    visitor.derived("heat", [&] { return s.heat(); });
    visitor.derived("length", [&] { return s.references.size(); });
    visitor.count_up_to("occurrences", s.occurrences, max_moves);
    visitor.references("references", s.references, StreamLimits::longest);
}

struct StreamList {
    using Record = DataStream;
    static constexpr std::string_view name = "streams";
    static constexpr KindOption option{.word = "stream"};
    static auto& of(auto& profile) { return profile.streams; }
    static constexpr std::string_view of_whole_run_alone = "data streams";
};

}  // namespace shadowprof
