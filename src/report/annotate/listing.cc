#include "report/annotate/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text/text_format.h"
#include "report/lists/hot_lists.h"
#include "report/symbols/location_name.h"
#include "report/text/facts_text.h"

namespace shadowprof {

// Sums over the instructions of a source line.
struct FunctionListing::SourceLine {
    std::uint64_t instructions = 0;  // number executed
    std::uint64_t executions = 0;    // the maximum over the instructions
    std::uint64_t time_ns = 0;
    std::vector<std::string> facts;
};

namespace {

// Longer runs of rows that were never executed are folded, except for a few at both ends.
constexpr std::size_t longest_shown_cold_run = 8, shown_of_cold_run = 2;
// The least invariance of a value that is shown.
constexpr double min_named_invariance = 0.2;
constexpr double hot_share = 0.05, warm_share = 0.01;
constexpr std::size_t max_named_targets = 3;
// Facts begin at these columns unless the line is longer.
constexpr std::size_t instruction_columns = 42, source_columns = 60;
// Number of lines shown around those with instructions.
constexpr std::uint32_t context_lines = 2;

// Whether the instruction's text already names the target.
bool is_direct(const std::vector<Successor>& successors, std::string_view text) {
    return successors.size() == 1 && text.find(" 0x") != std::string_view::npos &&
           successors.front().kind != EdgeKind::ret;
}

std::string targets_text(const AnnotatedInstruction& instruction,
                         const std::vector<Module>& modules, SymbolSource& symbols) {
    const auto& successors = instruction.successors;
    const std::uint64_t all = instruction.times_left();
    if (instruction.is_conditional())
        return fmt::format("taken {}", percent(ratio(instruction.times_taken(), all)));
    if (is_direct(successors, instruction.text)) return {};
    std::string text = "->";
    for (std::size_t i = 0; i < std::min(successors.size(), max_named_targets); ++i) {
        text += fmt::format("{} {}", i == 0 ? "" : ",",
                            location_name(modules, symbols, successors[i].to));
        if (successors.size() > 1)
            text += fmt::format(" {}", percent(ratio(successors[i].count, all)));
    }
    if (successors.size() > max_named_targets)
        text += fmt::format(", {} more", successors.size() - max_named_targets);
    return text;
}

std::string latency_text(const LoadLatency& load, const std::optional<LatencyHost>& host) {
    std::string text = level_shares_text(load, host);
    if (load.timed != 0) text += fmt::format("; median {:.0f} cycles", load.median_cycles());
    return text + crossings_text(load);
}

// Joins the first facts that fit into `width` columns. If not even one fits, it is cut.
std::string joined(const std::vector<std::string>& facts, std::size_t width) {
    std::string text;
    for (const std::string& fact : facts) {
        const std::size_t more = columns(fact) + (text.empty() ? 0 : 2);
        if (!text.empty() && columns(text) + more > width) break;
        text += (text.empty() ? "" : "; ") + fact;
    }
    return fit(text, width);
}

// Marks the rows to leave out: those in the middle of long runs of cold rows.
std::vector<bool> cold_middles(const std::vector<bool>& cold) {
    std::vector<bool> left_out(cold.size(), false);
    for (std::size_t begin = 0; begin < cold.size();) {
        std::size_t end = begin;
        while (end < cold.size() && cold[end] == cold[begin]) ++end;
        if (cold[begin] && end - begin > longest_shown_cold_run)
            std::fill(left_out.begin() + static_cast<std::ptrdiff_t>(begin + shown_of_cold_run),
                      left_out.begin() + static_cast<std::ptrdiff_t>(end - shown_of_cold_run),
                      true);
        begin = end;
    }
    return left_out;
}

std::string tabs_expanded(std::string_view line) {
    constexpr std::size_t tab_columns = 8;
    std::string text;
    for (char c : line) {
        if (c == '\t')
            text.append(tab_columns - text.size() % tab_columns, ' ');
        else
            text += c;
    }
    return printable(text);
}

template <typename Line>
void add_context(std::map<std::uint32_t, Line>& lines, std::size_t lines_of_file) {
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, line] : lines) numbers.push_back(number);
    for (const std::uint32_t number : numbers) {
        const std::uint32_t first = number - std::min(number - 1, context_lines);
        for (std::uint32_t i = first; i - first <= 2 * context_lines; ++i)
            if (i <= lines_of_file) lines.try_emplace(i);
    }
}

}  // namespace

