#include "report/diff/module_matcher.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/text/text_format.h"
#include "profile/merge/joint_modules.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

// Whether a function says something about a program: not one that every program has, nor a stub for
// another file's function.
bool is_telling(std::string_view function) {
    constexpr std::array everywhere = {"main", "frame_dummy", "register_tm_clones",
                                       "deregister_tm_clones"};
    return !function.empty() && !function.starts_with('_') &&
           function.find('@') == std::string_view::npos &&
           std::ranges::find(everywhere, function) == everywhere.end();
}

class ModuleMatcher {
  public:
    explicit ModuleMatcher(const std::array<ProfileFile*, 2>& files) : files_(files) {
        JointModules joint;
        for (const DiffSide side : both_sides)
            matched_.numbers[index_of(side)] = joint.add(profile(side).modules);
        for (const Module& module : joint.list())
            matched_.list.push_back({.path = module.path,
                                     .numbers = {},
                                     .same_build = !module.build_id.empty(),
                                     .base_path = {}});
        for (const DiffSide side : both_sides) {
            const auto& numbers = matched_.numbers[index_of(side)];
            for (std::uint32_t i = 0; i < numbers.size(); ++i) {
                MatchedModule& module = matched_.list[numbers[i]];
                module.numbers[index_of(side)].push_back(i);
                module.path = profile(side).modules[i].path;
                if (side == DiffSide::base) module.base_path = module.path;
            }
        }
    }

    void pair(const FilePair& files) {
        const auto base = find(DiffSide::base, files.base), next = find(DiffSide::next, files.next);
        if (base && next && *base != *next) join(*base, *next);
    }

    // Joins files if each profile has exactly one unmatched file with that key.
    template <typename Key>
    void pair_by(Key key) {
        std::map<std::string, std::array<std::vector<std::uint32_t>, 2>> groups;
        for (const DiffSide side : both_sides)
            for (const std::uint32_t i : unmatched(side))
                groups[std::string(key(matched_.list[i].path))][index_of(side)].push_back(i);
        for (const auto& [text, group] : groups)
            if (group[0].size() == 1 && group[1].size() == 1) join(group[0][0], group[1][0]);
    }

    // Joins the files that share most functions first.
    void pair_by_functions() {
        const auto base = functions_of_unmatched(DiffSide::base);
        const auto next = functions_of_unmatched(DiffSide::next);
        auto candidates = candidates_of(base, next);
        std::ranges::stable_sort(candidates, std::greater{}, &Candidate::common);
        for (const Candidate& each : candidates) {
            if (matched_.list[each.base].numbers[0].empty() || matched_.list[each.next].in_both())
                continue;
            join(each.base, each.next);
            matched_.list[each.next].common_functions = each.common;
        }
    }

    MatchedModules take() { return std::move(matched_); }

  private:
    using Names = std::set<std::string_view>;
    struct Candidate {
        std::size_t common;  // functions
        std::uint32_t base, next;
    };

    const Profile& profile(DiffSide side) const { return files_[index_of(side)]->profile; }

    std::optional<std::uint32_t> find(DiffSide side, std::string_view name) const {
        const auto& modules = profile(side).modules;
        const auto found = std::ranges::find_if(
            modules, [&](const Module& module) { return is_module_called(module.path, name); });
        if (found == modules.end()) return std::nullopt;
        return matched_.numbers[index_of(side)][static_cast<std::size_t>(found - modules.begin())];
    }

    std::vector<std::uint32_t> unmatched(DiffSide side) const {
        std::vector<std::uint32_t> list;
        for (std::uint32_t i = 0; i < matched_.list.size(); ++i)
            if (!matched_.list[i].in_both() && !matched_.list[i].numbers[index_of(side)].empty())
                list.push_back(i);
        return list;
    }

    // Makes `base`'s file in BASE a build of `next`'s file in NEW. What that one was matched with
    // takes its place.
    void join(std::uint32_t base, std::uint32_t next) {
        MatchedModule &left = matched_.list[base], &kept = matched_.list[next];
        std::swap(kept.numbers[0], left.numbers[0]);
        std::swap(kept.base_path, left.base_path);
        for (const std::uint32_t module : {base, next}) {
            matched_.list[module].same_build = false;
            for (const std::uint32_t number : matched_.list[module].numbers[0])
                matched_.numbers[0][number] = module;
        }
    }

    std::map<std::uint32_t, Names> functions_of_unmatched(DiffSide side) {
        std::map<std::uint32_t, Names> functions;
        for (const std::uint32_t i : unmatched(side)) functions[i];
        if (functions.empty()) return functions;
        files_[index_of(side)]->symbols.for_each(
            [&](CodeLocation at, const CodeSymbol& symbol, std::string_view) {
                if (!renumber(at, matched_.numbers[index_of(side)])) return;
                const auto file = functions.find(at.module);
                if (file != functions.end() && is_telling(symbol.function))
                    file->second.insert(symbol.function);
            });
        return functions;
    }

    // Returns the files that share enough functions to be taken for builds of one program. Names
    // that many files have say little, and would make this take long.
    static std::vector<Candidate> candidates_of(const std::map<std::uint32_t, Names>& base,
                                                const std::map<std::uint32_t, Names>& next) {
        constexpr std::size_t many_files = 20, least = 3;
        std::map<std::string_view, std::vector<std::uint32_t>> files_by_name;
        for (const auto& [file, names] : next)
            for (const std::string_view name : names) files_by_name[name].push_back(file);
        std::vector<Candidate> candidates;
        for (const auto& [old_file, names] : base) {
            std::map<std::uint32_t, std::size_t> common;
            for (const std::string_view name : names)
                if (const auto files = files_by_name.find(name);
                    files != files_by_name.end() && files->second.size() <= many_files)
                    for (const std::uint32_t file : files->second) ++common[file];
            for (const auto& [new_file, count] : common)
                if (count >= least && 2 * count >= std::min(names.size(), next.at(new_file).size()))
                    candidates.push_back({count, old_file, new_file});
        }
        return candidates;
    }

    const std::array<ProfileFile*, 2> files_;
    MatchedModules matched_;
};

Result<void> check_file(const Profile& profile, std::string_view side, const std::string& name) {
    if (std::ranges::any_of(profile.modules, [&](const Module& module) {
            return is_module_called(module.path, name);
        }))
        return {};
    return Error{ErrorCode::usage, 0,
                 fmt::format("--map: {} has no code of a file '{}'", side, printable(name))};
}

}  // namespace

Result<FilePair> parse_file_pair(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size())
        return Error{ErrorCode::usage, 0, "must be OLD=NEW, each a path or a file's name"};
    return FilePair{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<void> check_file_pairs(const std::vector<FilePair>& pairs, const Profile& base,
                              const Profile& next) {
    for (const FilePair& pair : pairs) {
        TRY(check_file(base, "BASE", pair.base));
        TRY(check_file(next, "NEW", pair.next));
    }
    return {};
}

MatchedModules match_modules(const std::array<ProfileFile*, 2>& files,
                             const std::vector<FilePair>& pairs) {
    ModuleMatcher matcher(files);
    for (const FilePair& pair : pairs) matcher.pair(pair);
    matcher.pair_by([](const std::string& path) { return std::string_view(path); });
    matcher.pair_by([](const std::string& path) { return base_name(path); });
    matcher.pair_by_functions();
    return matcher.take();
}

}  // namespace shadowprof
