#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>

#include "profile/address_patterns.h"
#include "profile/hazards.h"
#include "report/hot_lists.h"
#include "report/location_name.h"
#include "report/path_text.h"
#include "report/text_format.h"
#include "report/value_text.h"

namespace shadowprof {
namespace {

constexpr std::size_t least_width = 60;
// Together with heads and blank lines, never more than 50 lines.
constexpr std::size_t most_functions = 7, most_paths = 4, most_branches = 4, most_values = 5,
                      most_threads = 4, most_notes = 4, most_names = 5, most_loads = 3;
// With these it is longer, where they were asked for.
constexpr std::size_t most_hazards = 5, most_addresses = 5;
// Where there are several processes, they take the place of the last of these.
constexpr std::size_t most_processes_shown = 4, fewer_functions = 5, fewer_branches = 3,
                      fewer_values = 2;
// The same with loads; with both there are fewer paths as well.
constexpr std::size_t fewer_loads = 2, fewer_paths = 2;

double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

std::string counted(std::uint64_t count, std::string_view singular) {
    return fmt::format("{} {}{}", short_count(static_cast<double>(count)), singular,
                       count == 1 ? "" : "s");
}

// "write 12, read 4, ...", most frequent first.
std::string most_frequent(const std::map<std::string, std::uint64_t>& counts) {
    std::vector<std::pair<std::string, std::uint64_t>> list(counts.begin(), counts.end());
    std::erase_if(list, [](const auto& entry) { return entry.second == 0; });
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (std::size_t i = 0; i < std::min(list.size(), most_names); ++i)
        text += fmt::format("{}{} {}", i == 0 ? "" : ", ", list[i].first,
                            short_count(static_cast<double>(list[i].second)));
    if (list.size() > most_names) text += ", ...";
    return text;
}

std::string how_it_ended(const RunInfo& run) {
    if (run.exit_signal) {
        const char* name = ::sigabbrev_np(*run.exit_signal);
        return name != nullptr ? fmt::format("killed by SIG{}", name)
                               : fmt::format("killed by signal {}", *run.exit_signal);
    }
    if (run.exit_status) return fmt::format("exit status {}", *run.exit_status);
    return "still running";
}

class Summary {
  public:
    Summary(const Profile& profile, SymbolSource& symbols, const SummaryOptions& options,
            std::FILE* out)
        : profile_(profile),
          symbols_(symbols),
          width_(std::max(options.width, least_width)),
          colour_(options.colour),
          out_(out) {}

    void print() {
        head();
        sampled();
        cost();
        processes();
        functions();
        paths();
        branches();
        values();
        hazards();
        addresses();
        loads();
        syscalls();
        notes();
    }

  private:
    // `left` is cut where the line is too short; `right` stands at its end.
    void line(std::string_view left, std::string_view right = {}) {
        std::string tail = right.empty() ? "" : "  " + fit(right, right_width());
        std::size_t room = width_ - columns(tail);
        std::string shown = fit(left, room);
        fmt::print(out_, "{}{}\n", tail.empty() ? shown : pad(shown, room), dim(tail));
    }
    std::size_t right_width() const { return width_ / 4; }
    // The place in the source, for lines that have room for it only on wider terminals.
    std::string source_if_wide(CodeLocation l) { return width_ < 80 ? "" : source(l); }
    void title(std::string_view text) { fmt::print(out_, "\n{}\n", bold(fit(text, width_))); }
    std::string bold(const std::string& text) const {
        return colour_ ? fmt::format("\x1b[1m{}\x1b[0m", text) : text;
    }
    std::string dim(const std::string& text) const {
        return colour_ && !text.empty() ? fmt::format("\x1b[2m{}\x1b[0m", text) : text;
    }
    // Room for the name of a location that other columns follow.
    std::size_t name_column() const { return width_ / 3 - 4; }
    std::string name(CodeLocation l) { return location_name(profile_.modules, symbols_, l); }
    std::string source(CodeLocation l) { return source_name(symbols_.symbol(l)); }