std::vector<std::string> instruction_facts(const AnnotatedInstruction& instruction,
                                           const Profile& profile, SymbolSource& symbols) {
    std::vector<std::string> facts;
    if (!instruction.successors.empty())
        facts.push_back(targets_text(instruction, profile.modules, symbols));
    if (instruction.latency)
        facts.push_back(latency_text(*instruction.latency, profile.latency_host));
    for (const Hazard* hazard : instruction.hazards)
        facts.push_back(fmt::format("{} {}", percent(ratio(hazard->count, hazard->executions)),
                                    hazard_text(*hazard, profile.modules, symbols)));
    if (instruction.addresses) facts.push_back(pattern_text(instruction.addresses->moves));
    if (!is_constant_by_design(instruction.text))
        for (const ValueProfile* value : instruction.values)
            if (share_of(value->invariance) >= min_named_invariance)
                facts.push_back(value_text(*value));
    std::erase(facts, std::string());
    return facts;
}

void FunctionListing::print(const AnnotatedFunction& function, const ListingOptions& options) {
    executed_ = 0;
    time_ns_ = 0;
    for (const auto& each : function.code) {
        executed_ += each.executions.value_or(0);
        time_ns_ += each.time_ns;
    }
    head(function);
    const bool has_lines = std::any_of(
        function.code.begin(), function.code.end(),
        [](const AnnotatedInstruction& each) { return !each.file.empty() && each.line != 0; });
    if (options.view == ListingView::source && has_lines)
        source_lines(function, options);
    else
        instructions(function, options);
    if (options.view == ListingView::source && !has_lines)
        page_.line("  no source: there is no debug information with lines");
}

void FunctionListing::head(const AnnotatedFunction& function) {
    const std::string time =
        function.time_share ? fmt::format(", {} of time", percent(*function.time_share)) : "";
    page_.title(fmt::format("{}  {}{} of {}{}", function.name, percent(function.share),
                            margin_text(function.share, function.error, !profile_.sampling.exact),
                            profile_.stacks.empty() ? "basic blocks entered" : "instructions",
                            time));
    page_.line(fmt::format("  {}, from {:#x} on",
                           module_name(profile_.modules, function.start.module),
                           function.start.address));
    if (!function.incomplete.empty())
        page_.line("  only instructions that the profile names: " + printable(function.incomplete));
    if (profile_.edges.empty()) page_.line("  no executions: the profile has no edges");
    if (time_ns_ != 0)
        page_.line("  executions, share of the function's instructions, share of its time");
}

void FunctionListing::instructions(const AnnotatedFunction& function,
                                   const ListingOptions& options) {
    std::vector<bool> cold;
    for (const auto& each : function.code) cold.push_back(each.is_cold());
    const auto left_out = options.all ? std::vector<bool>(cold.size(), false) : cold_middles(cold);
    std::string_view file;
    std::uint32_t line = 0;
    std::size_t folded_now = 0;
    for (std::size_t i = 0; i < function.code.size(); ++i) {
        const AnnotatedInstruction& each = function.code[i];
        if (left_out[i]) {
            ++folded_now;
            continue;
        }
        folded(std::exchange(folded_now, 0), "instructions");
        if (each.behind_gap && i != 0) page_.line("           ..");
        if (options.view == ListingView::mixed && each.line != 0 &&
            (each.file != file || each.line != line)) {
            file = each.file;
            line = each.line;
            source_of(function, each);
        }
        instruction(each);
    }
    folded(folded_now, "instructions");
}

void FunctionListing::folded(std::size_t left_out, std::string_view what) {
    if (left_out != 0)
        page_.raw(page_.dim(fmt::format("{:>17}.. {} {}, never executed", "", left_out, what)));
}

void FunctionListing::source_of(const AnnotatedFunction& function,
                                const AnnotatedInstruction& instruction) {
    const std::string place =
        fmt::format("{}:{}", printable(base_name(instruction.file)), instruction.line);
    std::string text;
    if (function.lines_are_of_file)
        if (const auto line = sources_.line(instruction.file, instruction.line))
            text = tabs_expanded(*line);
    page_.raw(page_.dim(fit(fmt::format("{:>17}{}  {}", "", place, text), page_.width())));
}

