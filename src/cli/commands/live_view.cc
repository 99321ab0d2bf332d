#include "cli/commands/live_view.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cli/terminal/messages.h"
#include "cli/terminal/terminal.h"
#include "report/text/live_page.h"

namespace shadowprof {
namespace {

Error refusal(std::string message) {
    return {ErrorCode::usage, 0, std::move(message)};
}

// Standard error if it is a terminal, else the terminal that controls this process.
Result<UniqueFd> find_terminal() {
    if (::isatty(STDERR_FILENO) != 0)
        return UniqueFd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
    if (!terminal)
        return refusal(
            "--live needs a terminal to draw on: standard error is none, and there is none that "
            "controls shadowprof; --dump-every=10s writes profiles to files instead");
    return terminal;
}

// Also right for /dev/tty, whose own number is another.
std::optional<dev_t> device_of_terminal(int fd) {
    unsigned int device = 0;
    if (::ioctl(fd, TIOCGDEV, &device) != 0) return std::nullopt;
    return device;
}

// Whether standard output of the program is the terminal. That of a launched one is ours.
bool writes_to(int terminal, std::optional<pid_t> process) {
    const auto device = device_of_terminal(terminal);
    if (!device) return false;
    if (!process) return device_of_terminal(STDOUT_FILENO) == device;
    struct stat output;
    return ::stat(fmt::format("/proc/{}/fd/{}", *process, STDOUT_FILENO).c_str(), &output) == 0 &&
           S_ISCHR(output.st_mode) && output.st_rdev == *device;
}

Error no_room(std::optional<pid_t> process) {
    if (process)
        return refusal(fmt::format(
            "--live cannot draw here: process {} writes its output to this terminal; attach to it "
            "from another terminal",
            *process));
    return refusal(
        "--live cannot draw here: the program writes its output to this terminal; redirect it, as "
        "in 'shadowprof run --live PROGRAM > output.txt', or use 'shadowprof attach --live PID' in "
        "another terminal");
}

}  // namespace

Result<std::unique_ptr<LiveView>> LiveView::open(const RunRequest& request) {
    if (!request.live) return std::unique_ptr<LiveView>();
    TRY_ASSIGN(UniqueFd terminal, find_terminal());
    const char* kind = std::getenv("TERM");
    if (kind == nullptr || std::string_view(kind) == "dumb")
        return refusal(fmt::format(
            "--live needs a terminal whose cursor can be moved, and the variable TERM {}; set it "
            "to what the terminal is, such as TERM=xterm",
            kind == nullptr ? "is not set" : "says 'dumb'"));
    if (writes_to(terminal.get(), request.options.attach_to))
        return no_room(request.options.attach_to);
    const TextOptions text = text_options(terminal.get());
    TRY_ASSIGN(Screen screen, Screen::on(std::move(terminal)));
    return std::unique_ptr<LiveView>(new LiveView(std::move(screen), text));
}

Result<LiveRefresh> LiveView::begin(FunctionTables& tables) {
    return LiveRefresh::create([this, &tables, names = std::make_shared<Names>()](
                                   RunOutcome outcome, std::chrono::nanoseconds period) {
        update(*names, outcome, tables);
        show(outcome.profile, *names, period);
    });
}

// Reads no debug information and asks no servers, as that takes long.
void LiveView::update(Names& names, RunOutcome& outcome, FunctionTables& tables) const {
    const auto& modules = outcome.profile.modules;
    const auto& scripts = outcome.profile.script_functions;
    const bool is_known = names.modules == modules.size() && names.scripts == scripts.size();
    if (names.symbols && is_known && !names.has_code_without_file) return;
    names.symbols.reset();
    names.files = std::move(outcome.files);
    names.perf_maps = std::move(outcome.perf_maps);
    names.modules = modules.size();
    names.scripts = scripts.size();
    names.has_code_without_file = std::ranges::any_of(
        modules, [](const Module& module) { return module.path.starts_with("[anon"); });
    names.symbols.emplace(modules, SymbolizerOptions{.root = "",
                                                     .files = names.files,
                                                     .perf_maps = names.perf_maps,
                                                     .tables = &tables,
                                                     .script_functions = scripts,
                                                     .has_lines = false});
}

void LiveView::show(const Profile& profile, Names& names, std::chrono::nanoseconds period) {
    const auto size = screen_.size();
    screen_.draw(live_lines(profile, *names.symbols,
                            {.width = size.width,
                             .height = size.height,
                             .colour = text_.colour,
                             .period_seconds = std::chrono::duration<double>(period).count()}));
}

void LiveView::keep_message(std::string message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
}

void LiveView::end() {
    screen_.leave();
    const std::lock_guard lock(mutex_);
    for (const std::string& message : messages_) say("{}", message);
    messages_.clear();
}

}  // namespace shadowprof
