#include "report/text/full_lists.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text/suggest.h"
#include "base/text/text_format.h"
#include "report/lists/callers.h"
#include "report/lists/kind_table.h"
#include "report/lists/place_filter.h"
#include "report/symbols/location_name.h"
#include "report/text/facts_text.h"
#include "report/text/list_printer.h"
#include "report/text/list_sink.h"

namespace shadowprof {
namespace {

// Executions of a conditional branch that did not go its usual way.
std::uint64_t minority(const HotBranch& branch) {
    return branch.conditional() ? std::min(branch.taken, branch.count - branch.taken) : 0;
}

double memory_share(const LoadLatency& load) {
    const auto found = load.levels.find("memory");
    return found == load.levels.end() ? 0 : ratio(found->second, load.count());
}

// A key to sort by. Entries with a larger amount come first; names are sorted alphabetically.
template <typename T>
struct SortKey {
    std::string_view name;
    double (*amount)(const T&);  // null: the name of the function
};
constexpr std::string_view by_name = "name";

constexpr std::array function_keys{
    SortKey<HotFunction>{"instructions", [](const HotFunction& f) { return f.share; }},
    SortKey<HotFunction>{by_name, nullptr}};
constexpr std::array script_keys{
    SortKey<HotScriptFunction>{"own", [](const HotScriptFunction& f) { return f.own_share; }},
    SortKey<HotScriptFunction>{"callees", [](const HotScriptFunction& f) { return f.share; }},
    SortKey<HotScriptFunction>{by_name, nullptr}};
constexpr std::array path_keys{
    SortKey<HotPath>{"instructions", [](const HotPath& p) { return p.share; }},
    SortKey<HotPath>{"count", [](const HotPath& p) { return double(p.path->count); }},
    SortKey<HotPath>{"length", [](const HotPath& p) { return double(p.path->instructions); }},
    SortKey<HotPath>{by_name, nullptr}};
constexpr std::array branch_keys{
    SortKey<HotBranch>{"count", [](const HotBranch& b) { return double(b.count); }},
    SortKey<HotBranch>{"minority", [](const HotBranch& b) { return double(minority(b)); }},
    SortKey<HotBranch>{"targets", [](const HotBranch& b) { return double(b.targets); }},
    SortKey<HotBranch>{by_name, nullptr}};
using Value = const ValueProfile*;
constexpr std::array value_keys{
    SortKey<Value>{"invariant",
                   [](const Value& v) { return share_of(v->invariance) * double(v->count); }},
    SortKey<Value>{"count", [](const Value& v) { return double(v->count); }},
    SortKey<Value>{"invariance", [](const Value& v) { return share_of(v->invariance); }},
    SortKey<Value>{by_name, nullptr}};
using Load = const LoadLatency*;
constexpr std::array load_keys{
    SortKey<Load>{"lost", [](const Load& l) { return double(l->lost_cycles); }},
    SortKey<Load>{"count", [](const Load& l) { return double(l->count()); }},
    SortKey<Load>{"median", [](const Load& l) { return l->median_cycles(); }},
    SortKey<Load>{"memory", [](const Load& l) { return memory_share(*l); }},
    SortKey<Load>{by_name, nullptr}};
using Call = const CallPair*;
constexpr std::array call_keys{
    SortKey<Call>{"count", [](const Call& c) { return double(c->count); }},
    SortKey<Call>{by_name, nullptr}};
constexpr std::array caller_keys{
    SortKey<CallerOfFunction>{"count", [](const CallerOfFunction& c) { return double(c.count); }},
    SortKey<CallerOfFunction>{"share",
                              [](const CallerOfFunction& c) { return ratio(c.count, c.all); }},
    SortKey<CallerOfFunction>{by_name, nullptr}};
using MethodOf = const Method*;
constexpr std::array method_keys{
    SortKey<MethodOf>{"instructions",
                      [](const MethodOf& m) { return double(m->instructions.value_or(0)); }},
    SortKey<MethodOf>{"entries", [](const MethodOf& m) { return double(m->entries); }},
    SortKey<MethodOf>{"backedges", [](const MethodOf& m) { return double(m->back_edges); }},
    SortKey<MethodOf>{by_name, nullptr}};
using HazardOf = const Hazard*;
constexpr std::array hazard_keys{
    SortKey<HazardOf>{"count", [](const HazardOf& h) { return double(h->count); }},
    SortKey<HazardOf>{by_name, nullptr}};
using Address = const AddressPattern*;
constexpr std::array address_keys{
    SortKey<Address>{"count", [](const Address& a) { return double(a->moves.count()); }},
    SortKey<Address>{by_name, nullptr}};
constexpr std::array row_keys{
    SortKey<RecordRow>{"count", [](const RecordRow& row) { return double(row.heat); }},
    SortKey<RecordRow>{by_name, nullptr}};
constexpr std::array cost_row_keys{
    SortKey<RecordRow>{"cost", [](const RecordRow& row) { return double(row.heat); }},
    SortKey<RecordRow>{"count", [](const RecordRow& row) { return double(row.count); }},
    SortKey<RecordRow>{by_name, nullptr}};
using Stream = const DataStream*;
constexpr std::array stream_keys{
    SortKey<Stream>{"references", [](const Stream& s) { return double(s->heat()); }},
    SortKey<Stream>{"length", [](const Stream& s) { return double(s->references.size()); }},
    SortKey<Stream>{by_name, nullptr}};

class FullLists {
  public:
    FullLists(const Profile& profile, SymbolSource& symbols, const ListRequest& request,
              ListSink& sink)
        : profile_(profile),
          symbols_(symbols),
          request_(request),
          filter_(request.places, profile.modules),
          sink_(sink) {}

