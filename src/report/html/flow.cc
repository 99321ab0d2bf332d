// Writes branches and calls.
#include <algorithm>

#include "report/html/page_data.h"
#include "report/profile_file/profile_writer.h"

namespace shadowprof {
namespace {

constexpr std::size_t max_branches = 500, max_targets = 6, max_calls = 500;

// Returns the edges of the branches shown, most frequent first.
std::map<CodeLocation, std::vector<const Edge*>> edges_of(const Profile& profile,
                                                          const std::vector<HotBranch>& branches) {
    std::map<CodeLocation, std::vector<const Edge*>> edges;
    for (const HotBranch& branch : branches) edges[branch.from];
    for (const Edge& edge : profile.edges)
        if (const auto found = edges.find(edge.from); found != edges.end())
            found->second.push_back(&edge);
    for (auto& [from, list] : edges)
        std::stable_sort(list.begin(), list.end(),
                         [](const Edge* a, const Edge* b) { return a->count > b->count; });
    return edges;
}

void write_targets(const PageData& page, const std::vector<const Edge*>& edges, JsonWriter& json) {
    json.begin_array();
    for (std::size_t i = 0; i < std::min(edges.size(), max_targets); ++i) {
        json.begin_array();
        json.value(page.places.place(edges[i]->to));
        json.value(name(edges[i]->kind));
        json.value(edges[i]->count);
        json.end_array();
    }
    json.end_array();
}

}  // namespace

void write_branches(const PageData& page, JsonWriter& json) {
    const auto all = hot_branches(page.profile, page.profile.edges.size());
    const double total = sum_of_counts(all);
    const std::vector<HotBranch> kept(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), max_branches)));
    const auto edges = edges_of(page.profile, kept);
    json.begin_object();
    write_shown(json, {kept.size(), all.size(), total > 0 ? sum_of_counts(kept) / total : 1});
    json.member("sum", total);
    json.key("branches");
    begin_table(json, {"from", "kind", "count", "error", "taken", "targets", "to"});
    for (const HotBranch& branch : kept) {
        json.begin_array();
        json.value(page.places.place(branch.from));
        json.value(branch.conditional() ? "conditional" : name(branch.kind));
        json.value(branch.count);
        json.value(branch.error);
        json.value(branch.taken);
        json.value(branch.targets);
        write_targets(page, edges.at(branch.from), json);
        json.end_array();
    }
    end_table(json);
    json.end_object();
}

void write_calls(const PageData& page, JsonWriter& json) {
    const auto& calls = page.profile.calls;
    const std::vector<CallPair> kept(
        calls.begin(),
        calls.begin() + static_cast<std::ptrdiff_t>(std::min(calls.size(), max_calls)));
    const double total = sum_of_counts(calls);
    json.begin_object();
    write_shown(json, {kept.size(), calls.size(), total > 0 ? sum_of_counts(kept) / total : 1});
    json.member("sum", total);
    json.key("calls");
    begin_table(json, {"site", "callee", "count", "error"});
    for (const CallPair& call : kept) {
        json.begin_array();
        json.value(page.places.place(call.site));
        json.value(page.places.place(call.callee));
        json.value(call.count);
        json.value(call.error);
        json.end_array();
    }
    end_table(json);
    json.end_object();
}

}  // namespace shadowprof
