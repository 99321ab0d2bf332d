#include "probe/glob.h"

#include <doctest/doctest.h>
#include <fnmatch.h>

#include <random>
#include <string>

namespace shadowprof::glob_test {

TEST_CASE("patterns match as a shell's do") {
    CHECK(glob_matches("", ""));
    CHECK_FALSE(glob_matches("", "a"));
    CHECK(glob_matches("*", ""));
    CHECK(glob_matches("*div", "idiv"));
    CHECK(glob_matches("*div*", "vdivsd"));
    CHECK_FALSE(glob_matches("div", "idiv"));
    CHECK(glob_matches("a?c", "abc"));
    CHECK_FALSE(glob_matches("a?c", "ac"));
    CHECK(glob_matches("op[1-3]", "op2"));
    CHECK_FALSE(glob_matches("op[1-3]", "op4"));
    CHECK(glob_matches("op[!1-3]", "op4"));
    CHECK(glob_matches("[]x]", "]"));
    CHECK(glob_matches("\\*\\[", "*["));
    CHECK_FALSE(glob_matches("\\*", "a"));
    CHECK(glob_matches("*::push_back*", "std::vector<int>::push_back(int&&)"));
    CHECK(glob_matches("[\x80-\xff]", "\xe4"));
}

TEST_CASE("random patterns match as fnmatch says") {
    std::mt19937 random(1);
    const auto word = [&](std::string_view alphabet, std::size_t most) {
        std::string text;
        for (auto left = random() % (most + 1); left > 0; --left)
            text += alphabet[random() % alphabet.size()];
        return text;
    };
    int matched = 0;
    for (int i = 0; i < 200'000; ++i) {
        const auto pattern = word("aab*?[]!-\\", 7), text = word("aab]-", 6);
        if (glob_error(pattern)) continue;
        CAPTURE(pattern);
        CAPTURE(text);
        const bool expected = ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
        // In brackets, fnmatch drops backslashes and rejects some ranges.
        if (pattern.find('[') != std::string::npos &&
            pattern.find_first_of("\\-") != std::string::npos)
            continue;
        REQUIRE(glob_matches(pattern, text) == expected);
        matched += expected;
    }
    CHECK(matched > 1000);
}

TEST_CASE("what is not closed is told with its place") {
    CHECK(glob_error("ab[c") == 2);
    CHECK(glob_error("[]") == 0);
    CHECK(glob_error("[!]") == 0);
    CHECK(glob_error("x\\") == 1);
    CHECK_FALSE(glob_error("[]]"));
    CHECK_FALSE(glob_error("\\[x"));
}

TEST_CASE("a refused pattern is told why, and how to write what was perhaps meant") {
    CHECK(check_glob("[a]*\\["));
    CHECK(check_glob("ab[c").error().message ==
          "the bracket at character 3 is not closed; write \\[ for a bracket itself");
    CHECK(check_glob("x\\").error().message ==
          "nothing follows the backslash at the end; write \\\\ for a backslash itself");
}

TEST_CASE("many stars do not take forever") {
    std::string pattern;
    for (int i = 0; i < 1000; ++i) pattern += "a*";
    CHECK_FALSE(glob_matches(pattern + "b", std::string(3000, 'a')));
}

}  // namespace shadowprof::glob_test
