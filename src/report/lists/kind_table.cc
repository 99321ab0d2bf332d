#include "report/lists/kind_table.h"

#include <algorithm>
#include <type_traits>

#include "report/lists/miss_costs.h"
#include "report/lists/record_columns.h"

namespace shadowprof {
namespace {

template <typename Visit>
void for_each_tabled_kind(Visit visit) {
    for_each_kind_on_request([&]<typename Kind>() {
        if constexpr (requires { Kind::table; }) visit.template operator()<Kind>();
    });
}

class CellCollector {
  public:
    explicit CellCollector(std::vector<RecordCell>& cells) : cells_(cells) {}

    void text(std::string name, std::string_view s) { add(std::move(name), std::string(s)); }
    void count(std::string name, const std::optional<std::uint64_t>& n) { add(std::move(name), n); }
    void place(std::string name, const CodeLocation* l) {
        add(std::move(name), l ? std::optional(*l) : std::nullopt);
    }
    void places(std::string name, const std::vector<CodeLocation>& list) {
        add(std::move(name), list);
    }

  private:
    template <typename Content>
    void add(std::string name, const Content& content) {
        cells_.push_back({std::move(name), content});
    }

    std::vector<RecordCell>& cells_;
};

void sort_by_cost(KindTable& table, const Profile& profile) {
    const MissCosts costs = miss_costs(profile.latency_host);
    table.costs = costs.text();
    for (std::size_t i = 0; i < table.rows.size(); ++i)
        table.rows[i].heat = costs.of(profile.cache[i]);
    std::ranges::stable_sort(table.rows, std::ranges::greater{}, &RecordRow::heat);
}

template <typename Kind>
KindTable kind_table(const Profile& profile) {
    KindTable table{Kind::option.word, Kind::table, {}, {}};
    for (const auto& record : Kind::of(profile)) {
        RecordRow& row = table.rows.emplace_back();
        row.heat = row.count = heat(record);
        CellCollector collector(row.cells);
        RecordColumns columns(collector);
        fields(columns, record);
    }
    if constexpr (std::is_same_v<Kind, CacheList>) sort_by_cost(table, profile);
    return table;
}

}  // namespace

std::optional<CodeLocation> RecordRow::at() const {
    for (const RecordCell& cell : cells) {
        const auto* place = std::get_if<std::optional<CodeLocation>>(&cell.content);
        if (place != nullptr && *place) return *place;
    }
    return std::nullopt;
}

std::vector<KindTable> kind_tables(const Profile& profile) {
    std::vector<KindTable> tables;
    for_each_tabled_kind([&]<typename Kind>() { tables.push_back(kind_table<Kind>(profile)); });
    return tables;
}

bool has_kind_tables(const Profile& profile) {
    bool has_any = false;
    for_each_tabled_kind([&]<typename Kind>() { has_any |= !Kind::of(profile).empty(); });
    return has_any;
}

}  // namespace shadowprof
