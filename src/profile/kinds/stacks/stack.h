// Call stacks, with the instructions and the time spent in each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/code/index_table.h"
#include "profile/code_location.h"
#include "profile/kinds/difference.h"
#include "profile/kinds/fields.h"
#include "profile/kinds/kind_option.h"
#include "profile/kinds/sums.h"

namespace shadowprof {

struct Stack {
    std::vector<CodeLocation> frames;  // outermost first: call sites, then the innermost function
    std::uint64_t instructions = 0;
    std::uint64_t samples = 0;  // threads of samples that began here, weighted
    std::optional<double> error = {};
    // The processor time spent here, by looks at threads (PlaceTime). It is 0 in exact mode, which
    // does not measure time.
    std::uint64_t time_ns = 0;
    // Of `instructions`, those of stacks that had more calls, and of which there were too many
    // (stack_folder.h).
    std::uint64_t folded = 0;

    friend bool operator==(const Stack&, const Stack&) = default;
};

inline auto identity(const Stack& s) {
    return std::tie(s.frames);
}
inline std::uint64_t identity_hash(const Stack& s) {
    return locations_hash(hash_seed(), s.frames);
}
inline std::uint64_t heat(const Stack& s) {
    return std::max(s.instructions, s.time_ns);
}
inline void add(Stack& sum, const Stack& s) {
    sum.instructions += s.instructions;
    sum.samples += s.samples;
    add_error(sum.error, s.error);
    sum.time_ns += s.time_ns;
    sum.folded += s.folded;
}

inline void subtract(Stack& stack, const Stack& earlier) {
    subtract(stack.instructions, earlier.instructions);
    subtract(stack.samples, earlier.samples);
    subtract(stack.time_ns, earlier.time_ns);
    subtract(stack.folded, earlier.folded);
    stack.folded = std::min(stack.folded, stack.instructions);
}
inline bool is_empty(const Stack& s) {
    return s.instructions == 0 && s.samples == 0 && s.time_ns == 0;
}

void fields(auto& visitor, Like<Stack> auto& s) {
    visitor.locations("frames", s.frames);
    visitor.count("instructions", s.instructions);
    visitor.known_number("error", s.error);
    visitor.count("samples", s.samples);
    visitor.nonzero_count("time_ns", s.time_ns);
    visitor.nonzero_count("folded", s.folded);
}

struct StackList {
    using Record = Stack;
    static constexpr std::string_view name = "stacks";
    static constexpr KindOption option{.word = "stack", .is_usual = true};
    // Without the request stacks have one frame, as functions are weighed by them.
    static constexpr bool is_flat_without_request = true;
    static auto& of(auto& profile) { return profile.stacks; }
};

}  // namespace shadowprof