    void head() {
        const RunInfo& run = profile_.run;
        std::string command;
        for (const std::string& word : run.command)
            command += (command.empty() ? "" : " ") + printable(word);
        fmt::print(out_, "{}\n", bold(fit(command.empty() ? "(no command)" : command, width_)));
        if (run.merged_runs != 1)
            line(fmt::format("{} together, {} in all, the first {}",
                             counted(run.merged_runs, "run"), short_duration(run.seconds),
                             printable(run.started)));
        else
            line(fmt::format("pid {}, {}, {}, {}", run.pid, short_duration(run.seconds),
                             how_it_ended(run), printable(run.started)));
    }

    void sampled() {
        const SamplingStats& s = profile_.sampling;
        std::string text = fmt::format("sampled  {}, {} instructions", counted(s.samples, "sample"),
                                       short_count(static_cast<double>(s.instructions)));
        if (s.target_instructions)
            text += fmt::format(" ({} of {})",
                                percent(ratio(static_cast<double>(s.instructions),
                                              static_cast<double>(*s.target_instructions))),
                                short_count(static_cast<double>(*s.target_instructions)));
        line(text);
        std::string ended = most_frequent(s.ended);
        line(fmt::format("         mode {}{}{}", s.mode.empty() ? "unknown" : printable(s.mode),
                         ended.empty() ? "" : "; ended by ", printable(ended)));
        if (s.exact)
            line(fmt::format("         {}, {} diverged{}", counted(s.exact->intervals, "interval"),
                             s.exact->diverged,
                             s.exact->stopped_early.empty()
                                 ? ""
                                 : "; not to the end: " + printable(s.exact->stopped_early)));
        if (s.convergence) convergence(*s.convergence);
        if (s.bursts) bursts(*s.bursts);
        if (s.single_stepped > 0)
            line(fmt::format("         {} single-stepped",
                             counted(s.single_stepped, "instruction")));
        if (profile_.threads.size() > 1) threads();
    }

    void convergence(const Convergence& c) {
        const auto error = c.error_percent.value_or(0) / 100;
        if (c.reached)
            line(fmt::format("         converged after {}, {}: hot edges are certain to {}",
                             counted(c.samples.value_or(0), "sample"),
                             short_duration(c.seconds.value_or(0)), percent(error)));
        else if (c.error_percent)
            line(fmt::format("         not converged: hot edges are certain to {}, not {}",
                             percent(error), percent(c.limit_percent / 100)));
        else
            line("         not converged: there are too few samples to tell errors");
    }

    void bursts(const BurstStats& b) {
        std::string lengths;
        for (const auto& [kind, length] : b.lengths)
            lengths += fmt::format("{}{} {}", lengths.empty() ? "" : ", ", printable(kind), length);
        const std::string when = b.every == 0
                                     ? "of several settings"
                                     : fmt::format("every {} {}", b.every, printable(b.events));
        line(fmt::format("         {} {}{}{}; {} events", counted(b.bursts, "burst"), when,
                         lengths.empty() ? "" : ", for ", lengths,
                         short_count(static_cast<double>(b.events_counted))));
        if (const auto changes = profile_.sampling.changes.size(); changes != 0)
            line(fmt::format("         {} while it ran", counted(changes, "change")));
    }

    void threads() {
        const auto& threads = profile_.threads;
        double all = 0;
        for (const ThreadProfile& t : threads) all += static_cast<double>(t.instructions);
        std::string text = fmt::format("         {}", counted(threads.size(), "thread"));
        for (std::size_t i = 0; i < std::min(threads.size(), most_threads); ++i) {
            const ThreadProfile& t = threads[i];
            const auto who =
                t.tid == 0 ? "begun in samples" : fmt::format("{} {}", t.tid, printable(t.name));
            text += fmt::format("{} {} {}", i == 0 ? ":" : ",", who,
                                percent(ratio(static_cast<double>(t.instructions), all)));
        }
        line(text);
    }

