#include "cli/options/command_line.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace shadowprof::command_line_test {
namespace {

constexpr CommandUsage usage = {
    "paint", "[options] WALL",
    "Paints a wall, which should be dry and clean, in as many coats as are asked for, one by one."};

struct Request {
    std::string wall;
    std::size_t coats = 1, colour = 0;
    bool dry = false;
};

std::vector<OptionRow> rows(Request& request) {
    return {{.names = "WALL",
             .help = "which wall",
             .set = set_text(request.wall),
             .argument = OptionRow::Argument::required},
            {.names = "-c,--coats",
             .value = "N",
             .help = "how many coats, of which each has to be dry before the next one can be begun "
                     "[1]",
             .set = set_count(request.coats)},
            {.names = "--colour",
             .value = "COLOUR",
             .help = "red or green [red]",
             .words = {"red", "green"},
             .choose = [&](std::size_t colour) { request.colour = colour; }},
            {.names = "--dry", .help = "wait", .set = set_flag(request.dry)}};
}

// Parses options and returns the other words.
Result<std::vector<std::string>> read(Request& request, std::vector<std::string> words) {
    CommandLine line(usage, rows(request));
    return line.parse_options(words, CommandLine::Options::anywhere);
}

std::string failure_of(std::vector<std::string> words) {
    Request request;
    const auto rest = read(request, std::move(words));
    return rest ? "" : rest.error().message;
}

TEST_CASE("values reach what the rows say, the last one wins") {
    Request request;
    CommandLine line(usage, rows(request));
    CHECK_FALSE(line.parse(
        std::vector<std::string>{"--coats=2", "north", "--colour", "green", "-c", "3k", "--dry"},
        7));
    CHECK(request.wall == "north");
    CHECK(request.coats == 3000);
    CHECK(request.colour == 1);
    CHECK(request.dry);
    CHECK(line.has("--coats"));
}

TEST_CASE("wrong words end with the status for them") {
    for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                   {"north", "south"},
                                                                   {"north", "--coat"},
                                                                   {"north", "-c"},
                                                                   {"north", "-c", "x"},
                                                                   {"north", "--dry=maybe"},
                                                                   {"north", "--", "--dry"}}) {
        Request request;
        CHECK(CommandLine(usage, rows(request)).parse(words, 7) == 7);
    }
}

TEST_CASE("behind -- no word is an option, and a flag that is false is not set") {
    Request request;
    CommandLine line(usage, rows(request));
    CHECK_FALSE(line.parse(std::vector<std::string>{"--dry=false", "--", "--dry"}, 7));
    CHECK(request.wall == "--dry");
    CHECK_FALSE(request.dry);
}

TEST_CASE("a command whose options come first leaves the words behind them as they are") {
    std::vector<std::string> command;
    const auto all = [&] {
        return std::vector<OptionRow>{{.names = "COMMAND",
                                       .set = add_text(command),
                                       .argument = OptionRow::Argument::one_or_more}};
    };
    const auto first = CommandLine::Options::before_command;
    const std::vector<std::string> program = {"echo", "[a,b]", "--", "--help", "-x"};
    CHECK_FALSE(CommandLine(usage, all()).parse(program, 7, first));
    CHECK(command == program);
    command.clear();
    CHECK_FALSE(
        CommandLine(usage, all()).parse(std::vector<std::string>{"--", "--", "a"}, 7, first));
    CHECK(command == std::vector<std::string>{"--", "a"});
    CHECK(CommandLine(usage, all()).parse(std::vector<std::string>{"--nope", "true"}, 7, first) ==
          7);
}

TEST_CASE("help is shown whatever else is wrong") {
    for (const auto& words : std::vector<std::vector<std::string>>{{"--coats=many", "--help"},
                                                                   {"--dry=maybe", "--help"},
                                                                   {"--help", "--coats"},
                                                                   {"--nope", "-h"},
                                                                   {"-h"}}) {
        Request request;
        CHECK(CommandLine(usage, rows(request)).parse(words, 7) == 0);
    }
}

