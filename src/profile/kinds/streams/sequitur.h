// Builds a grammar of a sequence in one pass: Nevill-Manning and Witten, "Identifying hierarchical
// structure in sequences: a linear-time algorithm" (JAIR 7, 1997). The grammar has two properties:
//  - digram uniqueness: no pair of adjacent symbols occurs twice, except where the two overlap, as
//  in
//    aaa;
//  - rule utility: each rule but the start rule is used at least twice.
// So repetitions in the sequence become rules.
//
// Each break is a symbol of its own, so that no rule extends across it. Time is linear in the
// length of the sequence. Memory is linear in the length of the grammar, which is never longer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shadowprof {

class Sequitur {
  public:
    using Terminal = std::uint32_t;
    static constexpr Terminal max_terminals = Terminal{1} << 30;

    // A symbol of a rule's right-hand side.
    struct Symbol {
        enum class Kind : std::uint8_t { terminal, rule, gap };
        Kind kind = Kind::terminal;
        std::uint32_t number = 0;  // a terminal, or an index in Grammar::rules; a gap: 0

        friend bool operator==(const Symbol&, const Symbol&) = default;
    };
    // The rules, each before those that it uses. The first is the start rule, which exists even if
    // it is empty.
    struct Grammar {
        std::vector<std::vector<Symbol>> rules;
    };

    Sequitur() { clear(); }

    // Needs `terminal` < max_terminals and fewer than 2^30 appended.
    void append(Terminal terminal);
    // The next terminal does not follow the last one.
    void append_break();
    Grammar grammar() const;
    // Makes the sequence empty. Keeps its memory.
    void clear();

  private:
    using Id = std::uint32_t;  // number of a node
    using Value = std::uint32_t;
    static constexpr Value rule_bit = Value{1} << 31, guard_bit = Value{1} << 30;
    static constexpr Value break_value = rule_bit | guard_bit, free_value = break_value | 1;

    // A symbol in the ring of its rule. The ring has a guard before the first and behind the last
    // symbol, whose value has the rule's number.
    struct Node {
        Id previous = 0, next = 0;
        Value value = free_value;
    };
    struct Rule {
        Id guard = 0;
        std::uint32_t uses = 0;
    };
    // Nodes by their digram: open addressing.
    class DigramIndex {
      public:
        // Where the digram is, or would be.
        Id* find(std::uint64_t digram);
        void insert(std::uint64_t digram, Id node);
        void erase(std::uint64_t digram);
        void clear();

      private:
        struct Slot {
            std::uint64_t digram = 0;
            Id node_plus_1 = 0;
        };
        std::size_t place(std::uint64_t digram) const;
        std::size_t mask() const { return slots_.size() - 1; }
        void grow();

        std::vector<Slot> slots_;
        std::size_t used_ = 0;
    };

    static bool is_rule(Value value) { return (value & break_value) == rule_bit; }
    bool is_guard(Id node) const { return (nodes_[node].value & break_value) == guard_bit; }
    bool begins_digram(Id node) const;
    std::uint64_t digram(Id node) const {
        return std::uint64_t{nodes_[node].value} << 32 | nodes_[nodes_[node].next].value;
    }

    Id make_node(Value value);
    void free_node(Id node);
    std::uint32_t make_rule();
    void link(Id left, Id right);
    void insert_behind(Id left, Id node);
    void forget_digram(Id node);
    void revisit_around(Id node);
    void append_value(Value value);
    void settle();
    void check(Id node);
    void unite(Id node, Id earlier);
    bool is_whole_rule(Id node) const;
    void replace(Id node, std::uint32_t rule);
    void expand_if_used_once(Id node);

    std::vector<Node> nodes_;
    std::vector<Id> free_nodes_;
    std::vector<Rule> rules_;  // the first is the start rule
    std::vector<std::uint32_t> free_rules_;
    std::vector<Id> unchecked_;  // nodes whose digram may be new
    DigramIndex index_;
};

}  // namespace shadowprof