    void cost() {
        const Overhead& o = profile_.overhead;
        line(fmt::format("cost     {}, {} in all; {}; {} induced", counted(o.stops, "stop"),
                         short_duration(o.stopped_seconds), counted(o.forks, "fork"),
                         counted(o.induced_faults, "fault")));
        line(fmt::format(
            "         pause p50 {}, p99 {}, longest {}", short_duration(o.pause.p50_us * 1e-6),
            short_duration(o.pause.p99_us * 1e-6), short_duration(o.pause.max_us * 1e-6)));
        stops_for_bursts();
        recorded_input();
        std::string text =
            fmt::format("         slowdown about {}", percent(o.estimated_slowdown_percent / 100));
        if (o.budget_percent > 0)
            text += fmt::format(" of {} allowed", percent(o.budget_percent / 100));
        line(text);
    }

    bool has_several_processes() const {
        return profile_.processes.size() > 1 || profile_.other_processes.count > 0;
    }

    bool has_losses() const {
        return !profile_.latency.empty() && profile_.latency.front().lost_cycles > 0;
    }
    bool is_crowded() const { return has_several_processes() || has_losses(); }

    void processes() {
        if (!has_several_processes()) return;
        title("Processes, by instructions");
        const auto& list = profile_.processes;
        const std::size_t shown =
            list.size() > most_processes_shown ? most_processes_shown - 1 : list.size();
        double all = static_cast<double>(profile_.other_processes.instructions);
        for (const ProcessInfo& process : list) all += static_cast<double>(process.instructions);
        for (std::size_t i = 0; i < shown; ++i) process_line(list[i], all);
        const std::uint64_t more = list.size() - shown + profile_.other_processes.count;
        if (more > 0) line(fmt::format("  and {} more in the profile", more));
    }

    void process_line(const ProcessInfo& process, double all) {
        const auto instructions = static_cast<double>(process.instructions);
        std::string command;
        for (const std::string& word : process.command)
            command += (command.empty() ? "" : " ") + printable(word);
        line(fmt::format("{:>7} {:>8}  {}", percent(ratio(instructions, all)),
                         short_count(instructions), command),
             fmt::format("pid {}, {}", process.pid, short_duration(process.seconds)));
    }

    std::uint64_t counter(const char* name) const {
        const auto& counters = profile_.sampling.counters;
        const auto found = counters.find(name);
        return found == counters.end() ? 0 : found->second;
    }

    void stops_for_bursts() {
        if (counter("burst_emulation_ns") == 0) return;
        const double translating = ratio(static_cast<double>(counter("burst_translation_ns")),
                                         static_cast<double>(counter("burst_emulation_ns")));
        line(fmt::format("         {}, {} cut by time, {} of their time translation",
                         counted(counter("bursts"), "burst"), counter("bursts_cut_by_time"),
                         percent(translating)));
        const auto excess_us = counter("burst_excess_max_us");
        if (excess_us != 0)
            line(fmt::format("         over the limit by {} at most",
                             short_duration(static_cast<double>(excess_us) * 1e-6)));
    }

    void recorded_input() {
        if (counter("input_stops") == 0) return;
        line(fmt::format("         recording input: {} at system calls, {} in all; {}, {}",
                         counted(counter("input_stops"), "stop"),
                         short_duration(static_cast<double>(counter("input_stops_ns")) * 1e-9),
                         counted(counter("input_calls"), "call"),
                         counted(counter("input_bytes"), "byte")));
    }

    // "+-0.4" behind a percentage: half the width of a confidence interval of 95%. Never less than
    // what it stands for.
    static std::string margin(const std::optional<double>& error) {
        return error ? fmt::format(" +-{:.1f}", std::ceil(1000 * *error) / 10) : "";
    }
    // The same, in a column of a list that has any.
    template <typename List>
    static std::size_t margin_width(const List& list, std::size_t shown) {
        std::size_t width = 0;
        for (std::size_t i = 0; i < std::min(list.size(), shown); ++i)
            width = std::max(width, margin(list[i].error).size());
        return width;
    }

