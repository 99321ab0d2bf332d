#include "report/text/lists_json.h"

#include <array>
#include <string>

#include "profile/kinds/profile_kinds.h"
#include "report/profile_file/record_writer.h"
#include "report/text/list_sink.h"

namespace shadowprof {
namespace {

constexpr std::array<std::string_view, 3> weight_units = {"instructions", "nanoseconds",
                                                          "basic blocks"};

// Places are objects here: a script need not look them up.
struct NamedPlaces {
    const std::vector<Module>& modules;
    SymbolSource& symbols;
};

void write_place(JsonWriter& json, NamedPlaces& places, CodeLocation at) {
    const CodeSymbol& symbol = places.symbols.symbol(at);
    const bool is_known = at.module < places.modules.size();
    std::optional<std::uint64_t> offset;
    if (symbol.function_start) offset = at.address - *symbol.function_start;
    json.begin_object();
    json.text_or_null("function", symbol.function);
    json.member("offset", offset);
    json.text_or_null("module", is_known ? std::string_view(places.modules[at.module].path) : "");
    json.member("address", hex_text(at.address));
    json.text_or_null("file", symbol.file);
    json.member("line", symbol.line != 0 ? std::optional(symbol.line) : std::nullopt);
    json.end_object();
}

class JsonLists final : public ListSink {
  public:
    JsonLists(const Profile& profile, SymbolSource& symbols, JsonWriter& json)
        : json_(json),
          places_{profile.modules, symbols},
          record_(json, places_, !profile.times.empty()) {}

    void begin(std::string_view name, std::string_view, std::string_view sort) override {
        json_.begin_object();
        json_.member("list", name);
        json_.text_or_null("sort", sort);
        has_entries_ = false;
    }
    void end(std::size_t all, std::size_t) override {
        if (has_entries_)
            json_.end_array();
        else
            json_.array("entries", std::array<int, 0>{}, [](int) {});
        json_.member("all", all);
        json_.end_object();
    }

    void functions(std::span<const HotFunction> list, FunctionWeight unit) override {
        json_.member("unit", weight_units.at(static_cast<std::size_t>(unit)));
        entries(list, [&](const HotFunction& f) {
            place("at", places_.symbols.function_start(f.at));
            json_.member("weight", f.weight);
            json_.member("share", f.share);
            json_.member("share_error", f.error);
            json_.member("other_share", f.other_share);
        });
    }
    void scripts(std::span<const HotScriptFunction> list, StackWeight weight) override {
        json_.member("unit", weight == StackWeight::time ? "nanoseconds" : "instructions");
        entries(list, [&](const HotScriptFunction& f) {
            place("at", f.at);
            json_.member("own", f.own);
            json_.member("own_share", f.own_share);
            json_.member("with_callees", f.with_callees);
            json_.member("share", f.share);
        });
    }
    void paths(std::span<const HotPath> list) override {
        entries(list, [&](const HotPath& p) {
            json_.member("share", p.share);
            json_.member("share_error", p.error);
            fields(record_, *p.path);
        });
    }
    void branches(std::span<const HotBranch> list) override {
        entries(list, [&](const HotBranch& b) {
            place("from", b.from);
            json_.member("kind", b.conditional() ? "conditional" : name(b.kind));
            json_.member("count", b.count);
            json_.member("error", b.error);
            json_.member("taken", b.conditional() ? std::optional(b.taken) : std::nullopt);
            place("to", b.to);
            json_.member("to_count", b.to_count);
            json_.member("targets", b.targets);
        });
    }
    void callers(std::span<const CallerOfFunction> list) override {
        entries(list, [&](const CallerOfFunction& c) {
            place("callee", c.callee);
            place("site", c.site);
            json_.member("count", c.count);
            json_.member("all", c.all);
            json_.member("sites", c.sites);
        });
    }
    void probe(const ProbeProfile& probe, std::size_t most) override {
        begin_entries();
        ProbeProfile shown = probe;
        if (most != 0) shown.entries.resize(std::min(most, shown.entries.size()));
        json_.begin_object();
        fields(record_, shown);
        json_.member("all_entries", probe.entries.size());
        json_.end_object();
    }
    void table(std::span<const RecordRow> list, const KindTable& table) override {
        entries(list, [&](const RecordRow& row) {
            if (!table.costs.empty()) json_.member("cost", row.heat);
            for (const RecordCell& each : row.cells) cell(each);
        });
    }
    void values(std::span<const ValueProfile* const> list) override { records(list); }
    void loads(std::span<const LoadLatency* const> list) override { records(list); }
    void calls(std::span<const CallPair* const> list) override { records(list); }
    void methods(std::span<const Method* const> list) override { records(list); }
    void hazards(std::span<const Hazard* const> list) override { records(list); }
    void addresses(std::span<const AddressPattern* const> list) override { records(list); }
    void streams(std::span<const DataStream* const> list) override { records(list); }

  private:
    void place(std::string_view name, CodeLocation at) { record_.location(name, at); }
    void begin_entries() {
        if (has_entries_) return;
        json_.key("entries");
        json_.begin_array();
        has_entries_ = true;
    }
    void entries(const auto& list, const auto& members) {
        begin_entries();
        for (const auto& each : list) {
            json_.begin_object();
            members(each);
            json_.end_object();
        }
    }
    // As the profile file has them, but for the places.
    void records(const auto& list) {
        entries(list, [&](const auto* each) { fields(record_, *each); });
    }
    void cell(const RecordCell& cell) {
        if (const auto* text = std::get_if<std::string>(&cell.content))
            json_.text_or_null(cell.name, *text);
        else if (const auto* count = std::get_if<std::optional<std::uint64_t>>(&cell.content))
            json_.member(cell.name, *count);
        else if (const auto* list = std::get_if<std::vector<CodeLocation>>(&cell.content))
            record_.locations(cell.name, *list);
        else if (const auto& at = std::get<std::optional<CodeLocation>>(cell.content))
            place(cell.name, *at);
        else
            json_.member(cell.name, std::optional<bool>());
    }

    JsonWriter& json_;
    NamedPlaces places_;
    RecordWriterWith<NamedPlaces> record_;
    bool has_entries_ = false;
};

}  // namespace

Result<void> write_lists_json(const Profile& profile, SymbolSource& symbols,
                              const ListRequest& request, ByteSink& sink) {
    JsonWriter json(sink);
    json.begin_object();
    json.member("schema", report_schema);
    json.array("command", profile.run.command, [&](const std::string& word) { json.value(word); });
    json.member("mode", profile.sampling.mode);
    json.member("samples", profile.sampling.samples);
    json.member("instructions", profile.sampling.instructions);
    json.member("seconds", profile.run.seconds);
    json.key("lists");
    json.begin_array();
    JsonLists lists(profile, symbols, json);
    for_each_list(profile, symbols, request, lists);
    json.end_array();
    json.end_object();
    return json.finish();
}

}  // namespace shadowprof
