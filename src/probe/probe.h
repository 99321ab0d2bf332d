// User probes: what `--probe` asks to be recorded of executed instructions (docs/probes.md).
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

    // Empty for a probe without a name that is not in a set.
    const std::string& name() const { return name_; }
    const std::string& text() const { return *text_; }
    Reducer reducer() const { return syntax_->reducer; }
    // What is recorded. `none` for count.
    ProbeOperand value() const { return syntax_->value; }
    ProbeOperand key() const { return syntax_->key; }
    // Whether the value or key is a signed number, in two's complement.
    bool value_is_signed() const;
    bool key_is_signed() const;

    // Whether it uses the time that loads take. Such a probe has events in latency sessions only.
    bool uses_latency() const { return uses(ProbeFact::latency); }
    // Whether it depends on where instructions are.
    bool uses_places() const { return !syntax_->tests.empty(); }
    // Whether it needs the call stack.
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

// The probes of a run, numbered in the order in which they were given.
//
// A place test is a condition that depends only on where an instruction is: function, module, file,
// line, entry. It separates the caller that knows the symbols and evaluates the tests from the
// caller that binds probes and need not know symbols.
class ProbeSet {
  public:
    static constexpr std::size_t max_probes = 16;

    // Names unnamed probes by their number, from 1: "probe1". Fails, with lines to be shown, if a
    // probe is wrong, if there are more than max_probes of them, or if two have the same name.
    static Result<ProbeSet> parse(std::span<const std::string> texts);

    const std::vector<Probe>& probes() const { return probes_; }
    bool empty() const { return probes_.empty(); }

    // The number of place tests, at most 64.
    std::size_t place_tests() const { return tests_.size(); }
    // Whether the test depends on a file or line.
    bool needs_line(std::size_t test) const;
    // Whether the test holds. Returns nothing if this depends on the file or line and `place` lacks
    // them.
    std::optional<bool> holds(std::size_t test, const Place& place) const;
    // Returns a bit for each test that holds. Nothing if one depends on what `place` lacks.
    std::optional<std::uint64_t> place_bits(const Place& place) const;

    // Binds the probes whose condition may hold for the instruction. `place_bits` has a bit for
    // each place test that holds there.
    std::vector<BoundProbe> bind(const Instruction& instruction, std::uint64_t place_bits) const;

  private:
    struct Test {
        std::uint32_t probe;
        ProbeNodeId node;
    };

    Result<void> add(const std::string& text);

    std::vector<Probe> probes_;
    std::vector<Test> tests_;
    std::vector<std::size_t> first_tests_;  // number of each probe's first test
};

}  // namespace shadowprof
