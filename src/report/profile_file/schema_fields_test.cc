// The schema of profiles has exactly the fields that kinds describe.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "profile/kinds/registry.h"
#include "report/testdata/sample_profile.h"

namespace shadowprof::schema_fields_test {
namespace {

using Json = nlohmann::json;

// The fields of one record by name, and those of the objects in them.
struct Fields {
    bool is_always_there = true;
    std::map<std::string, Fields> inner = {};
};

// Collects each field that a record describes, whether it is written or not.
class FieldNames {
  public:
    static constexpr bool reads = false;

    explicit FieldNames(Fields& seen) : seen_(seen) {}

    void location(std::string_view name, const auto&) { note(name); }
    void location_if(bool, std::string_view name, const auto&) { note_optional(name); }
    void locations(std::string_view name, const auto&) { note(name); }
    void references(std::string_view name, const auto&, std::size_t) { note(name); }
    void count(std::string_view name, const auto&) { note(name); }
    void count_up_to(std::string_view name, const auto&, std::uint64_t) { note(name); }
    void known_count(std::string_view name, const auto&) { note_optional(name); }
    void nullable_count(std::string_view name, const auto&) { note(name); }
    void nonzero_count(std::string_view name, const auto&) { note_optional(name); }
    void timed_count(std::string_view name, const auto&) { note_optional(name); }
    void added_count(std::string_view name, const auto&) { note_optional(name); }
    void count_or(std::string_view name, const auto&, std::string_view) { note_optional(name); }
    void integer(std::string_view name, const auto&) { note(name); }
    void hex(std::string_view name, const auto&) { note(name); }
    void number(std::string_view name, const auto&) { note(name); }
    void renamed_number(std::string_view name, const auto&, std::string_view) { note(name); }
    void known_number(std::string_view name, const auto&) { note_optional(name); }
    void known_nonzero_number(std::string_view name, const auto&) { note_optional(name); }
    void nullable_number(std::string_view name, const auto&) { note(name); }
    void text(std::string_view name, const auto&) { note(name); }
    void text_or_null(std::string_view name, const auto&) { note(name); }
    void choice(std::string_view name, const auto&, const auto&) { note(name); }
    void encoded(std::string_view name, const auto&, const auto&, std::string_view) { note(name); }
    void derived(std::string_view name, const auto&) { note(name); }
    void words(std::string_view name, const auto&) { note(name); }
    void small_counts(std::string_view name, const auto&) { note(name); }
    void columns(std::string_view name, const auto&, const auto& columns) {
        Fields& lists = note(name);
        const auto add = [&](const auto& column) { lists.inner[std::string(column.name)]; };
        std::apply([&](const auto&... column) { (add(column), ...); }, columns);
    }
    void map(std::string_view name, const auto&) { note(name); }
    void pairs(std::string_view name, const auto&, const auto&) { note(name); }
    void pairs_of_several(std::string_view name, const auto&, const auto&) { note_optional(name); }
    void object(std::string_view name, const auto& each) {
        FieldNames inner(note(name));
        each(inner);
    }
    void object_if(bool, std::string_view name, const auto& each) {
        FieldNames inner(note_optional(name));
        each(inner);
    }
    void list(std::string_view name, const auto& items, const auto& each) {
        take(note(name), items, each);
    }
    void parts(std::string_view name, const auto& items, const auto& each) {
        take(note_optional(name), items, each);
    }

  private:
    Fields& note(std::string_view name) { return seen_.inner[std::string(name)]; }
    Fields& note_optional(std::string_view name) {
        Fields& field = note(name);
        field.is_always_there = false;
        return field;
    }
    static void take(Fields& list, const auto& items, const auto& each) {
        for (const auto& item : items) {
            FieldNames inner(list);
            each(inner, item);
        }
    }

    Fields& seen_;
};

// Returns the node, or the one that it refers to.
const Json& resolved(const Json& schema, const Json& node) {
    const auto reference = node.find("$ref");
    if (reference == node.end()) return node;
    return schema.at(Json::json_pointer(reference->get<std::string>().substr(1)));
}

// Returns the properties of an object and of the schemas that it includes.
Json properties_of(const Json& schema, const Json& object) {
    Json all = object.value("properties", Json::object());
    for (const Json& part : object.value("allOf", Json::array()))
        if (part.contains("$ref")) all.update(properties_of(schema, resolved(schema, part)));
    return all;
}

std::string joined(const std::set<std::string>& names) {
    return fmt::format("{}", fmt::join(names, " "));
}

// The format has other names for a hazard's accesses, which shadowprof does not write.
bool is_of_others(const std::string& where, const std::string& name) {
    return where == "hazards" && (name == "first" || name == "second");
}

void check_fields(const Json& schema, const Json& node, const Fields& fields,
                  const std::string& where) {
    CAPTURE(where);
    const Json& type = resolved(schema, node);
    const Json& object = type.contains("items") ? resolved(schema, type.at("items")) : type;
    const Json properties = properties_of(schema, object);
    // An object with counts by name has any members.
    if (properties.empty() && object.contains("additionalProperties")) return;
    std::set<std::string> in_schema, described;
    for (const auto& [name, property] : properties.items())
        if (!is_of_others(where, name)) in_schema.insert(name);
    for (const auto& [name, field] : fields.inner) described.insert(name);
    CHECK(joined(in_schema) == joined(described));
    for (const auto& name : object.value("required", std::set<std::string>{})) {
        CAPTURE(name);
        const auto field = fields.inner.find(name);
        CHECK((field != fields.inner.end() && field->second.is_always_there));
    }
    for (const auto& [name, field] : fields.inner)
        if (!field.inner.empty() && properties.contains(name))
            check_fields(schema, properties.at(name), field, where + "/" + name);
}

}  // namespace

TEST_CASE("the schema has the fields of each kind, and demands none that may be missing") {
    std::ifstream file(std::getenv("PROFILE_SCHEMA"));
    const Json schema = Json::parse(file);
    Profile profile = sample_profile_with_times();
    profile.probes.push_back({.reducer = Reducer::hotlist,
                              .value = ProbeDatumKind::number,
                              .entries = {{.key = {}, .top = {{std::uint64_t{1}, 1, 0}}}}});
    for_each_kind([&]<typename Kind>() {
        Fields seen;
        FieldNames visitor(seen);
        const typename Kind::Record empty{};
        fields(visitor, empty);
        for (const auto& record : Kind::of(profile)) fields(visitor, record);
        const std::string name(Kind::name);
        check_fields(schema, schema.at("properties").at(name), seen, name);
        if constexpr (requires { Kind::host_name; }) {
            Fields seen_of_host;
            FieldNames host_visitor(seen_of_host);
            fields(host_visitor, *Kind::host_of(std::as_const(profile)));
            const std::string host_name(Kind::host_name);
            check_fields(schema, schema.at("properties").at(host_name), seen_of_host, host_name);
        }
    });
}

TEST_CASE("the schema has the fields of the timeline") {
    std::ifstream file(std::getenv("PROFILE_SCHEMA"));
    const Json schema = Json::parse(file);
    const Profile profile = sample_profile();
    Fields seen;
    FieldNames visitor(seen);
    fields(visitor, *profile.timeline);
    check_fields(schema, schema.at("properties").at("timeline"), seen, "timeline");
}

}  // namespace shadowprof::schema_fields_test
