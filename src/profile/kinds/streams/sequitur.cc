#include "profile/kinds/streams/sequitur.h"

#include <utility>

#include "profile/statistics/random.h"

namespace shadowprof {

std::size_t Sequitur::DigramIndex::place(std::uint64_t digram) const {
    return static_cast<std::size_t>(mix64(digram)) & mask();
}

Sequitur::Id* Sequitur::DigramIndex::find(std::uint64_t digram) {
    for (std::size_t at = place(digram); slots_[at].node_plus_1 != 0; at = (at + 1) & mask())
        if (slots_[at].digram == digram) return &slots_[at].node_plus_1;
    return nullptr;
}

// Needs a digram that is not in the index.
void Sequitur::DigramIndex::insert(std::uint64_t digram, Id node) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    std::size_t at = place(digram);
    while (slots_[at].node_plus_1 != 0) at = (at + 1) & mask();
    slots_[at] = {digram, node + 1};
    ++used_;
}

// Needs a digram that is in the index. Entries that it displaced move up.
void Sequitur::DigramIndex::erase(std::uint64_t digram) {
    std::size_t hole = place(digram);
    while (slots_[hole].digram != digram || slots_[hole].node_plus_1 == 0)
        hole = (hole + 1) & mask();
    for (std::size_t at = (hole + 1) & mask(); slots_[at].node_plus_1 != 0;
         at = (at + 1) & mask()) {
        const std::size_t wanted = place(slots_[at].digram);
        if (((at - wanted) & mask()) < ((at - hole) & mask())) continue;
        slots_[hole] = slots_[at];
        hole = at;
    }
    slots_[hole] = {};
    --used_;
}

void Sequitur::DigramIndex::clear() {
    constexpr std::size_t least = 64;
    slots_.assign(slots_.empty() ? least : slots_.size(), {});
    used_ = 0;
}

void Sequitur::DigramIndex::grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    used_ = 0;
    for (const Slot& slot : old)
        if (slot.node_plus_1 != 0) insert(slot.digram, slot.node_plus_1 - 1);
}

void Sequitur::clear() {
    nodes_.clear();
    free_nodes_.clear();
    rules_.clear();
    free_rules_.clear();
    unchecked_.clear();
    index_.clear();
    make_rule();
}

void Sequitur::append(Terminal terminal) {
    append_value(terminal);
}

void Sequitur::append_break() {
    const Id guard = rules_[0].guard, last = nodes_[guard].previous;
    if (last == guard || nodes_[last].value == break_value) return;
    append_value(break_value);
}

void Sequitur::append_value(Value value) {
    const Id last = nodes_[rules_[0].guard].previous;
    insert_behind(last, make_node(value));
    unchecked_.push_back(last);
    settle();
}

Sequitur::Id Sequitur::make_node(Value value) {
    if (is_rule(value)) ++rules_[value & ~rule_bit].uses;
    if (free_nodes_.empty()) {
        nodes_.push_back({0, 0, value});
        return static_cast<Id>(nodes_.size() - 1);
    }
    const Id node = free_nodes_.back();
    free_nodes_.pop_back();
    nodes_[node].value = value;
    return node;
}

void Sequitur::free_node(Id node) {
    const Value value = nodes_[node].value;
    if (is_rule(value)) --rules_[value & ~rule_bit].uses;
    nodes_[node].value = free_value;
    free_nodes_.push_back(node);
}

std::uint32_t Sequitur::make_rule() {
    auto number = static_cast<std::uint32_t>(rules_.size());
    if (free_rules_.empty()) {
        rules_.emplace_back();
    } else {
        number = free_rules_.back();
        free_rules_.pop_back();
    }
    const Id guard = make_node(guard_bit | number);
    rules_[number] = {guard, 0};
    link(guard, guard);
    return number;
}

void Sequitur::link(Id left, Id right) {
    nodes_[left].next = right;
    nodes_[right].previous = left;
}

void Sequitur::insert_behind(Id left, Id node) {
    link(node, nodes_[left].next);
    link(left, node);
}

// Guards, breaks and free nodes begin no digram. Their values are greater than all others.
bool Sequitur::begins_digram(Id node) const {
    const auto counts = [](Value value) { return value < guard_bit || is_rule(value); };
    return counts(nodes_[node].value) && counts(nodes_[nodes_[node].next].value);
}

// Must be called before the digram changes.
void Sequitur::forget_digram(Id node) {
    if (!begins_digram(node)) return;
    const auto pair = digram(node);
    const Id* found = index_.find(pair);
    if (found == nullptr || *found != node + 1) return;
    index_.erase(pair);
    // Only one of the two digrams of aaa is in the index.
    if (nodes_[node].value == nodes_[nodes_[node].next].value) revisit_around(node);
}

void Sequitur::revisit_around(Id node) {
    unchecked_.push_back(nodes_[node].next);
    unchecked_.push_back(nodes_[node].previous);
}