    void functions() {
        HotFunctions hot = hot_functions(profile_, symbols_);
        if (hot.list.empty()) return;
        title(hot.unit == FunctionWeight::instructions
                  ? "Hottest functions, by instructions of their own"
                  : "Hottest functions, by basic blocks entered");
        const std::size_t shown = is_crowded() ? fewer_functions : most_functions;
        const std::size_t margins = margin_width(hot.list, shown);
        for (std::size_t i = 0; i < std::min(hot.list.size(), shown); ++i) {
            const HotFunction& f = hot.list[i];
            line(fmt::format("{:>7}{} {:>8}  {}", percent(f.share), pad(margin(f.error), margins),
                             short_count(static_cast<double>(f.weight)),
                             function_name(profile_.modules, symbols_, f.at)),
                 module_name(profile_.modules, f.at.module));
        }
    }

    void paths() {
        auto hot =
            hot_paths(profile_, has_several_processes() && has_losses() ? fewer_paths : most_paths);
        if (hot.empty()) return;
        title("Hottest paths, by instructions");
        const std::size_t margins = margin_width(hot, hot.size());
        for (const HotPath& path : hot) path_lines(path, margins);
    }

    // One line if all of the path fits in it, else two.
    void path_lines(const HotPath& hot, std::size_t margins) {
        const Path& path = *hot.path;
        std::string left = fmt::format("{:>7}{} {:>8} x {} insns, {}", percent(hot.share),
                                       pad(margin(hot.error), margins),
                                       short_count(static_cast<double>(path.count)),
                                       path.instructions, counted(path.blocks.size(), "block"));
        std::string where = path.blocks.empty() ? "" : source(path.blocks.front());
        std::size_t tail = where.empty() ? 0 : 2 + std::min(columns(where), right_width());
        std::string indent(18 + margins, ' ');
        std::string chain =
            path_text(path.blocks, profile_.modules, symbols_, width_ - indent.size());
        if (columns(left) + 2 + columns(chain) + tail <= width_)
            return line(fmt::format("{}: {}", left, chain), where);
        line(left, where);
        line(indent + chain);
    }

    std::string outcome(const HotBranch& branch) {
        if (branch.conditional()) {
            double share =
                ratio(static_cast<double>(branch.taken), static_cast<double>(branch.count));
            return fmt::format("taken {}", percent(share));
        }
        if (branch.targets == 1) return fmt::format("-> {}", name(branch.to));
        return fmt::format(
            "{} targets, {} -> {}", branch.targets,
            percent(ratio(static_cast<double>(branch.to_count), static_cast<double>(branch.count))),
            name(branch.to));
    }

    void branches() {
        auto hot = hot_branches(profile_, is_crowded() ? fewer_branches : most_branches);
        if (hot.empty()) return;
        double total = 0;
        for (const Edge& edge : profile_.edges) total += static_cast<double>(edge.count);
        title("Hottest branches, by executions");
        std::size_t name_width = name_column();
        for (HotBranch& branch : hot)
            if (branch.error) *branch.error = ratio(*branch.error, total);
        const std::size_t margins = margin_width(hot, hot.size());
        for (const HotBranch& branch : hot)
            line(fmt::format("{:>7}{} {:>8}  {}  {}",
                             percent(ratio(static_cast<double>(branch.count), total)),
                             pad(margin(branch.error), margins),
                             short_count(static_cast<double>(branch.count)),
                             pad(fit(name(branch.from), name_width), name_width), outcome(branch)),
                 source_if_wide(branch.from));
    }

    std::string value_share(const ValueProfile& value) {
        double error = ratio(value.top.front().error, static_cast<double>(value.count));
        std::string text = percent(value.invariance);
        return error > 0 ? fmt::format("{} +-{:.1f}", text, 100 * error) : text;
    }

