// Which code of two profiles is the same code, where they may be of different builds.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/profile_file/profile_reader.h"

namespace shadowprof {

enum class DiffSide : std::uint8_t { base, next };
inline constexpr std::array both_sides{DiffSide::base, DiffSide::next};

// By what two places were found to be the same, the surest first.
enum class MatchedBy : std::uint8_t {
    address,   // the same build of a file
    function,  // the function's name, with its arguments
    offset,    // and the offset in it, as its code is the same
    line,      // and the source line, as its code is not
    nothing    // no place of the other profile is known to be the same
};
std::string_view name(MatchedBy by);

// Equal for what is the same in both profiles.
struct MatchPlace {
    MatchedBy by = MatchedBy::nothing;
    std::uint32_t scope = 0;  // a number of what `detail` is in: a file, a function, a profile
    std::uint64_t detail = 0;

    friend constexpr auto operator<=>(const MatchPlace&, const MatchPlace&) = default;
};

// A file with code that one or both profiles have.
struct MatchedModule {
    std::string path;                                   // NEW's where it has it
    std::array<std::vector<std::uint32_t>, 2> numbers;  // by DiffSide: its modules
    bool same_build = false;                            // by build-id

    bool in_both() const { return !numbers[0].empty() && !numbers[1].empty(); }
};

// How the functions of files of different builds were compared.
struct FunctionMatches {
    std::size_t by_offset = 0;  // same code: place by place
    std::size_t by_line = 0;    // other code with source lines
    std::size_t by_name = 0;    // other code without: as a whole
    std::size_t only_base = 0, only_next = 0;
};

// Files are the same build if their build-ids are equal; else they are builds of one file if they
// have the same path, or if each is the only one of its base name. In builds of one file functions
// are the same by name, and
//  - their places by offset where the code is the same: at no offset known in both is there another
//    instruction, but for the addresses in it, and at least three quarters of those known in the
//    one that has fewer are known in the other;
//  - else by source line, counted from the function's first where both know that.
// Code without a function's name is matched in the same build alone; elsewhere a file's is one
// function.
class PlaceMatcher {
  public:
    // `base` and `next` live as long as the matcher.
    PlaceMatcher(ProfileFile& base, ProfileFile& next);

    // The place of an instruction.
    MatchPlace place(DiffSide side, CodeLocation location);
    // The place of the function around an instruction.
    MatchPlace function(DiffSide side, CodeLocation location);

    const std::vector<MatchedModule>& modules() const { return modules_; }
    const FunctionMatches& functions() const { return matches_; }

  private:
    struct Shape;
    struct Function {
        MatchedBy by = MatchedBy::nothing;  // its places
        std::array<bool, 2> known = {};
        std::array<std::uint32_t, 2> first_line = {};  // 0: not known
        std::array<std::string, 2> file;
    };
    using FunctionKey = std::pair<std::uint32_t, std::string>;  // number in modules_, name

    void match_modules();
    void pair_builds();
    void match_functions();
    MatchPlace unmatched(DiffSide side, CodeLocation location) const;
    MatchPlace line_place(DiffSide side, CodeLocation location, std::uint32_t number);
    ProfileFile& file(DiffSide side) { return *files_[static_cast<std::size_t>(side)]; }

    std::array<ProfileFile*, 2> files_;
    std::vector<MatchedModule> modules_;
    std::array<std::vector<std::uint32_t>, 2> module_numbers_;  // by DiffSide, by module
    std::map<FunctionKey, std::uint32_t> function_numbers_;
    std::vector<Function> functions_;  // of files of different builds
    std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> lines_;
    FunctionMatches matches_;
};

}  // namespace shadowprof
