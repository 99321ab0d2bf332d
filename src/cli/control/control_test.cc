// Control channels: commands from users, and input from malicious writers.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "base/files/fd.h"
#include "cli/control/control_channel.h"
#include "cli/options/control_paths.h"

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
    if (with_bursts) request.options.bursts = bursts_of({1000, {}, {}}, {}).value();
    return request;
}

struct Opened {
    std::vector<std::string> complaints;
    ControlChannel channel;

    explicit Opened(const RunRequest& request, SignalCounts counts = {})
        : channel(ControlChannel::open(request, counts, [this](const std::string& text) {
                      complaints.push_back(text);
                  }).value()) {}
    Opened(const Opened&) = delete;

    // Takes all commands that are there now.
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

// Waits for commands. Only for a channel of a regular file, which take() reads once in a period.
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

ControlledRun run_with_bursts(const ProfileKinds& collected = {}) {
    return {collected, bursts_of({1000, {}, {}}, collected).value()};
}

TEST_CASE("lines become commands") {
    const auto run = run_with_bursts();
    CHECK((*parse_command("enable", run))->kind == Kind::enable);
    CHECK((*parse_command("  disable \t\r", run))->kind == Kind::disable);
    CHECK((*parse_command("stop", run))->kind == Kind::stop);
    CHECK_FALSE(*parse_command("ping", run));
    const auto every = **parse_command("every   500calls", run);
    CHECK(every.kind == Kind::bursts);
    CHECK(every.bursts.plan.every == 500);
    CHECK(every.bursts.plan.events == EventKinds{true, false});
    CHECK(every.bursts.plan.lengths == run.bursts->plan.lengths);
    CHECK(every.text == "every 500calls");
    const auto length = **parse_command("burst-length path:7,value:8", run);
    CHECK(length.bursts.plan.every == 1000);
    CHECK(length.bursts.plan.lengths[BurstKind::path] == 7);
    CHECK(length.bursts.value_length == 8);
}

TEST_CASE("single kinds get frequencies of their own, and are switched off") {
    const auto run = run_with_bursts();
    const auto every = **parse_command("every path:50k,value:2M", run);
    CHECK(every.bursts.plan.every == 1000);
    CHECK(every.bursts.plan.own_every == KindEvents{{0, 50'000, 0}});
    CHECK(every.bursts.between_values() == 2'000'000);
    const auto off = **parse_command("burst-length edge:0,value:0", run);
    CHECK(off.bursts.plan.lengths == KindEvents{{0, 1, 1}});
    CHECK(off.bursts.value_length == 0);
    const auto on = **parse_command("burst-length edge:3", {run.collected, off.bursts});
    CHECK(on.bursts.plan.lengths == KindEvents{{3, 1, 1}});
}

TEST_CASE("profiles, the budget and the load are changed") {
    const auto run = run_with_bursts(ProfileKinds().with<LatencyList>());
    const auto off = **parse_command("profiles edge,latency", run);
    CHECK(off.kind == Kind::profiles);
    CHECK(off.profiles == ProfileKinds::of<EdgeList, LatencyList>());
    CHECK((*parse_command("profiles all", run))->profiles == run.collected);
    const auto budget = **parse_command("budget 2.5%", run);
    CHECK(budget.kind == Kind::budget);
    CHECK(budget.number == 2.5);
    const auto load = **parse_command("load 0.5", run);
    CHECK(load.kind == Kind::load);
    CHECK(load.number == 0.5);
    CHECK(load.text == "load 0.5");
}

TEST_CASE("profiles that cannot be switched apart from others are refused") {
    const auto error = [](std::string_view line, const ControlledRun& run) {
        const auto command = parse_command(line, run);
        return command ? std::string() : command.error().message;
    };
    const ControlledRun whole{ProfileKinds::all(), {}};
    CHECK(error("profiles edge", whole).find("--every") != std::string::npos);
    CHECK(error("profiles edge,path,call", whole) == "");
    CHECK(error("profiles latency", whole) == "");
    CHECK(error("profiles edge,path,call,hazard", whole)
              .find("hazard and stream can only be switched together") != std::string::npos);
    CHECK(error("profiles edge,path,call,hazard,stream", whole) == "");
    CHECK(error("profiles edge", run_with_bursts()) == "");
    CHECK(error("profiles edge,latency", run_with_bursts())
              .find("began with can be chosen: edge,path,stack,value") != std::string::npos);
    CHECK(error("profiles valuw", whole).starts_with("did you mean 'value'? "));
    for (const char* line : {"profiles", "profiles none", "profiles ,", "budget", "budget 0",
                             "budget 101", "load 0", "load 65", "load x"})
        CHECK_MESSAGE(error(line, whole) != "", line);
}

TEST_CASE("what is no command is refused with what is") {
    const auto run = run_with_bursts(ProfileKinds().without<PathList>());
    for (const char* line : {"Enable", "enable now", "every", "every x", "every 0", "every path:5",
                             "every edge:0", "burst-length", "burst-length path:5",
                             "burst-length path:0", "burst-length edge", "toggle", "\x01\x02"}) {
        CAPTURE(line);
        const auto command = parse_command(line, run);
        REQUIRE_FALSE(command);
        CHECK(command.error().code == ErrorCode::usage);
    }
    CHECK(parse_command("every 5", {}).error().message.find("--every") != std::string::npos);
}

TEST_CASE("unknown words are answered with the nearest one") {
    const auto run = run_with_bursts();
    const auto answer = [&](std::string_view line) {
        return parse_command(line, run).error().message;
    };
    CHECK(answer("enavle").starts_with("did you mean 'enable'? the commands are enable, "));
    CHECK(answer("burstlength edge:1").starts_with("did you mean 'burst-length'? "));
    CHECK(answer("every valuw:50").starts_with("did you mean 'value'? "));
    CHECK(answer("every 5callz").starts_with("did you mean 'calls'? "));
    CHECK(answer("burst-length pth:5").starts_with("did you mean 'path'? "));
    CHECK(answer("\x1b[31m").starts_with("the commands are "));
    CHECK(answer("ping pong") == "ping takes no value");
    CHECK(answer("every") == "every takes N or KIND:N");
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
    // The writer has gone. That makes the channel neither end nor readable.
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
    Opened opened(request_of(""), {.toggles = toggles.get()});
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

TEST_CASE("a pause begins and ends, and one that has ended is none") {
    const UniqueFd pauses(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    Opened opened(request_of(""), {.pauses = pauses.get()});
    for (const Kind kind : {Kind::pause, Kind::resume, Kind::pause}) {
        ::eventfd_write(pauses.get(), 1);
        CHECK(is_readable(opened.channel.fd()));
        const auto commands = opened.channel.take();
        REQUIRE(commands.size() == 1);
        CHECK(commands[0].kind == kind);
        CHECK_FALSE(is_readable(opened.channel.fd()));
    }
    ::eventfd_write(pauses.get(), 2);
    CHECK(opened.channel.take().empty());
}

TEST_CASE("what cannot be a channel is named") {
    const Folder folder;
    const auto failure = [&](const std::string& control) {
        const auto opened = ControlChannel::open(request_of(control), {}, {});
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

TEST_CASE("dumps name a file, and say what they are of") {
    ControlledRun run;
    const auto dump = [&](std::string_view line) {
        const auto parsed = parse_command(line, run);
        REQUIRE(parsed.has_value());
        REQUIRE(parsed->has_value());
        CHECK((*parsed)->kind == Kind::dump);
        return (*parsed)->dump;
    };
    CHECK(dump("dump a.json").part == DumpPart::whole);
    CHECK(dump("  dump\ta b.json \r").file == "a b.json");
    CHECK(dump("dump-new /tmp/a").part == DumpPart::phase);
    for (const char* line : {"dump", "dump -", "dump a\x1b[31m", "dump-new", "dump-new -"})
        CHECK_FALSE(parse_command(line, run).has_value());
    const auto near = parse_command("dunp x", run);
    REQUIRE_FALSE(near.has_value());
    CHECK(near.error().message.starts_with("did you mean 'dump'?"));
    run.has_phases = true;
    CHECK(dump("dump a.json").part == DumpPart::whole);
    CHECK_FALSE(parse_command("dump-new a.json", run).has_value());
}

TEST_CASE("what follows a dump is taken when that is written") {
    const Folder folder;
    const auto ctl = folder.fifo("ctl"), ack = folder.fifo("ack");
    Opened opened(request_of(ctl + "," + ack));
    const UniqueFd answers(::open(ack.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    const auto answered = [&] {
        char bytes[4096];
        const auto count = ::read(answers.get(), bytes, sizeof bytes);
        return std::string(bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    };
    write_to(ctl, "disable\ndump a\nenable\ndump b\nstop\n");
    auto commands = opened.all();
    REQUIRE(commands.size() == 2);
    CHECK(commands[1].dump.file == "a");
    CHECK(answered() == "ack\n");
    write_to(ctl, "ping\n");
    CHECK_FALSE(is_readable(opened.channel.fd()));
    CHECK(opened.all().empty());
    commands[1].dump.receiver->on_done({});
    CHECK(is_readable(opened.channel.fd()));
    CHECK(answered() == "ack\n");
    commands = opened.all();
    REQUIRE(commands.size() == 2);
    CHECK(commands[0].kind == Kind::enable);
    CHECK(commands[1].dump.file == "b");
    CHECK(answered() == "ack\n");
    commands[1].dump.receiver->on_done(Error{ErrorCode::permission, 0, "cannot write 'b'"});
    CHECK(answered() == "error: cannot write 'b'\n");
    CHECK(opened.complaints == std::vector<std::string>{"--control: dump: cannot write 'b'"});
    commands = opened.all();
    REQUIRE(commands.size() == 1);
    CHECK(commands[0].kind == Kind::stop);
    CHECK(answered() == "ack\nack\n");
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
