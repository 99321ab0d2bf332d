#include "cli/control/control_channel.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/files/fd.h"
#include "cli/options/control_paths.h"

namespace shadowprof {
namespace {

// A regular file does not announce appended data, so it is read once in this period.
constexpr std::chrono::milliseconds file_period{20};
constexpr std::size_t max_shown = 40;

enum class Direction { commands, answers };

struct OpenChannel {
    UniqueFd fd;
    bool is_file = false;
};

Error cannot_open(const std::string& path) {
    const int reason = errno;
    Error error = errno_error(fmt::format("--control: cannot open '{}'", path), reason);
    if (reason == ENOENT) error.message += "; create it first, with mkfifo or as an empty file";
    return error;
}

// A FIFO is opened for both directions: so it has neither an end of file nor a broken pipe while
// nobody has the other end open.
Result<OpenChannel> open_channel(const std::string& path, Direction direction) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) return cannot_open(path);
    if (!S_ISFIFO(status.st_mode) && !S_ISREG(status.st_mode))
        return Error{ErrorCode::usage, 0,
                     fmt::format("--control: '{}' is neither a FIFO nor a file", path)};
    const int access = S_ISFIFO(status.st_mode)           ? O_RDWR
                       : direction == Direction::commands ? O_RDONLY
                                                          : O_WRONLY | O_APPEND;
    UniqueFd fd(::open(path.c_str(), access | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (!fd) return cannot_open(path);
    return OpenChannel{std::move(fd), S_ISREG(status.st_mode)};
}

// Adds the profile that is due by `source`, an optional one, if any is.
template <typename Source>
void take_due(std::optional<Source>& source, const char* option,
              std::vector<SamplingCommand>& commands) {
    if (auto due = source ? source->take() : std::nullopt)
        commands.push_back({.kind = SamplingCommand::Kind::dump,
                            .bursts = {},
                            .text = option,
                            .dump = *std::move(due)});
}

void watch(const UniqueFd& watcher, int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (fd >= 0) ::epoll_ctl(watcher.get(), EPOLL_CTL_ADD, fd, &event);
}

void watch_no_more(const UniqueFd& watcher, int fd) {
    if (fd >= 0) ::epoll_ctl(watcher.get(), EPOLL_CTL_DEL, fd, nullptr);
}

// Returns the beginning of a line, printable: the line may hold any bytes.
std::string shown(std::string_view line) {
    std::string text(line.substr(0, max_shown));
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return line.size() > max_shown ? text + "..." : text;
}

}  // namespace

ControlChannel::ControlChannel(const RunRequest& request, SignalCounts counts, Complain complain,
                               OpenDumpFile open_dump)
    : run_{request.options.profiles, request.options.bursts, request.dump_every.has_value()},
      counts_(counts),
      open_dump_(std::move(open_dump)),
      shared_(std::make_shared<Shared>()),
      readable_(::epoll_create1(EPOLL_CLOEXEC)) {
    shared_->complain = std::move(complain);
    shared_->dumped.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    watch(readable_, counts_.toggles);
    watch(readable_, counts_.pauses);
    watch(readable_, shared_->dumped.get());
}

Result<ControlChannel> ControlChannel::open(const RunRequest& request, SignalCounts counts,
                                            Complain complain, OpenDumpFile open_dump) {
    ControlChannel channel(request, counts, complain, open_dump);
    if (!channel.readable_ || !channel.shared_->dumped)
        return errno_error("epoll_create1, eventfd");
    if (request.dump_every) {
        TRY_ASSIGN(channel.phases_, PhaseDumps::create(*request.dump_every, request.output,
                                                       std::move(open_dump), std::move(complain)));
        watch(channel.readable_, channel.phases_->fd());
    }
    if (request.control.empty()) return channel;
    TRY_ASSIGN(const auto paths, parse_control_paths(request.control));
    TRY_ASSIGN(auto commands, open_channel(paths.commands, Direction::commands));
    channel.is_file_ = commands.is_file;
    channel.commands_ = std::move(commands.fd);
    if (!channel.is_file_) watch(channel.readable_, channel.commands_.get());
    if (paths.answers.empty()) return channel;
    TRY_ASSIGN(auto answers, open_channel(paths.answers, Direction::answers));
    channel.shared_->answers = std::move(answers.fd);
    return channel;
}

void ControlChannel::refresh_with(LiveRefresh refresh) {
    refresh_ = std::move(refresh);
    watch(readable_, refresh_->fd());
}

std::vector<SamplingCommand> ControlChannel::take() {
    std::vector<SamplingCommand> commands;
    if (is_readable(counts_.toggles)) take_toggles(commands);
    if (is_readable(counts_.pauses)) take_pauses(commands);
    take_due(phases_, "--dump-every", commands);
    take_due(refresh_, "--live", commands);
    take_lines(commands);
    return commands;
}

std::optional<DumpRequest> ControlChannel::last_dump() {
    return phases_ ? std::optional(phases_->last()) : std::nullopt;
}

void ControlChannel::take_lines(std::vector<SamplingCommand>& commands) {
    if (is_dumping()) return;
    if (waiting_.empty()) lines_.add(read_bytes(), [&](auto line) { waiting_.emplace_back(line); });
    for (; !waiting_.empty() && !is_waiting_; waiting_.pop_front())
        take_line(waiting_.front(), commands);
}

// While a profile is written, further lines in the FIFO must not wake the sampler.
void ControlChannel::begin_dump(DumpRequest& dump) {
    is_waiting_ = shared_->is_dumping = true;
    if (!is_file_) watch_no_more(readable_, commands_.get());
    dump.receiver = std::make_shared<DumpFileReceiver>(
        dump.file, open_dump_, [shared = shared_](const Result<void>& done) {
            if (!done) shared->complain(fmt::format("--control: dump: {}", done.error().message));
            shared->answer(done ? "ack\n" : fmt::format("error: {}\n", done.error().message));
            shared->is_dumping = false;
            ::eventfd_write(shared->dumped.get(), 1);
        });
}

bool ControlChannel::is_dumping() {
    if (!is_waiting_) return false;
    if (shared_->is_dumping) return true;
    eventfd_t times = 0;
    ::eventfd_read(shared_->dumped.get(), &times);
    is_waiting_ = false;
    if (!is_file_) watch(readable_, commands_.get());
    return false;
}

void ControlChannel::take_toggles(std::vector<SamplingCommand>& commands) {
    eventfd_t times = 0;
    if (::eventfd_read(counts_.toggles, &times) != 0 || times % 2 == 0) return;
    commands.push_back({SamplingCommand::Kind::toggle, {}, "SIGUSR2"});
}

// A pause that has ended already is none.
void ControlChannel::take_pauses(std::vector<SamplingCommand>& commands) {
    eventfd_t times = 0;
    if (::eventfd_read(counts_.pauses, &times) != 0 || times % 2 == 0) return;
    is_paused_ = !is_paused_;
    if (is_paused_)
        commands.push_back({SamplingCommand::Kind::pause, {}, "SIGTSTP"});
    else
        commands.push_back({SamplingCommand::Kind::resume, {}, "SIGCONT"});
}

std::string_view ControlChannel::read_bytes() {
    if (is_file_) return read_file();
    if (!is_readable(commands_.get())) return {};
    const auto count = ::read(commands_.get(), bytes_, sizeof bytes_);
    return {bytes_, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

// Returns appended bytes. A file that became shorter is read again from its beginning.
std::string_view ControlChannel::read_file() {
    const auto now = Clock::now();
    if (now < next_observation_) return {};
    struct stat status;
    if (::fstat(commands_.get(), &status) != 0) return {};
    if (status.st_size < offset_) {
        offset_ = 0;
        lines_.clear();
    }
    const auto count = ::pread(commands_.get(), bytes_, sizeof bytes_, offset_);
    if (count <= 0) {
        next_observation_ = now + file_period;
        return {};
    }
    offset_ += count;
    return {bytes_, static_cast<std::size_t>(count)};
}

void ControlChannel::take_line(std::optional<std::string_view> line,
                               std::vector<SamplingCommand>& commands) {
    if (!line)
        return refuse("", {ErrorCode::usage, 0,
                           fmt::format("a line longer than {} bytes", CommandLines::longest)});
    if (is_blank(*line)) return;
    auto command = parse_command(*line, run_);
    if (!command) return refuse(*line, command.error());
    if (*command) {
        if ((*command)->kind == SamplingCommand::Kind::bursts) run_.bursts = (*command)->bursts;
        if ((*command)->kind == SamplingCommand::Kind::dump) begin_dump((*command)->dump);
        commands.push_back(std::move(**command));
    }
    if (!is_waiting_) shared_->answer("ack\n");
}

// A writer may send many wrong lines, so the user is told only once.
void ControlChannel::refuse(std::string_view line, const Error& error) {
    shared_->answer(fmt::format("error: {}\n", error.message));
    if (std::exchange(has_complained_, true)) return;
    shared_->complain(
        line.empty()
            ? fmt::format("--control: {}; further errors are only answered, not printed",
                          error.message)
            : fmt::format("--control: '{}': {}; further errors are only answered, not printed",
                          shown(line), error.message));
}

// Nobody has to read the answers: an answer that does not fit into the FIFO is dropped.
void ControlChannel::Shared::answer(std::string_view text) const {
    if (!answers) return;
    [[maybe_unused]] const auto count = ::write(answers.get(), text.data(), text.size());
}

}  // namespace shadowprof