void Sequitur::settle() {
    while (!unchecked_.empty()) {
        const Id node = unchecked_.back();
        unchecked_.pop_back();
        check(node);
    }
}

// Makes the node's digram unique. Any node is allowed.
void Sequitur::check(Id node) {
    if (!begins_digram(node)) return;
    const auto pair = digram(node);
    const Id* found = index_.find(pair);
    if (found == nullptr) return index_.insert(pair, node);
    const Id other = *found - 1;
    const bool overlap = nodes_[other].next == node || nodes_[node].next == other;
    if (other != node && !overlap) unite(node, other);
}

bool Sequitur::is_whole_rule(Id node) const {
    return is_guard(nodes_[node].previous) && is_guard(nodes_[nodes_[node].next].next);
}

// Unites two occurrences of a digram, the second of which is in the index.
void Sequitur::unite(Id node, Id earlier) {
    if (is_whole_rule(node)) {
        // The other one is none, as that rule would have used this one.
        if (is_whole_rule(earlier)) return;
        *index_.find(digram(node)) = node + 1;
        std::swap(node, earlier);
    }
    std::uint32_t rule = 0;
    if (is_whole_rule(earlier)) {
        rule = nodes_[nodes_[earlier].previous].value & ~guard_bit;
    } else {
        const Value first = nodes_[earlier].value, second = nodes_[nodes_[earlier].next].value;
        rule = make_rule();
        insert_behind(rules_[rule].guard, make_node(first));
        insert_behind(nodes_[rules_[rule].guard].next, make_node(second));
        replace(earlier, rule);
        index_.insert(digram(nodes_[rules_[rule].guard].next), nodes_[rules_[rule].guard].next);
    }
    replace(node, rule);
    // Only the rules of these two symbols lost a use while the symbols are still in the grammar.
    expand_if_used_once(nodes_[rules_[rule].guard].next);
    expand_if_used_once(nodes_[rules_[rule].guard].previous);
}

// Replaces the digram by a use of the rule.
void Sequitur::replace(Id node, std::uint32_t rule) {
    const Id left = nodes_[node].previous, second = nodes_[node].next;
    const Id right = nodes_[second].next;
    forget_digram(left);
    forget_digram(node);
    forget_digram(second);
    free_node(node);
    free_node(second);
    const Id use = make_node(rule_bit | rule);
    link(left, use);
    link(use, right);
    unchecked_.push_back(use);
    unchecked_.push_back(left);
}

// Replaces the only use of a rule by the rule's symbols.
void Sequitur::expand_if_used_once(Id node) {
    const Value value = nodes_[node].value;
    if (!is_rule(value) || rules_[value & ~rule_bit].uses != 1) return;
    const std::uint32_t rule = value & ~rule_bit;
    const Id left = nodes_[node].previous, right = nodes_[node].next;
    const Id guard = rules_[rule].guard;
    const Id first = nodes_[guard].next, last = nodes_[guard].previous;
    forget_digram(left);
    forget_digram(node);
    free_node(node);
    free_node(guard);
    free_rules_.push_back(rule);
    link(left, first);
    link(last, right);
    unchecked_.push_back(last);
    unchecked_.push_back(left);
}

Sequitur::Grammar Sequitur::grammar() const {
    // The reverse order in which a depth-first walk leaves rules: each comes before those it uses.
    struct Step {
        std::uint32_t rule;
        Id next;
    };
    std::vector<bool> met(rules_.size());
    std::vector<std::uint32_t> ended;
    std::vector<Step> open{{0, nodes_[rules_[0].guard].next}};
    while (!open.empty()) {
        const Step step = open.back();
        if (is_guard(step.next)) {
            ended.push_back(step.rule);
            open.pop_back();
            continue;
        }
        open.back().next = nodes_[step.next].next;
        const Value value = nodes_[step.next].value;
        const std::uint32_t used = value & ~rule_bit;
        if (!is_rule(value) || met[used]) continue;
        met[used] = true;
        open.push_back({used, nodes_[rules_[used].guard].next});
    }
    std::vector<std::uint32_t> places(rules_.size());
    for (std::size_t i = 0; i < ended.size(); ++i)
        places[ended[i]] = static_cast<std::uint32_t>(ended.size() - 1 - i);
    Grammar grammar{std::vector<std::vector<Symbol>>(ended.size())};
    for (const std::uint32_t rule : ended)
        for (Id at = nodes_[rules_[rule].guard].next; !is_guard(at); at = nodes_[at].next) {
            const Value value = nodes_[at].value;
            grammar.rules[places[rule]].push_back(
                value == break_value ? Symbol{Symbol::Kind::gap, 0}
                : is_rule(value)     ? Symbol{Symbol::Kind::rule, places[value & ~rule_bit]}
                                     : Symbol{Symbol::Kind::terminal, value});
        }
    return grammar;
}

}  // namespace shadowprof
