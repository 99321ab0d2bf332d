#include "cli/commands/open_page.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "base/files/fd.h"
#include "cli/options/words.h"

namespace shadowprof {
namespace {

using namespace std::chrono_literals;

constexpr const char* opener = "xdg-open";
// A program that has not failed by then shows the page, perhaps for hours.
constexpr int patience_steps = 150;
constexpr auto patience_step = 20ms;

std::string environment_text(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// The commands in $BROWSER are separated by colons. "%s" in one stands for the page.
Result<std::vector<std::vector<std::string>>> browsers(const std::string& url) {
    std::string list = environment_text("BROWSER");
    if (list.empty()) list = opener;
    std::vector<std::vector<std::string>> commands;
    for (std::size_t begin = 0; begin <= list.size();) {
        const auto end = std::min(list.find(':', begin), list.size());
        auto words = split_words(std::string_view(list).substr(begin, end - begin));
        if (!words) return std::move(words).error().with_context("BROWSER");
        begin = end + 1;
        if (words->empty()) continue;
        bool is_named = false;
        for (std::string& word : *words)
            if (const auto at = word.find("%s"); at != word.npos) {
                word.replace(at, 2, url);
                is_named = true;
            }
        if (!is_named) words->push_back(url);
        commands.push_back(std::move(words).value());
    }
    return commands;
}

// A session of its own, so that Ctrl-C here does not end the browser, and no say on our terminal.
Result<pid_t> start(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    pid_t pid = 0;
    const int failed =
        posix_spawnp(&pid, arguments.front(), &files, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) return errno_error(words.front(), failed);
    return pid;
}

// Returns when the program has ended well, or still runs after a while.
Result<void> await(pid_t pid, const std::string& program) {
    int status = 0;
    for (int step = 0; step < patience_steps; ++step) {
        const pid_t ended = ::waitpid(pid, &status, WNOHANG);
        if (ended < 0 || (ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)) return {};
        if (ended == pid)
            return Error{
                ErrorCode::system, 0,
                WIFEXITED(status)
                    ? fmt::format("{} failed with exit status {}", program, WEXITSTATUS(status))
                    : fmt::format("{} was killed by signal {}", program, WTERMSIG(status))};
        std::this_thread::sleep_for(patience_step);
    }
    return {};
}

bool is_plain_in_url(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '-' || c == '_' ||
           c == '.' || c == '~';
}

}  // namespace

Result<std::string> fresh_page() {
    Error last;
    for (const std::string& folder :
         {environment_text("XDG_RUNTIME_DIR"), environment_text("TMPDIR"), std::string("/tmp")}) {
        if (!folder.starts_with('/')) continue;
        std::string made = folder + "/shadowprof-XXXXXX";
        if (::mkdtemp(made.data()) != nullptr) return made + "/profile.html";
        last = errno_error(fmt::format("cannot make a folder for the page in '{}'", folder));
    }
    last.message += "; name a file with --html";
    return last;
}

void remove_fresh_page(const std::string& page) {
    ::unlink(page.c_str());
    ::rmdir(page.substr(0, page.rfind('/')).c_str());
}

std::string file_url(const std::string& absolute_path) {
    std::string url = "file://";
    for (const char c : absolute_path)
        is_plain_in_url(c) ? url += c
                           : url += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return url;
}

Result<std::string> open_in_browser(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> absolute(::realpath(path.c_str(), nullptr),
                                                               &std::free);
    if (!absolute) return errno_error(path);
    TRY_ASSIGN(const auto commands, browsers(file_url(absolute.get())));
    Error last{ErrorCode::not_found, 0, "the variable BROWSER names no program"};
    for (const auto& words : commands) {
        const std::string& program = words.front();
        auto pid = start(words);
        auto shown = pid ? await(*pid, program) : Result<void>(std::move(pid).error());
        if (shown) return program;
        last = std::move(shown).error();
    }
    if (last.code == ErrorCode::not_found && environment_text("BROWSER").empty())
        last.message = "xdg-open is not installed, and the variable BROWSER is not set";
    return last;
}

}  // namespace shadowprof
