#include "report/text/list_printer.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/text_format.h"
#include "report/lists/frames.h"
#include "report/lists/place_filter.h"
#include "report/symbols/location_name.h"
#include "report/text/facts_text.h"
#include "report/text/path_text.h"
#include "report/text/probe_summary.h"
#include "report/text/run_text.h"

namespace shadowprof {
namespace {

// With `others`, the share by the other weight is shown too.
std::string functions_title(const HotFunction& first, FunctionWeight unit, bool others) {
    const bool is_ranked = !is_few(first.share, first.error);
    const std::string_view list = is_ranked ? "Hottest functions" : "Functions, too few to rank";
    switch (unit) {
        case FunctionWeight::blocks:
            return fmt::format("{}, by basic blocks entered", list);
        case FunctionWeight::time:
            return fmt::format("{}, by time of their own{}", list,
                               others ? "; then their share of the instructions" : "");
        case FunctionWeight::instructions:
            break;
    }
    return fmt::format("{}, by instructions of their own{}", list,
                       others ? "; then their share of the time" : "");
}

}  // namespace

std::string ListPrinter::name(CodeLocation location) {
    return location_name(profile_.modules, symbols_, location);
}

std::string ListPrinter::name_in(CodeLocation location, std::size_t width) {
    return pad(fit(name(location), width), width);
}

std::string ListPrinter::source(CodeLocation location) {
    return source_name(symbols_.symbol(location));
}

std::string ListPrinter::source_if_wide(CodeLocation location) {
    constexpr std::size_t wide = 80;
    return page_.width() < wide ? "" : source(location);
}

std::string ListPrinter::with_instruction(std::string left, CodeLocation at,
                                          const std::string& facts, const std::string& right) {
    constexpr std::size_t min_useful = 12;
    const std::size_t tail = right.empty() ? 0 : 2 + std::min(columns(right), page_.right_width());
    const std::size_t taken = columns(left) + columns(facts) + tail + 2;
    if (taken + min_useful <= page_.width())
        left += "  " + fit(printable(symbols_.instruction_text(at)), page_.width() - taken);
    return left + facts;
}

void ListPrinter::processes(std::size_t most) {
    page_.title("Processes, by instructions");
    const auto& list = profile_.processes;
    const std::size_t shown = list.size() > most ? most - 1 : list.size();
    double all = static_cast<double>(profile_.other_processes.instructions);
    for (const ProcessInfo& each : list) all += static_cast<double>(each.instructions);
    for (std::size_t i = 0; i < shown; ++i) process(list[i], all);
    const std::uint64_t more = list.size() - shown + profile_.other_processes.count;
    if (more > 0) page_.line(fmt::format("  and {} more in the profile", more));
}

void ListPrinter::process(const ProcessInfo& process, double all) {
    const auto instructions = static_cast<double>(process.instructions);
    page_.line(fmt::format("{:>7} {:>8}  {}", percent(ratio(instructions, all)),
                           short_count(instructions), command_text(process.command)),
               fmt::format("pid {}, {}", process.pid, short_duration(process.seconds)));
}

void ListPrinter::functions(std::span<const HotFunction> list, FunctionWeight unit) {
    if (list.empty()) return;
    const bool has_others =
        std::any_of(list.begin(), list.end(), [](const auto& f) { return f.other_share; });
    page_.title(functions_title(list.front(), unit, has_others));
    const std::size_t margins = margin_width(list);
    for (const HotFunction& each : list) {
        const auto amount = unit == FunctionWeight::time
                                ? short_duration(static_cast<double>(each.weight) * 1e-9)
                                : count_text(each.weight);
        const auto other =
            has_others ? fmt::format(" {:>7}", percent(each.other_share.value_or(0))) : "";
        page_.line(fmt::format("{:>7}{} {:>8}{}  {}", percent(each.share),
                               pad(margin(each.share, each.error), margins), amount, other,
                               function_name(profile_.modules, symbols_, each.at)),
                   module_name(profile_.modules, each.at.module));
    }
}

void ListPrinter::scripts(std::span<const HotScriptFunction> list, StackWeight weight) {
    if (list.empty()) return;
    page_.title(
        fmt::format("Hottest functions of scripts, by {} of their own; then with what they call",
                    shadowprof::name(weight)));
    for (const HotScriptFunction& each : list) {
        const auto amount = weight == StackWeight::time
                                ? short_duration(static_cast<double>(each.own) * 1e-9)
                                : count_text(each.own);
        page_.line(fmt::format("{:>7} {:>8} {:>7}  {}", percent(each.own_share), amount,
                               percent(each.share), name(each.at)),
                   source(each.at));
    }
}

void ListPrinter::paths(std::span<const HotPath> list) {
    if (list.empty()) return;
    page_.title("Hottest paths, by instructions");
    const std::size_t margins = margin_width(list);
    for (const HotPath& each : list) path(each, margins);
}

// Prints one line if the whole path fits, else two.
void ListPrinter::path(const HotPath& hot, std::size_t margins) {
    const Path& path = *hot.path;
    const std::string left =
        fmt::format("{:>7}{} {:>8} x {} insns, {}", percent(hot.share),
                    pad(margin(hot.share, hot.error), margins), count_text(path.count),
                    path.instructions, counted(path.blocks.size(), "block"));
    const std::string where = path.blocks.empty() ? "" : source(path.blocks.front());
    const std::size_t tail = where.empty() ? 0 : 2 + std::min(columns(where), page_.right_width());
    const std::string indent(18 + margins, ' ');
    const std::string chain =
        path_text(path.blocks, profile_.modules, symbols_, page_.width() - indent.size());
    if (columns(left) + 2 + columns(chain) + tail <= page_.width())
        return page_.line(fmt::format("{}: {}", left, chain), where);
    page_.line(left, where);
    page_.line(indent + chain);
}

void ListPrinter::branches(std::span<const HotBranch> list) {
    if (list.empty()) return;
    const double total = sum_of_counts(profile_.edges);
    page_.title("Hottest branches, by executions");
    struct Share {
        double share = 0;
        std::optional<double> error;
    };
    std::vector<Share> shares;
    for (const HotBranch& branch : list)
        shares.push_back(
            {ratio(static_cast<double>(branch.count), total),
             branch.error ? std::optional(ratio(*branch.error, total)) : std::nullopt});
    const std::size_t margins = margin_width(shares);
    for (std::size_t i = 0; i < list.size(); ++i)
        page_.line(
            fmt::format("{:>7}{} {:>8}  {}  {}", percent(shares[i].share),
                        pad(margin(shares[i].share, shares[i].error), margins),
                        count_text(list[i].count), name_in(list[i].from, page_.name_column()),
                        outcome_text(list[i], profile_.modules, symbols_)),
            source_if_wide(list[i].from));
}

void ListPrinter::values(std::span<const ValueProfile* const> list, std::string_view title) {
    if (list.empty()) return;
    page_.title(title);
    for (const ValueProfile* value : list) {
        const std::string left = fmt::format("{:>8}  {}", count_text(value->count),
                                             name_in(value->at, page_.name_column()));
        const std::string where = source_if_wide(value->at);
        const std::string facts = value->top.empty() ? "" : "  " + value_text(*value);
        page_.line(with_instruction(left, value->at, facts, where), where);
    }
}

void ListPrinter::caller_dependent(std::span<const CallerDependence> list, std::size_t callers,
                                   std::string_view title) {
    if (list.empty()) return;
    page_.title(title);
    for (const CallerDependence& each : list) {
        const ValueProfile& value = *each.value;
        page_.line(fmt::format("{:>8}  {}  {}: {} by caller, {} in all", count_text(value.count),
                               name_in(value.at, page_.name_column()), printable(value.operand),
                               percent(each.invariance), percent(share_of(value.invariance))),
                   source_if_wide(value.at));
        for (std::size_t i = 0; i < std::min(value.by_caller.size(), callers); ++i) {
            const CallerValues& by = value.by_caller[i];
            if (by.top.empty()) continue;
            page_.line(fmt::format("{:>8}    from {} = {} ({})", count_text(by.count),
                                   fit(name(by.callers.front()), page_.name_column()),
                                   short_value(by.top.front().value, value.type),
                                   invariance_text(by.invariance)));
        }
    }
}

void ListPrinter::hazards(std::span<const Hazard* const> list) {
    if (list.empty()) return;
    page_.title("Memory hazards, by executions");
    for (const Hazard* each : list)
        page_.line(fmt::format("{:>7} {:>8}  {}  {}", percent(ratio(each->count, each->executions)),
                               count_text(each->count), name_in(each->second, page_.name_column()),
                               hazard_text(*each, profile_.modules, symbols_)),
                   source_if_wide(each->second));
}

void ListPrinter::addresses(std::span<const AddressPattern* const> list, std::string_view title) {
    if (list.empty()) return;
    page_.title(title);
    for (const AddressPattern* each : list)
        page_.line(fmt::format("{:>8}  {}  {}", count_text(each->moves.count()),
                               name_in(each->at, page_.name_column()), pattern_text(each->moves)),
                   source_if_wide(each->at));
}

// "walk, next": the functions of its references, in their order.
std::string ListPrinter::functions_of(const DataStream& stream) {
    std::vector<std::string> names;
    for (const DataReference& reference : stream.references) {
        const auto function = full_function_name(profile_.modules, symbols_, reference.at);
        if (std::find(names.begin(), names.end(), function) == names.end())
            names.push_back(function);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

void ListPrinter::streams(std::span<const DataStream* const> list) {
    if (list.empty()) return;
    page_.title("Hottest data streams, by references");
    const auto& counters = profile_.sampling.counters;
    const auto counter = counters.find("stream_references");
    const auto all = counter == counters.end() ? 0 : counter->second;
    for (const DataStream* each : list)
        page_.line(fmt::format("{:>7} {:>8} x {} refs  {}", percent(ratio(each->heat(), all)),
                               count_text(each->occurrences), each->references.size(),
                               functions_of(*each)));
}

void ListPrinter::loads(std::span<const LoadLatency* const> list) {
    if (list.empty()) return;
    double all = 0;
    for (const LoadLatency& load : profile_.latency) all += static_cast<double>(load.lost_cycles);
    page_.title("Loads, by cycles lost to misses");
    // The text after the name is long.
    const std::size_t wide = page_.name_column();
    const std::size_t name_width = wide - std::min<std::size_t>(wide / 2, 10);
    for (const LoadLatency* load : list) {
        std::string left =
            fmt::format("{:>7} {:>8}  {}  {}; median {:.0f}",
                        percent(ratio(static_cast<double>(load->lost_cycles), all)),
                        count_text(load->count()), name_in(load->at, name_width),
                        level_shares_text(*load, profile_.latency_host), load->median_cycles());
        if (load->moves.count() != 0) left += "; " + pattern_text(load->moves);
        left += crossings_text(*load);
        const std::string where = source_if_wide(load->at);
        page_.line(with_instruction(std::move(left), load->at, "", where), where);
    }
}

void ListPrinter::calls(std::span<const CallPair* const> list) {
    if (list.empty()) return;
    double all = 0;
    for (const CallPair& call : profile_.calls) all += static_cast<double>(call.count);
    page_.title("Hottest calls");
    for (const CallPair* call : list)
        page_.line(fmt::format("{:>7} {:>8}  {}  -> {}",
                               percent(ratio(static_cast<double>(call->count), all)),
                               count_text(call->count), name_in(call->site, page_.name_column()),
                               function_name(profile_.modules, symbols_, call->callee)),
                   source_if_wide(call->site));
}

void ListPrinter::callers(std::span<const CallerOfFunction> list) {
    if (list.empty()) return;
    page_.title("Calls of functions, by caller: share of the function's calls, calls");
    for (const CallerOfFunction& each : list) {
        std::string left = fmt::format(
            "{:>7} {:>8}  {}  <- {}", percent(ratio(each.count, each.all)), count_text(each.count),
            pad(fit(function_name(profile_.modules, symbols_, each.callee), page_.name_column()),
                page_.name_column()),
            function_name(profile_.modules, symbols_, each.site));
        if (each.sites > 1) left += fmt::format(", {}", counted(each.sites, "place"));
        page_.line(left, source_if_wide(each.site));
    }
}

void ListPrinter::probe(const ProbeProfile& probe, std::size_t most) {
    page_.title(probe_title(probe));
    for (const std::string& text : probe_lines(probe, profile_.modules, symbols_,
                                               most == 0 ? SIZE_MAX : most, page_.name_column()))
        page_.line(text);
}

void ListPrinter::methods(std::span<const Method* const> list) {
    if (list.empty()) return;
    page_.title("Hottest methods: instructions of their own, entries, back-edges");
    for (const Method* method : list)
        page_.line(fmt::format("{:>8} {:>8} {:>8}  {}",
                               method->instructions ? count_text(*method->instructions) : "-",
                               count_text(method->entries), count_text(method->back_edges),
                               function_name(profile_.modules, symbols_, method->entry)),
                   module_name(profile_.modules, method->entry.module));
}

// Returns the first places of a list, as many as fit.
// Where there is no room for all, the functions of system libraries that the program's own code has
// called are left out, but for the one that it called itself.
std::string ListPrinter::places_text(std::span<const CodeLocation> places, std::size_t width) {
    constexpr std::string_view behind = " < ", more = " < ..";
    std::size_t all = 0;
    for (const CodeLocation at : places) all += columns(name(at)) + behind.size();
    const auto own = std::ranges::find_if(places, [&](CodeLocation at) {
        return !is_system_library(profile_.modules.at(at.module).path);
    });
    if (all > width && own != places.end())
        places = places.subspan(
            static_cast<std::size_t>(std::max<std::ptrdiff_t>(own - places.begin() - 1, 0)));
    std::string names;
    for (const CodeLocation at : places) {
        const auto next = name(at);
        const auto taken = columns(names) + behind.size() + columns(next);
        if (!names.empty() && taken + more.size() > width) return names += more;
        if (!names.empty()) names += behind;
        names += next;
    }
    return names;
}

// Returns an empty string for an empty cell, and for nothing counted.
std::string ListPrinter::cell_text(const RecordCell& cell, std::size_t width) {
    if (const auto* text = std::get_if<std::string>(&cell.content)) return printable(*text);
    if (const auto* count = std::get_if<std::optional<std::uint64_t>>(&cell.content))
        return count->value_or(0) != 0 ? fmt::format("{} {}", count_text(**count), cell.name) : "";
    if (const auto* place = std::get_if<std::optional<CodeLocation>>(&cell.content))
        return *place ? name(**place) : "";
    return places_text(std::get<std::vector<CodeLocation>>(cell.content), width);
}

// Whether a cell is no number, and not the place itself.
bool ListPrinter::tells_who(const RecordCell& cell) {
    return std::holds_alternative<std::string>(cell.content) ||
           std::holds_alternative<std::vector<CodeLocation>>(cell.content);
}

// The amount that rows are sorted by comes first and is not repeated.
void ListPrinter::table(std::span<const RecordRow> list, const KindTable& table) {
    if (list.empty()) return;
    double all = 0;
    for (const RecordRow& row : table.rows) all += static_cast<double>(row.heat);
    page_.title(table.names.title);
    if (!table.costs.empty()) page_.line("  by " + table.costs);
    for (const RecordRow& row : list) {
        // Where threads wait is told by the callers of the call.
        const bool shows_place = row.at() && !table.names.is_time;
        const auto where = shows_place ? source_if_wide(*row.at()) : "";
        const auto room = page_.width() - std::min(columns(where) + 2, page_.right_width() + 2);
        const auto amount = table.names.is_time
                                ? short_duration(static_cast<double>(row.heat) * 1e-9)
                                : count_text(row.heat);
        std::string line =
            fmt::format("{:>7} {:>8}", percent(ratio(static_cast<double>(row.heat), all)), amount);
        for (const RecordCell& cell : row.cells) {
            if (cell.name == "count" || cell.name == "error") continue;
            if (table.names.is_time && !tells_who(cell)) continue;
            const auto left = room - std::min(room, columns(line) + 2);
            if (const auto text = cell_text(cell, left); !text.empty()) line += "  " + text;
        }
        page_.line(line, where);
    }
}

}  // namespace shadowprof
