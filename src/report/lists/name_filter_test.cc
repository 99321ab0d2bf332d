#include "report/lists/name_filter.h"

#include <doctest/doctest.h>

namespace shadowprof::name_filter_test {

TEST_CASE("functions are meant by their names, with and without arguments, and by patterns") {
    CHECK(NameFilter("").matches("f"));
    CHECK(NameFilter("f").matches("f"));
    CHECK_FALSE(NameFilter("f").matches("ff"));
    CHECK(NameFilter("f").matches("f(int, char)"));
    CHECK(NameFilter("f(int, char)").matches("f(int, char)"));
    CHECK_FALSE(NameFilter("f(int)").matches("f(int, char)"));
    CHECK(NameFilter("parse_*").matches("parse_number"));
    CHECK(NameFilter("*::at").matches("list<int>::at(unsigned long)"));
    CHECK(NameFilter("*unsigned*").matches("list<int>::at(unsigned long)"));
}

TEST_CASE("what is no pattern is a name") {
    CHECK(NameFilter("a[").matches("a["));
    CHECK(NameFilter("list::operator[]").matches("list::operator[](unsigned long)"));
    CHECK_FALSE(NameFilter("a[").matches("ab"));
}

TEST_CASE("a pattern with an open bracket is refused, unless it names an operator") {
    CHECK(check_name_filter("f*"));
    CHECK(check_name_filter("list::operator[]"));
    CHECK(check_name_filter("f[").error().code == ErrorCode::usage);
}

}  // namespace shadowprof::name_filter_test
