// The two properties of grammars, and that a grammar expands to its sequence.
#include "profile/kinds/streams/sequitur.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "profile/statistics/random.h"

namespace shadowprof::sequitur_test {
namespace {

using Grammar = Sequitur::Grammar;
using Symbol = Sequitur::Symbol;
using Kind = Symbol::Kind;
using Sequence = std::vector<std::optional<std::uint32_t>>;  // nothing: a break

Grammar grammar_of(const Sequence& sequence) {
    Sequitur sequitur;
    for (const auto& terminal : sequence)
        terminal ? sequitur.append(*terminal) : sequitur.append_break();
    return sequitur.grammar();
}

// Rules come before those that they use, so expansion goes backwards.
std::vector<Sequence> expansions(const Grammar& grammar) {
    std::vector<Sequence> known(grammar.rules.size());
    for (std::size_t rule = grammar.rules.size(); rule-- > 0;)
        for (const Symbol symbol : grammar.rules[rule]) {
            if (symbol.kind == Kind::rule) {
                REQUIRE(symbol.number > rule);
                const auto& used = known[symbol.number];
                known[rule].insert(known[rule].end(), used.begin(), used.end());
            } else {
                known[rule].push_back(symbol.kind == Kind::gap ? std::nullopt
                                                               : std::optional(symbol.number));
            }
        }
    return known;
}

using Digram = std::pair<std::pair<Kind, std::uint32_t>, std::pair<Kind, std::uint32_t>>;

// Each digram has one place, given as (rule, position). A second place must overlap the first.
void check_digrams_are_unique(const Grammar& grammar) {
    std::map<Digram, std::pair<std::size_t, std::size_t>> seen;
    for (std::size_t rule = 0; rule < grammar.rules.size(); ++rule) {
        const auto& symbols = grammar.rules[rule];
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const Symbol a = symbols[i], b = symbols[i + 1];
            if (a.kind == Kind::gap || b.kind == Kind::gap) continue;
            const Digram digram{{a.kind, a.number}, {b.kind, b.number}};
            const auto [at, is_new] = seen.emplace(digram, std::pair(rule, i));
            const bool overlaps = at->second == std::pair(rule, i - 1);
            CAPTURE(rule);
            CAPTURE(i);
            REQUIRE((is_new || overlaps));
        }
    }
}

void check_rules_are_used(const Grammar& grammar) {
    std::vector<unsigned> uses(grammar.rules.size());
    for (const auto& rule : grammar.rules)
        for (const Symbol symbol : rule)
            if (symbol.kind == Kind::rule) ++uses[symbol.number];
    for (std::size_t rule = 1; rule < uses.size(); ++rule) {
        REQUIRE(uses[rule] >= 2);
        REQUIRE(grammar.rules[rule].size() >= 2);
        for (const Symbol symbol : grammar.rules[rule]) REQUIRE(symbol.kind != Kind::gap);
    }
}

std::size_t symbols(const Grammar& grammar) {
    std::size_t count = 0;
    for (const auto& rule : grammar.rules) count += rule.size();
    return count;
}

Grammar check(const Sequence& sequence) {
    const Grammar grammar = grammar_of(sequence);
    REQUIRE(expansions(grammar)[0] == sequence);
    check_digrams_are_unique(grammar);
    check_rules_are_used(grammar);
    CHECK(symbols(grammar) <= sequence.size());
    return grammar;
}

Sequence letters(std::string_view text) {
    Sequence sequence;
    for (const char c : text)
        sequence.push_back(c == '|' ? std::nullopt : std::optional(static_cast<std::uint32_t>(c)));
    return sequence;
}

std::string repeated(std::string_view text, unsigned times) {
    std::string all;
    for (unsigned i = 0; i < times; ++i) all += text;
    return all;
}

std::string fibonacci_word(unsigned steps) {
    std::string before = "b", word = "a";
    for (unsigned i = 0; i < steps; ++i) before = std::exchange(word, word + before);
    return word;
}

std::string thue_morse_word(unsigned bits) {
    std::string word;
    for (unsigned i = 0; i < 1u << bits; ++i) word += __builtin_parity(i) ? 'b' : 'a';
    return word;
}

}  // namespace

