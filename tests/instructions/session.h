// Makes cases, runs them natively and emulated, and reports differences.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "emulated.h"
#include "emulated_case.h"
#include "generate.h"
#include "host_forms.h"
#include "native.h"

namespace shadowprof {

struct Options {
    Manner manner;
    std::uint64_t cases = 4;
    std::uint64_t sequences = 20'000;
    std::uint64_t first_case = 0;
    std::size_t max_failures = 20;
    std::string only;
    std::vector<std::string> without;  // see HostForms
    std::optional<std::uint64_t> assignment;
    bool no_assignments = false;
    bool digest_only = false;
    bool list_forms = false;
    bool list_left_out = false;
    bool verbose = false;
    bool in_process = false;
};

class Session {
  public:
    explicit Session(const Options& options);
    ~Session();

    // Returns the program's exit status.
    int run();

  private:
    using NamesByReason = std::map<std::string, std::set<std::string>>;

    // The objects that run cases; null if none are run.
    struct Machines;

    void list() const;
    void choose_forms();
    void run_forms();
    void run_cases(std::size_t form);
    void run_assignments(std::size_t form);
    void run_sequences();
    void add_form_case(std::optional<Case> test, std::size_t form, bool also_lacking);
    void add(const Case& test);
    void flush();
    void emulate(std::span<Slot> slots, std::size_t first);
    std::string differences(Slot& slot, std::size_t level);
    void judge(Slot& slot);
    void fail(const Slot& slot, const std::string& what);
    std::string how_to_repeat(const Case& test) const;
    std::size_t translated_in_part() const;
    void summarize() const;
    bool is_sequence(const Case& test) const { return test.form >= forms_.size(); }
    bool enough() const { return failures_ >= options_.max_failures; }
    bool sequences_only() const { return options_.only == "sequence"; }

    const Options& options_;
    std::vector<Form> forms_;
    std::vector<std::size_t> tested_;  // indexes of forms
    NamesByReason left_out_;
    std::unique_ptr<Machines> machines_;
    std::span<Slot> slots_;
    std::size_t filled_ = 0;
    std::uint64_t digest_ = 0, branch_digest_ = 0;  // sums, as the order does not matter
    std::size_t made_ = 0, not_made_ = 0;
    NamesByReason not_made_of_;  // by instruction set
    std::size_t random_cases_ = 0, assigned_cases_ = 0, sequence_cases_ = 0;
    std::size_t failures_ = 0, faults_ = 0;
    std::string first_failure_;
    std::set<std::uint64_t> here_, translated_;  // indexes of forms
    NamesByReason single_stepped_;
    std::size_t cases_single_stepped_ = 0, forms_left_out_ = 0;
    std::size_t native_disturbed_ = 0;  // cases in which only the second native run agreed
};

}  // namespace shadowprof
