// Matches the code of two profiles, which may be of different builds.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/diff/module_matcher.h"
#include "report/profile_file/profile_reader.h"

namespace shadowprof {

// How two places were matched, the most reliable way first.
enum class MatchedBy : std::uint8_t {
    address,   // address in the same build of a file
    function,  // the function's name with its arguments
    offset,    // function and offset, as the function's code is the same
    line,      // function and source line, as the function's code differs
    nothing    // no match in the other profile
};
std::string_view name(MatchedBy by);

// Equal for places that match.
struct MatchKey {
    MatchedBy by = MatchedBy::nothing;
    std::uint32_t scope = 0;  // number of what contains `detail`: a file, a function or a profile
    std::uint64_t detail = 0;

    friend constexpr auto operator<=>(const MatchKey&, const MatchKey&) = default;
};

// How the functions in different builds of files were compared.
struct FunctionMatches {
    std::size_t by_offset = 0;  // same code: place by place
    std::size_t by_line = 0;    // different code with source lines
    std::size_t by_name = 0;    // different code without them: as a whole
    std::size_t only_base = 0, only_next = 0;
};

// Files are matched by match_modules(). In builds of one file functions are matched by name, and
// their places
//   - by offset if the code is the same: apart from addresses in them, the instructions at offsets
//   known
//     in both are equal, and at least three quarters of the offsets known in the smaller one are
//     known in the other;
//   - else by source line, counted from the function's first line if both know that.
// Code without a function name is matched only in the same build. In other builds it counts as one
// function per file.
class LocationMatcher {
  public:
    // `base` and `next` must outlive the matcher.
    LocationMatcher(ProfileFile& base, ProfileFile& next, const std::vector<FilePair>& pairs = {});

    // The place of an instruction.
    MatchKey place(DiffSide side, CodeLocation location);
    // The place of the function around an instruction.
    MatchKey function(DiffSide side, CodeLocation location);

    const std::vector<MatchedModule>& modules() const { return modules_.list; }
    const FunctionMatches& functions() const { return matches_; }

  private:
    struct Shape;
    struct Function {
        MatchedBy by = MatchedBy::nothing;  // how its places were matched
        std::array<bool, 2> known = {};
        std::array<std::uint32_t, 2> first_line = {};  // 0: unknown
        std::array<std::string, 2> file;
    };
    using FunctionKey = std::pair<std::uint32_t, std::string>;  // number in modules(), name

    void match_functions();
    const MatchedModule& module(std::uint32_t number) const { return modules_.list[number]; }
    MatchKey unmatched(DiffSide side, CodeLocation location) const;
    MatchKey line_place(DiffSide side, CodeLocation location, std::uint32_t number);
    ProfileFile& file(DiffSide side) { return *files_[static_cast<std::size_t>(side)]; }

    std::array<ProfileFile*, 2> files_;
    MatchedModules modules_;
    std::map<FunctionKey, std::uint32_t> function_numbers_;
    std::vector<Function> functions_;  // only functions in different builds of files
    std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> lines_;
    FunctionMatches matches_;
};

}  // namespace shadowprof
