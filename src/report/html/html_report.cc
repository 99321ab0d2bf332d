#include "report/html/html_report.h"

#include <algorithm>

#include "report/html/page_data.h"
#include "report/html/page_element.h"
#include "report/html/page_template.h"
#include "report/lists/kind_table.h"

namespace shadowprof {
namespace {

// The page has the code of the hottest functions, until they make up this share of the profile.
constexpr std::size_t max_code_functions = 60;
constexpr double enough_share = 0.99;

struct Part {
    std::string_view name;
    bool (*has_any)(const Profile& profile);
    void (*write)(const PageData& page, JsonWriter& json);
};

constexpr Part parts[] = {
    {"flame", [](const Profile& p) { return !p.stacks.empty(); }, write_flame},
    {"timeline", [](const Profile& p) { return p.timeline && p.timeline->has_anything(); },
     write_timeline},
    {"paths", [](const Profile& p) { return !p.paths.empty(); }, write_paths},
    {"branches", [](const Profile& p) { return !p.edges.empty(); }, write_branches},
    {"calls", [](const Profile& p) { return !p.calls.empty(); }, write_calls},
    {"values", [](const Profile& p) { return !p.values.empty(); }, write_values},
    {"loads", [](const Profile& p) { return !p.latency.empty(); }, write_loads},
    {"hazards", [](const Profile& p) { return !p.hazards.empty(); }, write_hazards},
    {"addresses", [](const Profile& p) { return !p.addresses.empty(); }, write_addresses},
    {"streams", [](const Profile& p) { return !p.streams.empty(); }, write_streams},
    {"probes", [](const Profile& p) { return !p.probes.empty(); }, write_probes},
    {"findings", [](const Profile&) { return true; }, write_findings},
    {"syscalls",
     [](const Profile& p) {
         return std::ranges::any_of(p.syscalls.by_class,
                                    [](const auto& calls) { return calls.second != 0; });
     },
     write_syscalls},
    {"kinds", has_kind_tables, write_kind_tables},
};

class HtmlReport {
  public:
    HtmlReport(ProfileFile& file, const HtmlOptions& options, ByteSink& sink)
        : annotator_(file.profile, file.symbols, options.weight),
          places_(file.profile.modules, annotator_.symbols()),
          page_{file.profile, annotator_, places_, options.source ? &sources_ : nullptr,
                options.weight},
          sink_(sink) {
        page_.other = other_weight();
    }

    Result<void> write() {
        TRY(sink_.write(page_template().before_data));
        number_hot_functions();
        for (const Part& part : parts)
            if (part.has_any(page_.profile)) TRY(element(part.name, part.write));
        if (page_.other) TRY(element("other_flame", write_other_flame));
        TRY(write_code_parts());
        TRY(element("places", write_places));
        TRY(element("functions", [&](const PageData& page, JsonWriter& json) {
            write_functions(page, with_code_, json);
        }));
        // Comes last, as its notes are about all look-ups before.
        TRY(element("overview", write_overview));
        return sink_.write(page_template().behind_data);
    }

  private:
    // Nothing if the profile has one weight alone.
    std::optional<PageData::OtherWeight> other_weight() {
        using enum StackWeight;
        const auto other = page_.weight == time ? instructions : time;
        const auto has_any = [&](const Stack& stack) { return amount(stack, other) != 0; };
        if (std::ranges::none_of(page_.profile.stacks, has_any)) return std::nullopt;
        return PageData::OtherWeight{other,
                                     hot_functions(page_.profile, annotator_.symbols(), other)};
    }
    // The hottest functions get the smallest numbers.
    void number_hot_functions() {
        for (const HotFunction& hot : annotator_.functions().list) places_.function(hot.at);
    }

    Result<void> write_code_parts() {
        double covered = 0;
        for (const HotFunction& hot : annotator_.functions().list) {
            if (with_code_.size() == max_code_functions || covered >= enough_share) break;
            covered += hot.share;
            const AnnotatedFunction& function = annotator_.annotate(hot.at);
            if (function.code.empty()) continue;
            with_code_.push_back(places_.function(hot.at));
            TRY(element(
                fmt::format("code-{}", with_code_.back()),
                [&](const PageData& page, JsonWriter& json) { write_code(page, function, json); }));
        }
        return {};
    }

    template <typename Write>
    Result<void> element(std::string_view name, Write write_data) {
        return write_page_element(sink_, name, [&](ByteSink& escaped) {
            JsonWriter json(escaped, JsonLayout::dense);
            write_data(page_, json);
            return json.finish();
        });
    }

    Annotator annotator_;
    LocationTable places_;
    SourceFiles sources_;
    PageData page_;
    ByteSink& sink_;
    std::vector<std::size_t> with_code_;
};

}  // namespace

Result<void> write_html(ProfileFile& file, const HtmlOptions& options, ByteSink& sink) {
    return HtmlReport(file, options, sink).write();
}

}  // namespace shadowprof
