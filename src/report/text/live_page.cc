#include "report/text/live_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "base/text/captured_text.h"
#include "base/text/text_format.h"
#include "report/lists/hot_lists.h"
#include "report/text/advice.h"
#include "report/text/facts_text.h"
#include "report/text/list_printer.h"
#include "report/text/run_text.h"

namespace shadowprof {
namespace {

constexpr double usual_period_seconds = 1;
constexpr std::size_t live_processes = 4, live_threads = 4;
// Screens with fewer lines have room for functions only.
constexpr std::size_t min_height_for_processes = 16;

// Shortens text to at most `width` columns. On narrow screens the beginning of a line is what
// matters: columns of numbers, and names.
std::string without_tail(std::string_view text, std::size_t width) {
    if (columns(text) <= width) return std::string(text);
    constexpr std::string_view gap = "..";
    std::string kept(cut_columns(text, width - std::min(width, gap.size())));
    return kept += gap.substr(0, width);
}

using PrintList = std::function<void(TextPage&)>;

// Returns the lines that `print` prints, without the blank one before their title.
std::vector<std::string> printed(std::size_t width, const PrintList& print) {
    std::istringstream in(captured_text([&](std::FILE* out) {
        TextPage page({.width = width, .colour = false}, out);
        print(page);
    }));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        if (!line.empty() || !lines.empty()) lines.push_back(std::move(line));
    return lines;
}

std::string progress_line(const Profile& profile) {
    const SamplingStats& sampling = profile.sampling;
    std::string text = fmt::format("{}, {}, {}", short_duration(profile.run.seconds),
                                   counted(sampling.samples, "sample"),
                                   counted(sampling.instructions, "instruction"));
    if (const auto verified = verified_samples(sampling); verified && sampling.samples != 0)
        text += fmt::format(", {} of the samples proven right",
                            whole_percent(ratio(*verified, sampling.samples)));
    return text;
}

std::string cost_line(const Profile& profile, double period_seconds) {
    const Overhead& overhead = profile.overhead;
    std::string text =
        fmt::format("slowdown about {}", percent(overhead.estimated_slowdown_percent / 100));
    if (overhead.budget_percent > 0)
        text += fmt::format(" of {} allowed", percent(overhead.budget_percent / 100));
    if (period_seconds > 1.5 * usual_period_seconds)
        text += fmt::format("; drawn about every {}, as that is expensive",
                            short_duration(period_seconds));
    return text;
}

class LiveLines {
  public:
    LiveLines(const Profile& profile, SymbolSource& symbols, const LivePage& page)
        : profile_(profile), symbols_(symbols), page_(page) {}

    std::vector<std::string> take() {
        title(fmt::format("shadowprof: {}", command_text(profile_.run.command)));
        add(progress_line(profile_));
        add(cost_line(profile_, page_.period_seconds));
        if (profile_.threads.size() > 1) add(thread_shares_text(profile_.threads, live_threads));
        processes();
        functions();
        lines_.resize(std::min(lines_.size(), page_.height));
        return std::move(lines_);
    }

  private:
    void add(std::string_view text) { lines_.push_back(without_tail(text, page_.width)); }
    void title(std::string_view text) {
        add(text);
        if (page_.colour) lines_.back() = fmt::format("\x1b[1m{}\x1b[0m", lines_.back());
    }
    void list(const PrintList& print) {
        bool is_first = true;
        for (const std::string& line : printed(page_.width, print)) {
            if (is_first) add("");
            std::exchange(is_first, false) ? title(line) : add(line);
        }
    }

    void processes() {
        const bool are_several =
            profile_.processes.size() > 1 || profile_.other_processes.count > 0;
        if (!are_several || page_.height < min_height_for_processes) return;
        list([&](TextPage& page) {
            ListPrinter(profile_, symbols_, page).processes(live_processes);
        });
    }

    void functions() {
        constexpr std::size_t lines_before = 2;  // a blank line and the title
        const auto taken = lines_.size() + lines_before;
        if (taken >= page_.height) return;
        const auto weight = has_times(profile_) ? StackWeight::time : StackWeight::instructions;
        auto hot = hot_functions(profile_, symbols_, weight);
        hot.list.resize(std::min(hot.list.size(), page_.height - taken));
        if (hot.list.empty()) {
            add("");
            return add("no function yet: samples are on their way");
        }
        list([&](TextPage& page) {
            ListPrinter(profile_, symbols_, page).functions(hot.list, hot.unit);
        });
    }

    const Profile& profile_;
    SymbolSource& symbols_;
    const LivePage& page_;
    std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> live_lines(const Profile& profile, SymbolSource& symbols,
                                    const LivePage& page) {
    return LiveLines(profile, symbols, page).take();
}

}  // namespace shadowprof