    void values() {
        auto hot = invariant_values(profile_, symbols_, is_crowded() ? fewer_values : most_values);
        if (hot.empty()) return;
        title("Most invariant values, constants left out");
        std::size_t name_width = name_column();
        for (const ValueProfile* value : hot) {
            std::string left =
                fmt::format("{:>8}  {}", short_count(static_cast<double>(value->count)),
                            pad(fit(name(value->at), name_width), name_width));
            std::string result =
                fmt::format("  {} = {} ({})", printable(value->operand),
                            short_value(value->top.front().value), value_share(*value));
            std::string where = source_if_wide(value->at);
            std::size_t tail = where.empty() ? 0 : 2 + std::min(columns(where), right_width());
            std::size_t taken = columns(left) + columns(result) + tail + 2;
            constexpr std::size_t least_useful = 12;
            if (taken + least_useful <= width_)
                left += "  " + fit(symbols_.instruction_text(value->at), width_ - taken);
            line(left + result, where);
        }
    }

    void hazards() {
        if (profile_.hazards.empty()) return;
        title("Memory hazards, by executions");
        const std::size_t name_width = name_column();
        for (std::size_t i = 0; i < std::min(profile_.hazards.size(), most_hazards); ++i) {
            const Hazard& hazard = profile_.hazards[i];
            const auto share =
                ratio(static_cast<double>(hazard.count), static_cast<double>(hazard.executions));
            std::string text =
                fmt::format("{:>7} {:>8}  {}  {}", percent(share),
                            short_count(static_cast<double>(hazard.count)),
                            pad(fit(name(hazard.second), name_width), name_width),
                            hazard_kind_names[static_cast<std::size_t>(hazard.kind)]);
            if (is_pair(hazard.kind)) text += fmt::format(" behind {}", name(hazard.first));
            line(text, source_if_wide(hazard.second));
        }
    }

    static bool is_unforeseeable(const AddressMoves& moves) {
        return moves.chased + moves.irregular > moves.constant + moves.strided();
    }

    // "stride 98% by 64"
    static std::string pattern_text(const AddressMoves& moves) {
        const auto pattern = main_pattern(moves);
        auto text = fmt::format("{} {}", pattern.row->name, whole_percent(pattern.share));
        if (pattern.row->name == "stride") text += fmt::format(" by {}", moves.stride());
        return text;
    }

    // Those that a prefetcher does not foresee come first.
    void addresses() {
        std::vector<const AddressPattern*> hot;
        for (const AddressPattern& address : profile_.addresses)
            if (is_unforeseeable(address.moves)) hot.push_back(&address);
        for (const AddressPattern& address : profile_.addresses)
            if (std::find(hot.begin(), hot.end(), &address) == hot.end()) hot.push_back(&address);
        if (hot.empty()) return;
        title("Loads by how their addresses follow each other, unforeseeable ones first");
        const std::size_t name_width = name_column();
        for (std::size_t i = 0; i < std::min(hot.size(), most_addresses); ++i) {
            const std::string text = fmt::format(
                "{:>8}  {}  {}", short_count(static_cast<double>(hot[i]->moves.count())),
                pad(fit(name(hot[i]->at), name_width), name_width), pattern_text(hot[i]->moves));
            line(text, source_if_wide(hot[i]->at));
        }
    }

    // "L1 2%, memory 98%", the levels that it was of.
    std::string level_shares(const LoadLatency& load) const {
        std::string text;
        const auto add = [&](const std::string& name) {
            const auto found = load.levels.find(name);
            if (found == load.levels.end() || found->second == 0) return;
            const auto share =
                ratio(static_cast<double>(found->second), static_cast<double>(load.count()));
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(name),
                                whole_percent(share));
        };
        if (profile_.latency_host)
            for (const LatencyLevel& level : profile_.latency_host->levels) add(level.name);
        else
            for (const auto& [name, count] : load.levels) add(name);
        return text;
    }

