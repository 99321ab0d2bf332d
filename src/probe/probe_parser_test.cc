#include <cstdlib>
#include <fstream>

#include "probe/test_probes.h"

namespace shadowprof::probe_parser_test {
namespace {

ProbeError refusal(std::string_view text) {
    auto parsed = Probe::parse(text);
    const auto* error = std::get_if<ProbeError>(&parsed);
    REQUIRE_MESSAGE(error, text);
    return *error;
}

Probe accepted(std::string_view text) {
    auto parsed = Probe::parse(text);
    const auto* error = std::get_if<ProbeError>(&parsed);
    REQUIRE_MESSAGE(!error, render(error ? *error : ProbeError{}, text));
    return std::get<Probe>(parsed);
}

std::string repeated(std::string_view part, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += part;
    return text;
}

}  // namespace

TEST_CASE("a probe says what it records and by what") {
    const auto div = accepted("div: mnemonic ~ \"*div\" { hotlist(op1) }");
    CHECK(div.name() == "div");
    CHECK(div.text() == "div: mnemonic ~ \"*div\" { hotlist(op1) }");
    CHECK(div.reducer() == Reducer::hotlist);
    CHECK(div.value() == ProbeOperand::number);
    CHECK(div.key() == ProbeOperand::none);
    CHECK_FALSE(div.value_is_signed());
    CHECK_FALSE(div.uses_places());

    const auto malloc = accepted("function==\"malloc\"&&entry{histogram(int32(rdi))by caller}");
    CHECK(malloc.name().empty());
    CHECK(malloc.reducer() == Reducer::histogram);
    CHECK(malloc.key() == ProbeOperand::caller);
    CHECK(malloc.value_is_signed());
    CHECK(malloc.uses_places());
    CHECK(malloc.uses_callers());

    const auto count = accepted("true { count() by -1 }");
    CHECK(count.value() == ProbeOperand::none);
    CHECK(count.key_is_signed());
    CHECK(accepted("writes { hotlist(at) by address / 64 * 64 }").value() == ProbeOperand::at);
    CHECK(accepted("latency > 300 { count() by at }").uses_latency());
    CHECK(accepted("true { count() by ah }").key() == ProbeOperand::number);
}

TEST_CASE("the examples of the document are accepted, all together") {
    const char* path = std::getenv("PROBES_DOCUMENT");
    REQUIRE(path);
    std::ifstream in(path);
    std::vector<std::string> examples;
    bool quoted = false;
    for (std::string line; std::getline(in, line) && line != "## Conditions and values";) {
        if (line == "```")
            quoted = !quoted;
        else if (quoted && line[0] != '[')
            examples.push_back(line);
    }
    CHECK(examples.size() == 11);
    CHECK(probe_set(examples).probes()[0].name() == "divisors");
}

TEST_CASE("each error names its character") {
    struct Row {
        std::string_view text;
        std::size_t offset;
        std::string_view message;
    };
    constexpr Row rows[] = {
        {"", 0, "expected a value; the probe ends here"},
        {"functoin == \"f\" { count() }", 0, "unknown name 'functoin'; did you mean 'function'?"},
        {"reads && raxx > 1 { count() }", 9, "unknown name 'raxx'; did you mean 'rax'?"},
        {"op5 { count() }", 0, "unknown name 'op5'; did you mean 'op1'?"},
        {"reads $ { count() }", 6, "unexpected character '$'"},
        {"reads \x01", 6, "unexpected byte 0x01"},
        {"reads = 1 { count() }", 6, "unexpected character '='"},
        {"mnemonic == \"mov { count() }", 12, "this quote is not closed"},
        {"text == \"a\\nb\" { count() }", 10,
         "a backslash stands only in front of a quote or a backslash"},
        {"rax == 12x { count() }", 7, "'12x' is not a number"},
        {"rax == 0x { count() }", 7, "'0x' is not a number"},
        {"rax == 18446744073709551616 { count() }", 7, "18446744073709551616 does not fit 64 bits"},
        {"{ count() }", 0, "a condition is missing here; 'true' always holds"},
        {"x: { count() }", 3, "a condition is missing here; 'true' always holds"},
        {"reads count() }", 6, "expected '{' or an operator; found 'count'"},
        {"reads", 5, "expected '{' or an operator; the probe ends here"},
        {"(reads { count() }", 7, "expected ')' or an operator; found '{'"},
        {"reads && { count() }", 9, "expected a value; found '{'"},
        {"reads { hotlst(op1) }", 8,
         "expected count, sum, hotlist or histogram; found 'hotlst'; did you mean 'hotlist'?"},
        {"reads { count }", 14, "expected '(' behind the reducer; found '}'"},
        {"reads { count(op1) }", 14, "count() takes no value"},
        {"reads { sum() }", 12, "sum needs a value"},
        {"reads { sum(at) }", 12, "a place in code is not a number: only hotlist takes it"},
        {"reads { histogram(caller) }", 18,
         "a place in code is not a number: only hotlist takes it"},
        {"reads { hotlist(at + 1) }", 19, "'at' is a place in code: it stands alone"},
        {"reads { hotlist(1 + at) }", 20,
         "'at' is a place in code: it stands alone as a value or behind 'by'"},
        {"caller == 1 { count() }", 0,
         "'caller' is a place in code: it stands alone as a value or behind 'by'"},
        {"reads { sum(op1) for rax }", 17, "expected '}' or 'by'; found 'for'"},
        {"reads { sum(op1) by }", 20, "expected a value; found '}'"},
        {"reads { count() } x", 18, "nothing may follow the probe; give --probe again for another"},
        {"mnemonic { count() }", 0, "text can only be compared, by ==, !=, ~ or !~"},
        {"mnemonic + 1 == 2 { count() }", 0, "text can only be compared, by ==, !=, ~ or !~"},
        {"mnemonic == 1 { count() }", 9, "this compares text with a number"},
        {"rax == \"mov\" { count() }", 4, "this compares text with a number"},
        {"reads { sum(mnemonic) }", 12, "text can only be compared, by ==, !=, ~ or !~"},
        {"rax ~ \"a\" { count() }", 4, "this compares text with a pattern"},
        {"mnemonic ~ text { count() }", 11, "a pattern is text in quotes"},
        {"mnemonic ~ \"[a\" { count() }", 11,
         "a bracket of this pattern is not closed, or nothing follows a backslash"},
        {"function == mnemonic { count() }", 0,
         "function, module, file and line can only be compared with constants"},
        {"line == rax { count() }", 0,
         "function, module, file and line can only be compared with constants"},
        {"reads { sum(line) }", 12,
         "function, module, file and line can only be compared with constants"},
        {"reads { sum(mem8(line)) }", 17,
         "function, module, file and line can only be compared with constants"},
        {"mem64 > 1 { count() }", 6, "expected '(' behind mem64; found '>'"},
        {"mem64(rax { count() }", 10, "expected ')' or an operator; found '{'"},
        {"mem24(rax) { count() }", 0, "unknown name 'mem24'; did you mean 'mem64'?"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        const auto error = refusal(row.text);
        CHECK(error.offset == row.offset);
        CHECK(error.message == row.message);
    }
}

TEST_CASE("limits are told, and what is just below them is accepted") {
    const auto nested = [](std::size_t depth) {
        return repeated("(", depth) + "1" + repeated(")", depth) + "{count()}";
    };
    accepted(nested(max_nesting - 1));
    CHECK(refusal(nested(max_nesting)).offset == max_nesting);
    CHECK(refusal(repeated("!", 4000)).offset == max_nesting);
    const auto chain = [](std::size_t length) {
        return "1" + repeated("+1", length) + "{count()}";
    };
    accepted(chain(max_height - 1));
    CHECK(refusal(chain(max_height)).offset == 2 * max_height - 1);
    // Each level keeps one value on the stack for each precedence.
    const std::string level = "1||1&&1|1^1&1==1<1<<1+1*(";
    CHECK(refusal(repeated(level, 8) + "1" + repeated(")", 8) + "{count()}").message ==
          "this is nested too deeply");
    const auto long_text = [](std::size_t size) {
        return "true{count()}" + repeated(" ", size - 13);
    };
    accepted(long_text(max_probe_text));
    CHECK(refusal(long_text(max_probe_text + 1)).offset == max_probe_text);
    CHECK(refusal(repeated("n", max_probe_name + 1) + ": true {count()}").offset == 0);
    accepted(repeated("n", max_probe_name) + ": true {count()}");
}

TEST_CASE("an error is shown with a caret under its character") {
    CHECK(render({6, "no"}, "reads ? x") == "no\n  reads ? x\n        ^");
    CHECK(render({3, "end"}, "abc") == "end\n  abc\n     ^");
    CHECK(render({99, "beyond"}, "abc") == "beyond\n  abc\n     ^");
    CHECK(render({4, "m"}, "one\ntwo\nthree") == "m\n  two\n  ^");
    CHECK(render({4, "m"}, "\"\xc3\xa4\" $") == "m\n  \"\xc3\xa4\" $\n     ^");
    CHECK(render({1, "m"}, "\t$") == "m\n   $\n   ^");
    const std::string line(500, 'x');
    CHECK(render({200, "m"}, line) ==
          "m\n  " + std::string(100, 'x') + "\n  " + std::string(60, ' ') + "^");
}

TEST_CASE("probes of a run have names of their own") {
    const auto set = probe_set({"true { count() }", "b: true { count() }", "true { count() }"});
    REQUIRE(set.probes().size() == 3);
    CHECK(set.probes()[0].name() == "probe1");
    CHECK(set.probes()[1].name() == "b");
    CHECK(set.probes()[2].name() == "probe3");

    const auto message = [](std::vector<std::string> texts) {
        const auto refused = ProbeSet::parse(texts);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == ErrorCode::usage);
        return refused.error().message;
    };
    CHECK(message({"a: true {count()}", "a: reads {count()}"}) == "two probes have the name 'a'");
    CHECK(message({"true {count()}", "probe1: reads {count()}"}) ==
          "two probes have the name 'probe1'");
    CHECK(message({"true {count()}", "true {cunt()}"}).ends_with("\n  true {cunt()}\n        ^"));
    CHECK(message(std::vector<std::string>(17, "true {count()}")) ==
          "there are 17 probes; at most 16 can be given");
    const std::vector<std::string> tests(
        3, "line == 1 && reads" + repeated(" || entry && rax", 24) + "{count()}");
    CHECK(message(tests) == "the probes have more than 64 conditions on places between them");
}

}  // namespace shadowprof::probe_parser_test