    void functions() {
        auto hot = hot_functions(profile_, symbols_, request_.weight);
        show(
            hot.list, function_keys, [](const HotFunction& f) { return f.at; },
            [&](const auto& list) { sink_.functions(list, hot.unit); });
    }
    void scripts() {
        show(
            hot_scripts(profile_, StackWeight::instructions), script_keys,
            [](const HotScriptFunction& f) { return f.at; },
            [&](const auto& list) { sink_.scripts(list, StackWeight::instructions); });
    }
    // A path belongs to all functions of its blocks.
    void paths() {
        auto hot = hot_paths(profile_, SIZE_MAX);
        std::erase_if(hot, [&](const HotPath& path) {
            const auto& blocks = path.path->blocks;
            return blocks.empty() || std::none_of(blocks.begin(), blocks.end(),
                                                  [&](CodeLocation at) { return is_meant(at); });
        });
        show_filtered(
            hot, path_keys, [](const HotPath& p) { return p.path->blocks.front(); },
            [&](const auto& list) { sink_.paths(list); });
    }
    void branches() {
        show(
            hot_branches(profile_, SIZE_MAX), branch_keys,
            [](const HotBranch& b) { return b.from; },
            [&](const auto& list) { sink_.branches(list); });
    }
    void values() {
        show(
            all_of(profile_.values), value_keys, [](Value v) { return v->at; },
            [&](const auto& list) { sink_.values(list); });
    }
    void loads() {
        show(
            all_of(profile_.latency), load_keys, [](Load l) { return l->at; },
            [&](const auto& list) { sink_.loads(list); });
    }
    void calls() {
        show(
            all_of(profile_.calls), call_keys, [](Call c) { return c->site; },
            [&](const auto& list) { sink_.calls(list); });
    }
    void callers() {
        show(
            callers_of_functions(profile_, symbols_), caller_keys,
            [](const CallerOfFunction& c) { return c.callee; },
            [&](const auto& list) { sink_.callers(list); });
    }
    // Probes are shown in the order in which they were asked for.
    void probes() {
        for (const ProbeProfile& probe : profile_.probes) sink_.probe(probe, request_.top);
        sink_.end(profile_.probes.size(), profile_.probes.size());
    }
    void methods() {
        show(
            all_of(profile_.methods), method_keys, [](MethodOf m) { return m->entry; },
            [&](const auto& list) { sink_.methods(list); });
    }
    void hazards() {
        show(
            all_of(profile_.hazards), hazard_keys, [](HazardOf h) { return h->second; },
            [&](const auto& list) { sink_.hazards(list); });
    }
    void addresses() {
        show(
            all_of(profile_.addresses), address_keys, [](Address a) { return a->at; },
            [&](const auto& list) { sink_.addresses(list); });
    }
    void streams() {
        show(
            all_of(profile_.streams), stream_keys,
            [](Stream s) {
                return s->references.empty() ? CodeLocation{} : s->references.front().at;
            },
            [&](const auto& list) { sink_.streams(list); });
    }

