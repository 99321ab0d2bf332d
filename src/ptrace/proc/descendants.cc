#include "ptrace/proc/descendants.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "ptrace/proc/proc.h"

namespace shadowprof {
namespace {

// The process that the user sees executes the same program as its child, which calls this.
bool is_of_shadowprof(pid_t pid) {
    if (pid == ::getpid()) return true;
    if (pid != ::getppid()) return false;
    const auto program = read_exe_path(pid);
    return program && *program == read_exe_path(::getpid()).value_or("");
}

using ChildrenOf = std::function<std::vector<pid_t>(pid_t parent)>;

// Ids are reused, so that a list that is not made at one moment could lead round in a circle.
std::vector<Descendant> all_below(pid_t pid, const ChildrenOf& children_of) {
    std::vector<Descendant> found;
    std::set<pid_t> seen = {pid};
    const auto add_children = [&](pid_t parent) {
        for (const pid_t child : children_of(parent))
            if (seen.insert(child).second && !is_of_shadowprof(child))
                found.push_back({child, parent});
    };
    add_children(pid);
    for (std::size_t i = 0; i < found.size(); ++i) add_children(found[i].pid);
    return found;
}

std::vector<pid_t> parse_ids(std::string_view text) {
    std::vector<pid_t> ids;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        pid_t id = 0;
        const auto [next, error] = std::from_chars(at, end, id);
        if (error == std::errc()) ids.push_back(id);
        at = next == at ? at + 1 : next;
    }
    return ids;
}

// A child is its creating thread's.
std::vector<pid_t> children_of_threads(pid_t pid) {
    std::vector<pid_t> children;
    for (const pid_t tid : read_thread_ids(pid).value_or(std::vector<pid_t>{})) {
        const auto text = read_proc_text(fmt::format("/proc/{}/task/{}/children", pid, tid));
        if (!text) continue;
        const auto ids = parse_ids(*text);
        children.insert(children.end(), ids.begin(), ids.end());
    }
    return children;
}

}  // namespace

std::optional<std::vector<Descendant>> descendants_by_threads(pid_t pid) {
    if (::access("/proc/thread-self/children", R_OK) != 0) return std::nullopt;
    return all_below(pid, children_of_threads);
}

std::vector<Descendant> descendants_by_parents(pid_t pid) {
    std::multimap<pid_t, pid_t> children;  // by their parents
    std::error_code error;
    for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
         it.increment(error)) {
        const std::string name = it->path().filename();
        pid_t id = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), id);
        if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
        if (const auto stat = read_proc_stat(id)) children.emplace(stat->parent_pid, id);
    }
    return all_below(pid, [&](pid_t parent) {
        std::vector<pid_t> ids;
        const auto [first, last] = children.equal_range(parent);
        std::transform(first, last, std::back_inserter(ids),
                       [](const auto& entry) { return entry.second; });
        return ids;
    });
}

std::vector<Descendant> read_descendants(pid_t pid) {
    if (auto found = descendants_by_threads(pid)) return *std::move(found);
    return descendants_by_parents(pid);
}

}  // namespace shadowprof
