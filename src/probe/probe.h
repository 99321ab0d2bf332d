// Probes: what `--probe` asks to be recorded of executed instructions (docs/probes.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "decoder/instruction.h"
#include "probe/bound_probe.h"
#include "probe/place.h"
#include "probe/probe_error.h"
#include "probe/probe_syntax.h"

namespace shadowprof {

// One probe as it was written. Cheap to copy.
class Probe {
  public:
    static std::variant<Probe, ProbeError> parse(std::string_view text);

    // Empty if it was given none and is not in a set.
    const std::string& name() const { return name_; }
    const std::string& text() const { return *text_; }
    Reducer reducer() const { return syntax_->reducer; }
    // What is recorded: none for count.
    ProbeOperand value() const { return syntax_->value; }
    ProbeOperand key() const { return syntax_->key; }
    // Where these are numbers: in two's complement.
    bool value_is_signed() const;
    bool key_is_signed() const;

    // It speaks of the time that loads take: there are events in latency bursts only.
    bool uses_latency() const { return uses(ProbeFact::latency); }
    // It needs to be known where instructions are.
    bool uses_places() const { return !syntax_->tests.empty(); }
    // It needs the calls in progress.
    bool uses_callers() const {
        return value() == ProbeOperand::caller || key() == ProbeOperand::caller;
    }

    const ProbeSyntax& syntax() const { return *syntax_; }

  private:
    friend class ProbeSet;

    bool uses(ProbeFact fact) const;

    std::string name_;
    std::shared_ptr<const std::string> text_;
    std::shared_ptr<const ProbeSyntax> syntax_;
};

// The probes of a run, by number in the order in which they were given.
//
// A place test is a condition that only speaks of where an instruction is: function, module, file,
// line, entry. Who binds need not know symbols; who knows them decides the tests.
class ProbeSet {
  public:
    static constexpr std::size_t most_probes = 16;

    // Gives those without a name that of their number, from 1: "probe1". Fails, with lines to be
    // shown, if one is wrong, there are more than most_probes or two have one name.
    static Result<ProbeSet> parse(std::span<const std::string> texts);

    const std::vector<Probe>& probes() const { return probes_; }
    bool empty() const { return probes_.empty(); }

    // At most 64.
    std::size_t place_tests() const { return tests_.size(); }
    // It speaks of files or lines.
    bool needs_line(std::size_t test) const;
    // Nothing if that depends on the file or line, which `place` does not have.
    std::optional<bool> holds(std::size_t test, const Place& place) const;
    // The tests that hold, a bit each. Nothing if one depends on what `place` does not have.
    std::optional<std::uint64_t> place_bits(const Place& place) const;

    // What is probed of an instruction: nothing where no condition can hold. `place_bits`: which
    // place tests hold there.
    std::vector<BoundProbe> bind(const Instruction& instruction, std::uint64_t place_bits) const;

  private:
    struct Test {
        std::uint32_t probe;
        ProbeNodeId node;
    };

    Result<void> add(const std::string& text);

    std::vector<Probe> probes_;
    std::vector<Test> tests_;
    std::vector<std::size_t> first_tests_;  // by probe
};

}  // namespace shadowprof
