#include "cli/options/values.h"

#include <doctest/doctest.h>

#include <string>

#include "base/text/suggest.h"
#include "cli/options/words.h"

namespace shadowprof::values_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("durations are read in every unit, with fractions") {
    CHECK(*parse_duration("250us") == 250us);
    CHECK(*parse_duration("20ms") == 20ms);
    CHECK(*parse_duration("1.5s") == 1500ms);
    CHECK(*parse_duration("2m") == 120s);
    CHECK(*parse_duration("0s") == 0s);
}

TEST_CASE("a duration without a unit is in seconds") {
    CHECK(*parse_duration("5") == 5s);
    CHECK(*parse_duration("0.25") == 250ms);
    CHECK(*parse_duration("0") == 0s);
}

TEST_CASE("what is no duration is refused") {
    for (const char* text : {"", ".", "-5", "s", "-1s", "+1s", "1 s", "1S", "1h", "1e3s", "infs",
                             "nans", "1.2.3s", ".s", "1sx", "99999999999999999999s"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_duration(text));
    }
}

TEST_CASE("counts are whole after their multiplier") {
    CHECK(*parse_count("800", 1) == 800);
    CHECK(*parse_count("10k", 1) == 10'000);
    CHECK(*parse_count("1.5M", 1) == 1'500'000);
    CHECK(*parse_count("1.1M", 1) == 1'100'000);
    CHECK(*parse_count("2G", 1) == 2'000'000'000);
    CHECK(*parse_count("0", 0) == 0);
    for (const char* text : {"", "k", "1.5", "1.0005k", "10K", "1kk", "-1", "0x10", "1e6", "2000T",
                             "1e999", "9999999G", "5 M"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_count(text, 1));
    }
}

TEST_CASE("a count below the least is refused and the message gives the least") {
    const auto count = parse_count("999", 1000);
    REQUIRE_FALSE(count);
    CHECK(count.error().message.find("at least 1000") != std::string::npos);
}

TEST_CASE("64-bit numbers are read whole, and no further") {
    CHECK(*parse_u64("18446744073709551615") == 18446744073709551615u);
    CHECK(*parse_u64("0xffffffffffffffff") == 18446744073709551615u);
    for (const char* text : {"18446744073709551616", "0x", "", "1x", "-1", " 1", "0x0x1", "1.0"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_u64(text));
    }
}

TEST_CASE("numbers keep to their range, ends included") {
    CHECK(*parse_number("0.0625", 0.0625, 64) == 0.0625);
    CHECK(*parse_number("64", 0.0625, 64) == 64);
    for (const char* text : {"0.0624", "64.01", "", "1/4", "nan", "inf", "1e1", "-1", "0,5"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_number(text, 0.0625, 64));
    }
}

TEST_CASE("percentages are read with and without the sign") {
    CHECK(*parse_percent("1%") == 1);
    CHECK(*parse_percent("0.5") == 0.5);
    CHECK(*parse_percent("100%") == 100);
    for (const char* text : {"", "%", "0", "0%", "101%", "1%%", "-1%", "one"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_percent(text));
    }
}

TEST_CASE("a choice is one of its words, exactly") {
    constexpr std::string_view words[] = {"auto", "yes"};
    CHECK(*parse_choice("yes", words) == 1);
    const auto wrong = parse_choice("Yes", words);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().message == "did you mean 'yes'? must be one of auto, yes");
}

TEST_CASE("lists have no empty members") {
    CHECK(*split_list("a,bc") == std::vector<std::string_view>{"a", "bc"});
    CHECK(*split_list("a") == std::vector<std::string_view>{"a"});
    for (const char* text : {"", ",", "a,", ",a", "a,,b"}) {
        CAPTURE(text);
        CHECK_FALSE(split_list(text));
    }
}

TEST_CASE("words are split as a shell splits them") {
    using Words = std::vector<std::string>;
    CHECK(*split_words("") == Words{});
    CHECK(*split_words("  \t\n ") == Words{});
    CHECK(*split_words("  a  b\tc\n") == Words{"a", "b", "c"});
    CHECK(*split_words("'a b' \"c d\" e\\ f") == Words{"a b", "c d", "e f"});
    CHECK(*split_words("--o='x'y\"z\"") == Words{"--o=xyz"});
    CHECK(*split_words("'' \"\"") == Words{"", ""});
    CHECK(*split_words(R"('a\b' "a\"b\\c\d")") == Words{"a\\b", "a\"b\\c\\d"});
    CHECK(*split_words("$HOME *") == Words{"$HOME", "*"});
    for (const char* text : {"'a", "\"a", "\"a\\", "a\\", "a 'b"}) {
        CAPTURE(text);
        CHECK_FALSE(split_words(text));
    }
}

TEST_CASE("a suggestion is near or absent") {
    constexpr std::string_view known[] = {"run", "attach", "report", "merge"};
    CHECK(nearest("rum", known) == "run");
    CHECK(nearest("atach", known) == "attach");
    CHECK(nearest("reprot", known) == "report");
    CHECK(nearest("rnu", known) == "run");
    CHECK(nearest("run", known) == "run");
    CHECK(nearest("profile", known).empty());
    CHECK(nearest("", known).empty());
}

}  // namespace
}  // namespace shadowprof::values_test