TEST_CASE("a grammar has a rule for what is repeated") {
    CHECK(check({}).rules.size() == 1);
    CHECK(check(letters("a")).rules.size() == 1);
    CHECK(check(letters("abcd")).rules.size() == 1);
    // The examples of the paper, figure 1 and table 1.
    const auto one = check(letters("abcdbc"));
    CHECK(one.rules.size() == 2);
    CHECK(one.rules[1].size() == 2);
    CHECK(check(letters("abcdbcabcd")).rules.size() == 2 + 1);
    CHECK(check(letters("abcdbcabcdbc")).rules.size() == 3);
    CHECK(check(letters("aaa")).rules.size() == 1);
    CHECK(check(letters("aaaa")).rules.size() == 2);
}

TEST_CASE("grammars of sequences that repeat themselves in many ways") {
    for (const char* period : {"a", "ab", "abc", "aab", "aabb", "abcabd", "abbbabcbb"})
        for (unsigned times = 1; times < 40; ++times) check(letters(repeated(period, times)));
    for (unsigned steps = 0; steps < 16; ++steps) check(letters(fibonacci_word(steps)));
    for (unsigned bits = 0; bits < 12; ++bits) check(letters(thue_morse_word(bits)));
    const auto long_run = check(letters(std::string(100'000, 'a')));
    CHECK(symbols(long_run) < 60);
}

TEST_CASE("random sequences of few terminals") {
    Random random(1);
    for (unsigned round = 0; round < 2000; ++round) {
        CAPTURE(round);
        const auto terminals = 1 + random.next() % 5;
        const auto length = random.next() % 300;
        const bool breaks = random.next() % 2 == 0;
        Sequence sequence;
        while (sequence.size() < length) {
            const bool is_break = breaks && random.next() % 20 == 0 && !sequence.empty() &&
                                  sequence.back().has_value();
            if (is_break)
                sequence.push_back(std::nullopt);
            else
                sequence.push_back(static_cast<std::uint32_t>(random.next() % terminals));
        }
        check(sequence);
    }
}

TEST_CASE("random programs of phrases that are made of phrases") {
    Random random(2);
    for (unsigned round = 0; round < 200; ++round) {
        CAPTURE(round);
        std::vector<Sequence> phrases;
        for (std::uint32_t i = 0; i < 4; ++i) phrases.push_back({i});
        for (unsigned i = 0; i < 20; ++i) {
            Sequence phrase;
            for (auto parts = 2 + random.next() % 3; parts > 0; --parts) {
                const auto& part = phrases[random.next() % phrases.size()];
                if (phrase.size() + part.size() < 2000)
                    phrase.insert(phrase.end(), part.begin(), part.end());
            }
            phrases.push_back(phrase);
        }
        check(phrases.back());
    }
}

TEST_CASE("no rule goes across a break") {
    const auto grammar = check(letters("abc|abc|abcabc|a"));
    for (std::size_t rule = 1; rule < grammar.rules.size(); ++rule)
        for (const Symbol symbol : grammar.rules[rule]) CHECK(symbol.kind != Kind::gap);
    // Repeated and leading breaks make no difference.
    CHECK(grammar_of(letters("|ab||c")).rules == grammar_of(letters("ab|c")).rules);
}

TEST_CASE("a grammar that is cleared begins anew") {
    Sequitur sequitur;
    for (unsigned i = 0; i < 1000; ++i) sequitur.append(i % 7);
    sequitur.clear();
    CHECK(sequitur.grammar().rules == Grammar{{{}}}.rules);
    for (const auto& terminal : letters("abcdbc")) sequitur.append(*terminal);
    CHECK(sequitur.grammar().rules == grammar_of(letters("abcdbc")).rules);
}

TEST_CASE("a random grammar keeps both properties at each step") {
    Random random(3);
    Sequitur sequitur;
    for (unsigned i = 0; i < 600; ++i) {
        sequitur.append(static_cast<std::uint32_t>(random.next() % 2));
        const auto grammar = sequitur.grammar();
        check_digrams_are_unique(grammar);
        check_rules_are_used(grammar);
    }
}

}  // namespace shadowprof::sequitur_test
