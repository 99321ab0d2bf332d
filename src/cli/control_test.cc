// Control channels: what users write to them, and what others might.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "base/readable.h"
#include "cli/control_channel.h"
#include "cli/control_paths.h"

namespace shadowprof::control_test {
using Kind = SamplingCommand::Kind;

namespace {

class Folder {
  public:
    Folder() { REQUIRE(::mkdtemp(name_) != nullptr); }
    ~Folder() {
        for (const char* file : {"ctl", "ack"}) ::unlink(path(file).c_str());
        ::rmdir(name_);
    }
    std::string path(const std::string& file) const { return std::string(name_) + "/" + file; }
    std::string fifo(const std::string& file) const {
        REQUIRE(::mkfifo(path(file).c_str(), 0600) == 0);
        return path(file);
    }

  private:
    char name_[32] = "/tmp/shadowprof-control-XXXXXX";
};

RunRequest request_of(const std::string& control, bool with_bursts = true) {
    RunRequest request;
    request.control = control;
    if (with_bursts) request.options.windows = bursts_of({1000, {}}, {});
    return request;
}

struct Opened {
    std::vector<std::string> complaints;
    ControlChannel channel;

    explicit Opened(const RunRequest& request, int toggles = -1)
        : channel(ControlChannel::open(request, toggles, [this](const std::string& text) {
                      complaints.push_back(text);
                  }).value()) {}
    Opened(const Opened&) = delete;