TEST_CASE("an option is accepted by its older name, and messages say the name of now") {
    std::string pace;
    const auto all = [&] {
        return std::vector<OptionRow>{
            {.names = "--pace",
             .old_name = "--speed",
             .value = "PACE",
             .words = {"slow", "fast"},
             .choose = [&](std::size_t choice) { pace = choice == 0 ? "slow" : "fast"; }}};
    };
    CommandLine line(usage, all());
    CHECK_FALSE(line.parse(std::vector<std::string>{"--speed=fast"}, 7));
    CHECK(pace == "fast");
    CommandLine wrong(usage, all());
    const auto failed = wrong.parse_options(std::vector<std::string>{"--speed", "none"},
                                            CommandLine::Options::anywhere);
    CHECK(failed.error().message == "--speed (now --pace) 'none': must be one of slow, fast");
    CHECK(line.unknown_option("--sped").message ==
          "unknown option '--sped'; did you mean '--pace'?");
}

TEST_CASE("a bad value is named with its option, what it must be, and the word that was meant") {
    CHECK(failure_of({"--colour=gren"}) ==
          "--colour 'gren': did you mean 'green'? must be one of red, green");
    CHECK(failure_of({"--coats=many", "--coats=2"}).starts_with("--coats 'many': must be "));
    CHECK(failure_of({"--colour=\x1b[31m"}).find('\x1b') == std::string::npos);
}

TEST_CASE("a value that is missing is named, with the words that it may be") {
    CHECK(failure_of({"--coats"}) == "--coats needs a value: N");
    CHECK(failure_of({"-c"}) == "--coats needs a value: N");
    CHECK(failure_of({"north", "--colour"}) == "--colour needs a value: COLOUR, one of red, green");
}

TEST_CASE("an empty value is a value, and does not take the next word") {
    CHECK(failure_of({"--coats=", "3"}).starts_with("--coats '': must be "));
    CHECK(failure_of({"-c", "", "3"}).starts_with("--coats '': must be "));
    CHECK(failure_of({"--colour=", "green"}).starts_with("--colour '': must be one of"));
    CHECK(failure_of({"--dry="}) == "--dry '': must be true or false");
    Request request;
    CHECK(*read(request, {"--", "--coats="}) == std::vector<std::string>{"--", "--coats="});
    CHECK(*read(request, {"--coats", "2", "--coatings="}) ==
          std::vector<std::string>{"--coatings="});
    CHECK(request.coats == 2);
}

TEST_CASE("an empty text is accepted in both ways to write it") {
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"--name=", "x"}, {"--name", "", "x"}}) {
        std::string name = "none";
        CommandLine line(usage, {{.names = "--name", .value = "NAME", .set = set_text(name)}});
        CHECK(*line.parse_options(words, CommandLine::Options::before_command) ==
              std::vector<std::string>{"x"});
        CHECK(name.empty());
    }
}

TEST_CASE("an option that does not exist is named with the one that is near") {
    Request request;
    const CommandLine line(usage, rows(request));
    CHECK(line.unknown_option("--coat=3").message ==
          "unknown option '--coat'; did you mean '--coats'?");
    CHECK(line.unknown_option("--xyzzy").message == "unknown option '--xyzzy'");
}

TEST_CASE("help has all rows, in lines that fit a terminal") {
    Request request;
    CommandLine line(usage, rows(request));
    REQUIRE(line.parse_options(std::vector<std::string>{"--help"},
                               CommandLine::Options::before_command));
    const std::string help = line.asked_text().value();
    for (const char* part : {"Usage: shadowprof paint [options] WALL\n", "  WALL ",
                             "  -c, --coats N ", "      --colour COLOUR ", "  -h, --help "})
        CHECK_MESSAGE(help.find(part) != std::string::npos, part);
    for (std::size_t begin = 0; begin < help.size();) {
        const std::size_t end = help.find('\n', begin);
        CHECK(end - begin <= 80);
        begin = end + 1;
    }
}

TEST_CASE("shells are told the options and their words") {
    Request request;
    CommandLine line(usage, rows(request));
    REQUIRE(line.parse_options(std::vector<std::string>{"--completion-words"},
                               CommandLine::Options::before_command));
    CHECK(line.asked_text() ==
          "--coats\t\tvalue\t-c\n--colour\tred green\tvalue\t\n"
          "--dry\t\t\t\n--help\t\t\t-h\n");
}

}  // namespace
}  // namespace shadowprof::command_line_test
