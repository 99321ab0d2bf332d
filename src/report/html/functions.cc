// Writes the functions of the page, with their costs alone and including callees.
#include <array>
#include <set>
#include <span>
#include <string_view>

#include "base/text/text_format.h"
#include "report/html/page_data.h"
#include "report/lists/frames.h"
#include "report/lists/methods.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

// The last ones are by the other weight, if there is one.
constexpr std::array<std::string_view, 17> columns = {
    "name",  "arguments",  "module",      "start",       "self",       "share",
    "error", "total",      "entries",     "back_edges",  "file",       "line",
    "code",  "other_self", "other_share", "other_error", "other_total"};
constexpr std::size_t usual_columns = 13;

struct FunctionFacts {
    // By PageData::weight, and by PageData::other.
    const HotFunction *hot = nullptr, *hot_by_other = nullptr;
    std::uint64_t with_callees = 0, with_callees_by_other = 0;
    const Method* method = nullptr;
    bool has_code = false;  // whether its code is in the page
};

class FunctionList {
  public:
    explicit FunctionList(const PageData& page)
        : page_(page), methods_(derive_methods(page.profile, page.annotator.symbols())) {
        for (const HotFunction& hot : page.annotator.functions().list) facts(hot.at).hot = &hot;
        if (page.other)
            for (const HotFunction& hot : page.other->functions.list)
                facts(hot.at).hot_by_other = &hot;
        for (const Method& method : methods_) facts(method.entry).method = &method;
        for (const Stack& stack : page.profile.stacks) add(stack);
    }

    void write(const std::vector<std::size_t>& with_code, JsonWriter& json) {
        for (const std::size_t function : with_code) at(function).has_code = true;
        json.begin_object();
        json.member("unit", page_.annotator.functions().unit == FunctionWeight::blocks
                                ? "blocks entered"
                                : name(page_.weight));
        if (page_.other) json.member("other_unit", name(page_.other->weight));
        json.member("sampled", !page_.profile.sampling.exact.has_value());
        write_modules(json);
        json.key("functions");
        begin_table(json, page_.other ? std::span<const std::string_view>(columns)
                                      : std::span(columns).first(usual_columns));
        // Writing must not add functions; looking up names only reads symbols.
        const auto& functions = page_.places.functions();
        for (std::size_t i = 0; i < functions.size(); ++i) write_row(functions[i], at(i), json);
        end_table(json);
        json.end_object();
    }

  private:
    FunctionFacts& at(std::size_t function) {
        if (function >= facts_.size()) facts_.resize(function + 1);
        return facts_[function];
    }
    FunctionFacts& facts(CodeLocation location) { return at(page_.places.function(location)); }

    // A function counts once even if it is in a stack several times.
    void add(const Stack& stack) {
        std::set<std::size_t> in_stack;
        for (const CodeLocation frame : stack.frames)
            if (const auto function = page_.places.function(frame);
                in_stack.insert(function).second) {
                at(function).with_callees += amount(stack, page_.weight);
                if (page_.other)
                    at(function).with_callees_by_other += amount(stack, page_.other->weight);
            }
    }

    void write_modules(JsonWriter& json) {
        json.key("modules");
        begin_table(json, {"name", "path", "build_id"});
        const auto& modules = page_.profile.modules;
        for (std::size_t i = 0; i < modules.size(); ++i) {
            json.begin_array();
            json.value(module_name(modules, static_cast<std::uint32_t>(i)));
            json.value(printable(modules[i].path));
            json.value(printable(modules[i].build_id));
            json.end_array();
        }
        end_table(json);
    }

    void write_row(const LocationTable::Function& function, const FunctionFacts& facts,
                   JsonWriter& json) {
        auto& symbols = page_.annotator.symbols();
        const auto& modules = page_.profile.modules;
        // The full name is the name and what follows it. Where more than its end was left out, the
        // full one is the name.
        const auto full = full_function_name(modules, symbols, function.somewhere);
        auto name = function_name(modules, symbols, function.somewhere);
        if (!full.starts_with(name)) name = full;
        const CodeSymbol& begin = symbols.symbol(function.at());
        json.begin_array();
        json.value(name);
        if (full == name)
            json.null();
        else
            json.value(std::string_view(full).substr(name.size()));
        json.value(function.module);
        if (function.start)
            json.value(hex_text(*function.start));
        else
            json.null();
        json.value(facts.hot ? facts.hot->weight : 0);
        json.value(facts.hot ? facts.hot->share : 0.0);
        json.value(facts.hot ? facts.hot->error : std::nullopt);
        json.value(facts.with_callees);
        json.value(facts.method ? facts.method->entries : 0);
        json.value(facts.method ? facts.method->back_edges : 0);
        json.value(printable(begin.file));
        json.value(begin.line);
        json.value(facts.has_code);
        if (page_.other) {
            const HotFunction* other = facts.hot_by_other;
            json.value(other ? other->weight : 0);
            json.value(other ? other->share : 0.0);
            json.value(other ? other->error : std::nullopt);
            json.value(facts.with_callees_by_other);
        }
        json.end_array();
    }

    const PageData& page_;
    std::vector<Method> methods_;
    std::vector<FunctionFacts> facts_;
};

}  // namespace

void write_functions(const PageData& page, const std::vector<std::size_t>& with_code,
                     JsonWriter& json) {
    FunctionList(page).write(with_code, json);
}

void write_places(const PageData& page, JsonWriter& json) {
    json.begin_object();
    page.places.write(json);
    json.end_object();
}

}  // namespace shadowprof