    // Prints the table of a kind without a list of its own.
    void table(std::string_view word) {
        const auto tables = kind_tables(profile_);
        const auto found = std::ranges::find(tables, word, &KindTable::word);
        if (found == tables.end()) return sink_.end(0, 0);
        const auto at = [](const RecordRow& row) { return row.at().value_or(CodeLocation{}); };
        const auto print = [&](const auto& list) { sink_.table(list, *found); };
        found->costs.empty() ? show(found->rows, row_keys, at, print)
                             : show(found->rows, cost_row_keys, at, print);
    }

  private:
    bool is_meant(CodeLocation at) { return filter_.matches(symbols_, at); }

    template <typename T, typename Keys, typename At, typename Print>
    void show(std::vector<T> list, const Keys& keys, At at, Print print) {
        std::erase_if(list, [&](const T& each) { return !is_meant(at(each)); });
        show_filtered(std::move(list), keys, at, print);
    }

    template <typename T, typename Keys, typename At, typename Print>
    void show_filtered(std::vector<T> list, const Keys& keys, At at, Print print) {
        sort(list, keys, at);
        const std::size_t all = list.size();
        if (request_.top != 0 && list.size() > request_.top)
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(request_.top), list.end());
        print(std::span<const T>(list));
        sink_.end(all, list.size());
    }

    template <typename T, typename Keys, typename At>
    void sort(std::vector<T>& list, const Keys& keys, At at) {
        const auto* key = std::find_if(keys.begin(), keys.end(), [&](const SortKey<T>& each) {
            return request_.sort.empty() || each.name == request_.sort;
        });
        if (key->amount) {
            std::stable_sort(list.begin(), list.end(), [&](const T& a, const T& b) {
                return key->amount(a) > key->amount(b);
            });
            return;
        }
        std::vector<std::pair<std::string, T>> named;
        for (const T& each : list)
            named.emplace_back(location_name(profile_.modules, symbols_, at(each)), each);
        std::stable_sort(named.begin(), named.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        std::transform(named.begin(), named.end(), list.begin(),
                       [](const auto& each) { return each.second; });
    }

    const Profile& profile_;
    SymbolSource& symbols_;
    const ListRequest& request_;
    PlaceFilter filter_;
    ListSink& sink_;
};

template <typename Keys>
std::vector<std::string_view> names_of(const Keys& keys) {
    std::vector<std::string_view> names;
    for (const auto& key : keys) names.push_back(key.name);
    return names;
}

struct ListRow {
    std::string_view name, plural;
    std::vector<std::string_view> keys;
    void (FullLists::*print)();  // null: FullLists::table()
};

std::vector<ListRow> all_rows() {
    std::vector<ListRow> rows{
        ListRow{"function", "functions", names_of(function_keys), &FullLists::functions},
        ListRow{"script", "functions of scripts", names_of(script_keys), &FullLists::scripts},
        ListRow{"path", "paths", names_of(path_keys), &FullLists::paths},
        ListRow{"edge", "edges", names_of(branch_keys), &FullLists::branches},
        ListRow{"value", "values", names_of(value_keys), &FullLists::values},
        ListRow{"latency", "latencies of loads", names_of(load_keys), &FullLists::loads},
        ListRow{"call", "calls", names_of(call_keys), &FullLists::calls},
        ListRow{"caller", "callers", names_of(caller_keys), &FullLists::callers},
        ListRow{"method", "methods", names_of(method_keys), &FullLists::methods},
        ListRow{"hazard", "hazards", names_of(hazard_keys), &FullLists::hazards},
        ListRow{"address", "addresses of loads", names_of(address_keys), &FullLists::addresses},
        ListRow{"stream", "data streams", names_of(stream_keys), &FullLists::streams},
        ListRow{"probe", "probes", {}, &FullLists::probes}};
    for (const KindTable& table : kind_tables(Profile{}))
        rows.push_back({table.word, table.names.plural,
                        table.costs.empty() ? names_of(row_keys) : names_of(cost_row_keys),
                        nullptr});
    return rows;
}

std::span<const ListRow> list_rows() {
    static const auto rows = all_rows();
    return rows;
}

// " in functions 'parse_*' in files 'libc.so.6'"
std::string place_text(const PlaceRequest& places) {
    std::string text;
    if (!places.function.empty())
        text += fmt::format(" in functions '{}'", printable(places.function));
    if (!places.module.empty()) text += fmt::format(" in files '{}'", printable(places.module));
    if (places.own_only) text += " in the program's own code";
    return text.empty() ? " in the profile" : text;
}

class TextLists final : public ListSink {
  public:
    TextLists(const Profile& profile, SymbolSource& symbols, const ListRequest& request,
              TextPage& page)
        : request_(request), page_(page), printer_(profile, symbols, page) {}