    // "; 25% across lines", where that is worth mentioning.
    static std::string crossings_text(const LoadLatency& load) {
        constexpr double least_share = 0.01;
        const auto share = [&](std::uint64_t crossings) {
            return ratio(static_cast<double>(crossings), static_cast<double>(load.count()));
        };
        if (share(load.page_crossings) >= least_share)
            return fmt::format("; {} across pages", whole_percent(share(load.page_crossings)));
        if (share(load.line_crossings) >= least_share)
            return fmt::format("; {} across lines", whole_percent(share(load.line_crossings)));
        return "";
    }

    void loads() {
        double all = 0;
        for (const LoadLatency& load : profile_.latency)
            all += static_cast<double>(load.lost_cycles);
        if (all == 0) return;
        title("Loads, by cycles lost to misses");
        // What follows the name is long.
        const std::size_t name_width = name_column() - std::min<std::size_t>(name_column() / 2, 10);
        const std::size_t shown = has_several_processes() ? fewer_loads : most_loads;
        for (std::size_t i = 0; i < std::min(profile_.latency.size(), shown); ++i) {
            const LoadLatency& load = profile_.latency[i];
            if (load.lost_cycles == 0) break;
            std::string left =
                fmt::format("{:>7} {:>8}  {}  {}; median {:.0f}",
                            percent(ratio(static_cast<double>(load.lost_cycles), all)),
                            short_count(static_cast<double>(load.count())),
                            pad(fit(name(load.at), name_width), name_width), level_shares(load),
                            load.median_cycles());
            if (load.moves.count() != 0) left += "; " + pattern_text(load.moves);
            left += crossings_text(load);
            const std::string where = source_if_wide(load.at);
            const std::size_t tail =
                where.empty() ? 0 : 2 + std::min(columns(where), right_width());
            const std::size_t taken = columns(left) + tail + 2;
            constexpr std::size_t least_useful = 12;
            if (taken + least_useful <= width_)
                left += "  " + fit(symbols_.instruction_text(load.at), width_ - taken);
            line(left, where);
        }
    }

    // Small numbers in decimal, small negative ones too; addresses, masks and vectors as they are.
    static std::string short_value(const std::vector<std::byte>& value) {
        constexpr std::int64_t small = 100'000;
        if (value.size() != 4 && value.size() != 8)
            return value.size() < 4 ? value_text(value) : value_hex(value);
        std::int64_t number = 0;
        if (value.size() == 4) {
            std::int32_t narrow = 0;
            std::memcpy(&narrow, value.data(), sizeof narrow);
            number = narrow;
        } else {
            std::memcpy(&number, value.data(), sizeof number);
        }
        return number > -small && number < small ? std::to_string(number) : value_hex(value);
    }

    void syscalls() {
        std::string classes = most_frequent(profile_.syscalls.by_class);
        if (classes.empty()) return;
        title("System calls in samples");
        std::string names = most_frequent(profile_.syscalls.by_name);
        line(fmt::format("  {}{}{}", classes, names.empty() ? "" : ": ", printable(names)));
    }

    void notes() {
        std::vector<std::string> notes = profile_.notes;
        for (std::string& note : symbols_.notes())
            if (std::find(notes.begin(), notes.end(), note) == notes.end())
                notes.push_back(std::move(note));
        if (notes.empty()) return;
        title("Notes");
        // The line about convergence takes the place of one.
        const std::size_t most = most_notes - (profile_.sampling.convergence ? 1 : 0);
        bool too_many = notes.size() > most;
        std::size_t shown = too_many ? most - 1 : notes.size();
        for (std::size_t i = 0; i < shown; ++i) line("  " + printable(notes[i]));
        if (too_many) line(fmt::format("  and {} more in the profile", notes.size() - shown));
    }

    const Profile& profile_;
    SymbolSource& symbols_;
    std::size_t width_;
    bool colour_;
    std::FILE* out_;
};

}  // namespace

void print_summary(const Profile& profile, SymbolSource& symbols, const SummaryOptions& options,
                   std::FILE* out) {
    Summary(profile, symbols, options, out).print();
}

}  // namespace shadowprof
