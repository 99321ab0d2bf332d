// Matches the files with code of two profiles.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/profile_file/profile_reader.h"

namespace shadowprof {

enum class DiffSide : std::uint8_t { base, next };
inline constexpr std::array both_sides{DiffSide::base, DiffSide::next};
// Its place in arrays by DiffSide.
constexpr std::size_t index_of(DiffSide side) {
    return static_cast<std::size_t>(side);
}

// Files that the user says are builds of one program. Each is a path or a name without folders.
struct FilePair {
    std::string base, next;
};
// Parses "OLD=NEW". Errors: usage.
Result<FilePair> parse_file_pair(std::string_view text);
// Errors: usage; the profiles have no such files.
Result<void> check_file_pairs(const std::vector<FilePair>& pairs, const Profile& base,
                              const Profile& next);

// A file with code that is in one or both profiles.
struct MatchedModule {
    std::string path;                                   // NEW's path if it has the file
    std::array<std::vector<std::uint32_t>, 2> numbers;  // by DiffSide: numbers of its modules
    bool same_build = false;                            // by build-id
    // How many functions of the same names they were matched by; 0: they have the same name, or the
    // user said so.
    std::size_t common_functions = 0;
    std::string base_path;  // BASE's path if it has the file

    bool in_both() const { return !numbers[0].empty() && !numbers[1].empty(); }
};

struct MatchedModules {
    std::vector<MatchedModule> list;
    std::array<std::vector<std::uint32_t>, 2> numbers;  // in `list`, by DiffSide and module
};

// Files are the same build if their build-ids are equal. Otherwise they are builds of one file if
//   - one of `pairs` says so, or else
//   - they have the same path, or else
//   - each is the only one of its base name, or else
//   - they share most of the names of their functions that the profiles have.
MatchedModules match_modules(const std::array<ProfileFile*, 2>& files,
                             const std::vector<FilePair>& pairs);

}  // namespace shadowprof