    // Everything that can be taken now.
    std::vector<SamplingCommand> all() {
        std::vector<SamplingCommand> commands;
        for (int i = 0; i < 200; ++i) {
            auto some = channel.take();
            std::move(some.begin(), some.end(), std::back_inserter(commands));
            if (some.empty() && !is_readable(channel.fd())) break;
        }
        return commands;
    }
};

void write_to(const std::string& path, std::string_view text, int flags = O_WRONLY) {
    const UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
    REQUIRE(fd);
    REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

std::string read_from(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    char bytes[4096];
    const auto count = ::read(fd.get(), bytes, sizeof bytes);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

// Of a file, which is looked at now and then.
std::vector<SamplingCommand> wait_for(ControlChannel& channel) {
    while (true) {
        auto commands = channel.take();
        if (!commands.empty()) return commands;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace

TEST_CASE("the value of --control names one or two files") {
    CHECK(parse_control_paths("ctl")->commands == "ctl");
    CHECK(parse_control_paths("ctl")->answers == "");
    CHECK(parse_control_paths("fifo:/a/ctl,/a/ack")->commands == "/a/ctl");
    CHECK(parse_control_paths("fifo:/a/ctl,/a/ack")->answers == "/a/ack");
    for (const char* text : {"", "fifo:", ",ack", "ctl,", "a,b,c"}) {
        CAPTURE(text);
        CHECK(parse_control_paths(text).error().code == ErrorCode::usage);
    }
}

TEST_CASE("lines become commands") {
    const std::optional<WindowOptions> bursts = bursts_of({1000, {}}, {});
    CHECK((*parse_command("enable", bursts))->kind == Kind::enable);
    CHECK((*parse_command("  disable \t\r", bursts))->kind == Kind::disable);
    CHECK((*parse_command("stop", bursts))->kind == Kind::stop);
    CHECK_FALSE(*parse_command("ping", bursts));
    const auto every = **parse_command("every   500calls", bursts);
    CHECK(every.kind == Kind::bursts);
    CHECK(every.bursts.plan.every == 500);
    CHECK(every.bursts.plan.events == EventKinds{true, false});
    CHECK(every.bursts.plan.lengths == bursts->plan.lengths);
    CHECK(every.text == "every 500calls");
    const auto length = **parse_command("burst-length path:7,value:8", bursts);
    CHECK(length.bursts.plan.every == 1000);
    CHECK(length.bursts.plan.lengths[BurstKind::path] == 7);
    CHECK(length.bursts.value_length == 8);
}

TEST_CASE("what is no command is refused with what is") {
    const std::optional<WindowOptions> bursts =
        bursts_of({1000, {}}, {.edges = true, .paths = false});
    for (const char* line : {"Enable", "enable now", "every", "every x", "every 0", "burst-length",
                             "burst-length path:5", "burst-length edge", "toggle", "\x01\x02"}) {
        CAPTURE(line);
        const auto command = parse_command(line, bursts);
        REQUIRE_FALSE(command);
        CHECK(command.error().code == ErrorCode::usage);
    }
    CHECK(parse_command("every 5", std::nullopt).error().message.find("--every") !=
          std::string::npos);
}

TEST_CASE("a FIFO's lines are taken in order, and answered") {
    const Folder folder;
    const auto ctl = folder.fifo("ctl"), ack = folder.fifo("ack");
    Opened opened(request_of("fifo:" + ctl + "," + ack));
    CHECK_FALSE(is_readable(opened.channel.fd()));
    CHECK(opened.channel.take().empty());
    const UniqueFd answers(::open(ack.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    write_to(ctl, "disable\nping\nevery 5\n\nevery nothing\nburst-length edge:3\nena");
    CHECK(is_readable(opened.channel.fd()));
    const auto commands = opened.all();
    REQUIRE(commands.size() == 3);
    CHECK(commands[0].kind == Kind::disable);
    CHECK(commands[1].bursts.plan.every == 5);
    CHECK(commands[2].bursts.plan.every == 5);
    CHECK(commands[2].bursts.plan.lengths[BurstKind::edge] == 3);
    char bytes[4096];
    const auto count = ::read(answers.get(), bytes, sizeof bytes);
    const std::string text(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    CHECK(text.starts_with("ack\nack\nack\nerror: "));
    CHECK(text.ends_with("\nack\n"));
    // The writer is gone; the channel is neither at its end nor readable for that.
    CHECK_FALSE(is_readable(opened.channel.fd()));
    write_to(ctl, "ble\n");
    const auto rest = opened.all();
    REQUIRE(rest.size() == 1);
    CHECK(rest[0].kind == Kind::enable);
}

TEST_CASE("a file's lines are taken as they are appended, and anew when it was emptied") {
    const Folder folder;
    const auto ctl = folder.path("ctl");
    std::ofstream(ctl) << "disable\n";
    Opened opened(request_of(ctl));
    CHECK(wait_for(opened.channel)[0].kind == Kind::disable);
    write_to(ctl, "ena", O_WRONLY | O_APPEND);
    CHECK(opened.channel.take().empty());
    write_to(ctl, "ble\nstop\n", O_WRONLY | O_APPEND);
    const auto two = wait_for(opened.channel);
    REQUIRE(two.size() == 2);
    CHECK(two[0].kind == Kind::enable);
    CHECK(two[1].kind == Kind::stop);
    write_to(ctl, "enable\n", O_WRONLY | O_TRUNC);
    CHECK(wait_for(opened.channel)[0].kind == Kind::enable);
    CHECK(opened.complaints.empty());
}

TEST_CASE("signals switch over, two of them do not") {
    const UniqueFd toggles(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    Opened opened(request_of(""), toggles.get());
    CHECK(opened.channel.take().empty());
    ::eventfd_write(toggles.get(), 1);
    CHECK(is_readable(opened.channel.fd()));
    const auto commands = opened.channel.take();
    REQUIRE(commands.size() == 1);
    CHECK(commands[0].kind == Kind::toggle);
    CHECK(commands[0].text == "SIGUSR2");
    CHECK_FALSE(is_readable(opened.channel.fd()));
    ::eventfd_write(toggles.get(), 2);
    CHECK(opened.channel.take().empty());
}

TEST_CASE("what cannot be a channel is named") {
    const Folder folder;
    const auto failure = [&](const std::string& control) {
        const auto opened = ControlChannel::open(request_of(control), -1, {});
        return opened ? std::string() : opened.error().message;
    };
    CHECK(failure(folder.path("ctl")).find("ctl") != std::string::npos);
    CHECK(failure("/dev/null").find("neither a FIFO nor a file") != std::string::npos);
    CHECK(failure("/tmp").find("neither a FIFO nor a file") != std::string::npos);
    const auto ctl = folder.fifo("ctl");
    CHECK(failure(ctl + "," + folder.path("ack")).find("ack") != std::string::npos);
    CHECK(failure(ctl) == "");
}

TEST_CASE("nonsense is complained of once, whatever it is, and harms nothing") {
    const Folder folder;
    const auto ctl = folder.fifo("ctl");
    Opened opened(request_of(ctl));
    write_to(ctl, "\x1b[31mred\xff\n" + std::string(3000, 'x') + "\n" + "disable" +
                      std::string(1, '\0') + "\n");
    CHECK(opened.all().empty());
    REQUIRE(opened.complaints.size() == 1);
    for (const char c : opened.complaints[0]) CHECK((' ' <= c && c <= '~'));
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        std::string bytes(random() % 2000, ' ');
        for (char& c : bytes) c = static_cast<char>(random());
        write_to(ctl, bytes);
        for (const auto& command : opened.all()) CHECK(command.kind != Kind::stop);
    }
    write_to(ctl, "\ndisable\n");
    const auto commands = opened.all();
    REQUIRE(commands.size() == 1);
    CHECK(commands[0].kind == Kind::disable);
    CHECK(opened.complaints.size() == 1);
}

TEST_CASE("answers that nobody reads are dropped, not waited for") {
    const Folder folder;
    const auto ctl = folder.fifo("ctl"), ack = folder.fifo("ack");
    Opened opened(request_of(ctl + "," + ack));
    std::string pings;
    for (int i = 0; i < 500; ++i) pings += "ping\n";
    for (int i = 0; i < 100; ++i) {
        write_to(ctl, pings);
        CHECK(opened.all().empty());
    }
    CHECK(read_from(ack).starts_with("ack\n"));
}

TEST_CASE("lines of commands are cut wherever, too long ones are told") {
    std::string text = "first\n\n" + std::string(CommandLines::longest, 'a') + "\n" +
                       std::string(CommandLines::longest + 1, 'b') + "\nlast\nrest";
    for (std::size_t piece : {1u, 2u, 7u, 100u, 10'000u}) {
        CAPTURE(piece);
        CommandLines lines;
        std::vector<std::string> seen;
        for (std::size_t at = 0; at < text.size(); at += piece)
            lines.add(std::string_view(text).substr(at, piece),
                      [&](auto line) { seen.emplace_back(line.value_or("too long")); });
        REQUIRE(seen.size() == 5);
        CHECK(seen[0] == "first");
        CHECK(seen[1] == "");
        CHECK(seen[2].size() == CommandLines::longest);
        CHECK(seen[3] == "too long");
        CHECK(seen[4] == "last");
    }
}

}  // namespace shadowprof::control_test
