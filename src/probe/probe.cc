#include "probe/probe.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/probe_fold.h"
#include "probe/probe_parser.h"

namespace shadowprof {
namespace {

class PlaceFacts final : public FactSource {
  public:
    explicit PlaceFacts(const Place& place) : place_(place) {}

    std::optional<ProbeKnown> known(const ProbeNode& node) const override {
        using Kind = ProbeKnown::Kind;
        if (node.op != ProbeOp::fact) return std::nullopt;
        switch (node.fact.fact) {
            case ProbeFact::module:
                return ProbeKnown{.kind = Kind::path, .text = place_.module};
            case ProbeFact::function:
                return ProbeKnown{.kind = Kind::text, .text = place_.function};
            case ProbeFact::entry:
                return ProbeKnown{.number = place_.entry};
            case ProbeFact::file:
                if (!place_.has_line) return std::nullopt;
                return ProbeKnown{.kind = Kind::path, .text = place_.file};
            default:
                if (!place_.has_line) return std::nullopt;
                return ProbeKnown{.number = place_.line};
        }
    }

  private:
    const Place& place_;
};

Error usage(std::string message) {
    return {ErrorCode::usage, 0, std::move(message)};
}

bool is_of_line(const ProbeNode& node) {
    return node.op == ProbeOp::fact &&
           (node.fact.fact == ProbeFact::file || node.fact.fact == ProbeFact::line);
}

bool has_line(const ProbeSyntax& syntax, ProbeNodeId id) {
    const ProbeNode& node = syntax.nodes[id];
    if (node.uses == 0) return false;
    if (node.height == 1) return is_of_line(node);
    const bool two = node.op >= ProbeOp::logical_or;
    return has_line(syntax, node.left) || (two && has_line(syntax, node.right));
}

}  // namespace

std::variant<Probe, ProbeError> Probe::parse(std::string_view text) {
    auto parsed = parse_probe(text);
    if (auto* error = std::get_if<ProbeError>(&parsed)) return std::move(*error);
    Probe probe;
    probe.text_ = std::make_shared<const std::string>(text);
    probe.syntax_ = std::make_shared<const ProbeSyntax>(std::get<ProbeSyntax>(std::move(parsed)));
    probe.name_ = probe.syntax_->name;
    return probe;
}

bool Probe::value_is_signed() const {
    return value() == ProbeOperand::number && syntax_->nodes[syntax_->value_node].is_signed;
}

bool Probe::key_is_signed() const {
    return key() == ProbeOperand::number && syntax_->nodes[syntax_->key_node].is_signed;
}

bool Probe::uses(ProbeFact fact) const {
    return std::any_of(syntax_->nodes.begin(), syntax_->nodes.end(), [&](const ProbeNode& node) {
        return node.op == ProbeOp::fact && node.fact.fact == fact;
    });
}

Result<ProbeSet> ProbeSet::parse(std::span<const std::string> texts) {
    if (texts.size() > max_probes)
        return usage(
            fmt::format("there are {} probes; at most {} can be given", texts.size(), max_probes));
    ProbeSet set;
    for (const std::string& text : texts) TRY(set.add(text));
    return set;
}

Result<void> ProbeSet::add(const std::string& text) {
    auto parsed = Probe::parse(text);
    if (const auto* error = std::get_if<ProbeError>(&parsed)) return usage(render(*error, text));
    Probe probe = std::get<Probe>(std::move(parsed));
    if (probe.name_.empty()) probe.name_ = fmt::format("probe{}", probes_.size() + 1);
    const bool taken = std::any_of(probes_.begin(), probes_.end(),
                                   [&](const Probe& other) { return other.name_ == probe.name_; });
    if (taken) return usage(fmt::format("two probes have the name '{}'", probe.name_));
    first_tests_.push_back(tests_.size());
    for (const ProbeNodeId node : probe.syntax().tests)
        tests_.push_back({static_cast<std::uint32_t>(probes_.size()), node});
    if (tests_.size() > max_place_tests)
        return usage(fmt::format("the probes have more than {} conditions on places between them",
                                 max_place_tests));
    probes_.push_back(std::move(probe));
    return {};
}

bool ProbeSet::needs_line(std::size_t test) const {
    return has_line(probes_[tests_[test].probe].syntax(), tests_[test].node);
}

std::optional<bool> ProbeSet::holds(std::size_t test, const Place& place) const {
    const auto known =
        fold(probes_[tests_[test].probe].syntax(), tests_[test].node, PlaceFacts(place));
    if (!known) return std::nullopt;
    // A division by zero among constants has no result: the test does not hold.
    return known->is_number() && known->number != 0;
}

std::optional<std::uint64_t> ProbeSet::place_bits(const Place& place) const {
    std::uint64_t bits = 0;
    for (std::size_t test = 0; test < tests_.size(); ++test) {
        const auto known = holds(test, place);
        if (!known) return std::nullopt;
        bits |= std::uint64_t{*known} << test;
    }
    return bits;
}

std::vector<BoundProbe> ProbeSet::bind(const Instruction& instruction,
                                       std::uint64_t place_bits) const {
    std::vector<BoundProbe> bound;
    if (probes_.empty()) return bound;
    InstructionFacts facts(instruction, place_bits);
    for (std::uint32_t i = 0; i < probes_.size(); ++i) {
        facts.set_first_test(first_tests_[i]);
        if (auto probe = BoundProbe::bind(probes_[i].syntax(), i, facts))
            bound.push_back(std::move(*probe));
    }
    return bound;
}

}  // namespace shadowprof