    void begin(std::string_view, std::string_view plural, std::string_view) override {
        plural_ = plural;
    }
    void end(std::size_t all, std::size_t shown) override {
        if (all > shown) page_.line(fmt::format("  and {} more", all - shown));
        if (all == 0) page_.line(fmt::format("no {}{}", plural_, place_text(request_.places)));
    }
    void functions(std::span<const HotFunction> list, FunctionWeight unit) override {
        printer_.functions(list, unit);
    }
    void scripts(std::span<const HotScriptFunction> list, StackWeight weight) override {
        printer_.scripts(list, weight);
    }
    void paths(std::span<const HotPath> list) override { printer_.paths(list); }
    void branches(std::span<const HotBranch> list) override { printer_.branches(list); }
    void values(std::span<const ValueProfile* const> list) override {
        printer_.values(list, "Values, most frequent ones");
    }
    void loads(std::span<const LoadLatency* const> list) override { printer_.loads(list); }
    void calls(std::span<const CallPair* const> list) override { printer_.calls(list); }
    void callers(std::span<const CallerOfFunction> list) override { printer_.callers(list); }
    void probe(const ProbeProfile& probe, std::size_t most) override {
        printer_.probe(probe, most);
    }
    void methods(std::span<const Method* const> list) override { printer_.methods(list); }
    void hazards(std::span<const Hazard* const> list) override { printer_.hazards(list); }
    void addresses(std::span<const AddressPattern* const> list) override {
        printer_.addresses(list, "Loads by how their addresses follow each other");
    }
    void streams(std::span<const DataStream* const> list) override { printer_.streams(list); }
    void table(std::span<const RecordRow> list, const KindTable& table) override {
        printer_.table(list, table);
    }

  private:
    const ListRequest& request_;
    TextPage& page_;
    ListPrinter printer_;
    std::string_view plural_;
};

const ListRow* find_row(std::string_view name) {
    const auto rows = list_rows();
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const ListRow& row) { return row.name == name; });
    return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string_view> list_names() {
    std::vector<std::string_view> names;
    for (const ListRow& row : list_rows()) names.push_back(row.name);
    return names;
}

std::vector<std::string_view> sort_keys() {
    std::vector<std::string_view> keys;
    for (const ListRow& row : list_rows())
        for (const std::string_view key : row.keys)
            if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    return keys;
}

Result<void> check(const ListRequest& request) {
    for (const std::string& name : request.by) {
        const ListRow* row = find_row(name);
        if (row == nullptr) return bad_option_value("--by", printable(name), list_names());
        const bool is_whole = row->keys.empty();
        if (is_whole && (!request.sort.empty() || !request.places.is_all()))
            return Error{
                ErrorCode::usage, 0,
                fmt::format("--by={} shows all in its order; --sort, --filter, --module and "
                            "--user cannot be used with it",
                            name)};
        if (!request.sort.empty() &&
            std::find(row->keys.begin(), row->keys.end(), request.sort) == row->keys.end())
            return bad_option_value(fmt::format("--by={} --sort", name), printable(request.sort),
                                    row->keys);
    }
    return {};
}

void for_each_list(const Profile& profile, SymbolSource& symbols, const ListRequest& request,
                   ListSink& sink) {
    FullLists lists(profile, symbols, request, sink);
    for (const std::string& name : request.by) {
        const ListRow& row = *find_row(name);
        const std::string_view usual = row.keys.empty() ? "" : row.keys.front();
        sink.begin(row.name, row.plural, request.sort.empty() ? usual : request.sort);
        row.print ? (lists.*row.print)() : lists.table(row.name);
    }
}

void print_lists(const Profile& profile, SymbolSource& symbols, const ListRequest& request,
                 TextPage& page) {
    TextLists text(profile, symbols, request, page);
    for_each_list(profile, symbols, request, text);
}

}  // namespace shadowprof
