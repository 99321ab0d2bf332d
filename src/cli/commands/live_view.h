// `--live`: what is hottest, on a screen of its own while the program runs.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/control/live_refresh.h"
#include "cli/options/run_request.h"
#include "cli/terminal/screen.h"
#include "report/symbols/function_tables.h"
#include "report/symbols/symbolizer.h"
#include "report/text/text_page.h"

namespace shadowprof {

class LiveView {
  public:
    // Returns null if the request does not ask for it. To be called before the fork that makes the
    // tracer. Errors: usage, if there is no terminal for it, or the program writes to it; the
    // message has the remedy.
    static Result<std::unique_ptr<LiveView>> open(const RunRequest& request);

    Screen& screen() { return screen_; }

    // Begins to draw. `tables` must outlive all drawing, and this must, too. Error: system.
    Result<LiveRefresh> begin(FunctionTables& tables);
    // Keeps a message to the user until end(). Any thread may call it.
    void keep_message(std::string message);
    // Restores the terminal and prints the messages.
    void end();

  private:
    // Symbols of the run's modules, as long as there are no more of them.
    struct Names {
        std::vector<UniqueFd> files, perf_maps;
        std::size_t modules = 0, scripts = 0;
        bool has_code_without_file = false;  // its names may change
        std::optional<Symbolizer> symbols;
    };

    LiveView(Screen screen, TextOptions text) : screen_(std::move(screen)), text_(text) {}
    void update(Names& names, RunOutcome& outcome, FunctionTables& tables) const;
    void show(const Profile& profile, Names& names, std::chrono::nanoseconds period);

    Screen screen_;
    const TextOptions text_;
    std::mutex mutex_;
    std::vector<std::string> messages_;
};

// For the process that the user sees; null without `live`.
inline Screen* screen_of(const std::unique_ptr<LiveView>& live) {
    return live ? &live->screen() : nullptr;
}

}  // namespace shadowprof