std::string FunctionListing::counts(std::optional<std::uint64_t> executions,
                                    std::uint64_t instructions, std::uint64_t time_ns) const {
    std::string text(17, ' ');
    if (executions && *executions != 0)
        text = fmt::format("{:>8} {:>7} ", short_count(static_cast<double>(*executions)),
                           percent(ratio(instructions, executed_)));
    if (time_ns_ == 0) return text;
    return text + fmt::format("{:>7} ", time_ns == 0 ? "" : percent(ratio(time_ns, time_ns_)));
}

double FunctionListing::hotter_share(std::uint64_t instructions, std::uint64_t time_ns) const {
    return std::max(ratio(instructions, executed_), ratio(time_ns, time_ns_));
}

std::string FunctionListing::heat(const std::string& text, double share) const {
    return share >= hot_share ? page_.red(text) : share >= warm_share ? page_.yellow(text) : text;
}

void FunctionListing::instruction(const AnnotatedInstruction& each) {
    const std::uint64_t executed = each.executions.value_or(0);
    const std::string count = counts(each.executions, executed, each.time_ns);
    std::string code = fmt::format(" {:x}  {}", each.address,
                                   each.text.empty() ? "(bytes unknown)" : printable(each.text));
    const auto facts = instruction_facts(each, profile_, symbols_);
    if (!facts.empty()) code = pad(code, instruction_columns) + "  ";
    const std::size_t room = page_.width() - std::min(page_.width(), count.size());
    code = fit(code, room);
    const std::size_t left = room - columns(code);
    page_.raw(heat(count, hotter_share(executed, each.time_ns)) + code +
              (left > 0 ? page_.bold(joined(facts, left)) : ""));
}

// Prints the source lines with instructions and a few lines around them, file by file.
void FunctionListing::source_lines(const AnnotatedFunction& function,
                                   const ListingOptions& options) {
    std::map<std::string_view, SourceLines> files;
    for (const auto& each : function.code) {
        if (each.file.empty() || each.line == 0) continue;
        SourceLine& line = files[each.file][each.line];
        line.instructions += each.executions.value_or(0);
        line.executions = std::max(line.executions, each.executions.value_or(0));
        line.time_ns += each.time_ns;
        for (std::string& fact : instruction_facts(each, profile_, symbols_))
            line.facts.push_back(std::move(fact));
    }
    for (auto& [file, lines] : files) {
        page_.raw(page_.dim(fit(fmt::format("{:>17}{}", "", printable(file)), page_.width())));
        const auto text = function.lines_are_of_file ? sources_.lines(file) : std::nullopt;
        if (text) add_context(lines, text->size());
        source_file(lines, text.value_or(std::span<const std::string_view>{}), options);
    }
}

void FunctionListing::source_file(const SourceLines& lines, std::span<const std::string_view> text,
                                  const ListingOptions& options) {
    std::vector<bool> cold;
    for (const auto& [number, line] : lines)
        cold.push_back(line.instructions == 0 && line.time_ns == 0);
    const auto left_out = options.all ? std::vector<bool>(cold.size(), false) : cold_middles(cold);
    std::size_t i = 0, folded_now = 0;
    std::uint32_t last = 0;
    for (const auto& [number, line] : lines) {
        if (left_out[i++]) {
            ++folded_now;
        } else {
            folded(std::exchange(folded_now, 0), "lines");
            if (last != 0 && number != last + 1) page_.line("                 ..");
            source_line(number, line, number <= text.size() ? text[number - 1] : "");
        }
        last = number;
    }
    folded(folded_now, "lines");
}

void FunctionListing::source_line(std::uint32_t number, const SourceLine& line,
                                  std::string_view text) {
    const std::string count = counts(line.executions, line.instructions, line.time_ns);
    const std::size_t room = page_.width() - count.size();
    std::string code = fit(fmt::format("{:>6}  {}", number, tabs_expanded(text)), room);
    if (!line.facts.empty()) code = pad(code, source_columns) + "  ";
    const std::size_t left = room - std::min(room, columns(code));
    page_.raw(heat(count, hotter_share(line.instructions, line.time_ns)) + fit(code, room) +
              (left > 0 ? page_.bold(joined(line.facts, left)) : ""));
}

}  // namespace shadowprof
