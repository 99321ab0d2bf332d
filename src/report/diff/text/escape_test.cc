// Hostile text in Markdown and in workflow commands.
#include "report/diff/text/escape.h"

#include <doctest/doctest.h>

namespace shadowprof::escape_test {

TEST_CASE("nothing in a cell of a Markdown table ends it, is markup, or mentions somebody") {
    const std::string text =
        markdown_escaped("a|b`c`<img src=x onerror=y> @user #1 [x](http://y) **z**");
    for (const char c : std::string_view("|`<>@[]()*:/\"'="))
        CHECK(text.find(c) == std::string::npos);
    CHECK(markdown_escaped("a|b") == "a&#124;b");
    CHECK(markdown_escaped("<b>&amp;") == "&#60;b&#62;&#38;amp;");
    CHECK(markdown_escaped("one\ntwo\r\x1b[31m\x7f") == "one?two??&#91;31m?");
    CHECK(markdown_escaped("www.x.org") == "www&#46;x&#46;org");
    CHECK(markdown_escaped("größe") == "größe");
}

TEST_CASE("a workflow command stays one line, whatever is in its message") {
    CHECK(workflow_message("50% more\n::error::mine\r") == "50%25 more%0A::error::mine%0D");
    CHECK(workflow_message("\x1b[31m\x07") == "?[31m?");
    CHECK(workflow_message("a\n\nb") == "a%0A%0Ab");
    CHECK(workflow_message("") == "");
}

TEST_CASE("a property of a workflow command ends neither itself nor the command's head") {
    CHECK(workflow_property("function:f,line=1::x%\n") == "function%3Af%2Cline=1%3A%3Ax%25%0A");
}

}  // namespace shadowprof::escape_test
