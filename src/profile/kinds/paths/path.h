// Paths: sequences of blocks across branches and calls, and how often they were executed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/code_location.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"
#include "profile/kinds/sums.h"

namespace shadowprof {

struct Path {
    std::vector<CodeLocation> blocks;  // starts of blocks, in the order of execution
    std::uint64_t instructions = 0;    // in one execution of the path
    std::uint64_t count = 0;
    std::optional<double> error = {};

    friend bool operator==(const Path&, const Path&) = default;
};

inline auto identity(const Path& p) {
    return std::tie(p.blocks, p.instructions);
}
inline std::uint64_t identity_hash(const Path& p) {
    return locations_hash(hash_seed() ^ mix64(p.instructions), p.blocks);
}

void fields(auto& visitor, Like<Path> auto& p) {
    visitor.count("count", p.count);
    visitor.known_number("error", p.error);
    visitor.count("instructions", p.instructions);
    visitor.locations("blocks", p.blocks);
}

struct PathList {
    using Record = Path;
    static constexpr std::string_view name = "paths";
    static constexpr KindOption option{.word = "path", .is_usual = true};
    static auto& of(auto& profile) { return profile.paths; }
};

}  // namespace shadowprof
