// Generated instruction tests: random instructions of every form, natively and emulated.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <new>
#include <set>
#include <string>

#include "emulated.h"
#include "emulated_case.h"
#include "generate.h"
#include "left_out.h"
#include "native.h"

using namespace shadowprof;

namespace {

constexpr std::size_t batch_cases = 256;

struct Options {
    Manner manner;
    std::uint64_t cases = 4;
    std::uint64_t sequences = 20'000;
    std::uint64_t first_case = 0;
    std::size_t max_failures = 20;
    std::string only;
    bool list_forms = false;
    bool list_left_out = false;
    bool verbose = false;
    bool in_process = false;
};

std::string mnemonic_name(ZydisMnemonic mnemonic) {
    return ZydisMnemonicGetString(mnemonic);
}

class Session {
  public:
    explicit Session(const Options& options) : options_(options), forms_(enumerate_forms()) {}

    int run();

  private:
    void list() const;
    void choose_forms();
    void probe();
    void run_forms();
    void run_sequences();
    void add(const std::optional<Case>& test);
    void flush();
    void judge(const Slot& slot);
    void fail(const Slot& slot, const std::string& what);
    std::size_t translated_in_part() const;
    void summarize() const;
    bool enough() const { return failures_ >= options_.max_failures; }

    const Options& options_;
    std::vector<Form> forms_;
    std::vector<std::size_t> tested_;  // indexes of forms
    Ingredients ingredients_;
    std::map<std::string, std::set<std::string>> left_out_;  // reason to mnemonics
    std::span<Slot> slots_;
    std::size_t filled_ = 0;
    NativeRunner native_;
    EmulatedRunner emulated_;
    CaseEmulator own_emulator_;  // for a debugger
    std::size_t cases_ = 0, failures_ = 0, faults_ = 0, not_made_ = 0;
    std::set<std::uint64_t> here_, translated_;                 // forms
    std::map<std::string, std::set<std::string>> handed_over_;  // reason to mnemonics
    std::size_t cases_handed_over_ = 0, forms_left_out_ = 0;
};

void Session::choose_forms() {
    for (std::size_t i = 0; i < forms_.size(); ++i) {
        const auto name = mnemonic_name(forms_[i].mnemonic);
        if (!options_.only.empty() && options_.only != name) continue;
        if (const auto reason = why_left_out(forms_[i])) {
            left_out_[std::string(*reason)].insert(name);
            ++forms_left_out_;
        } else {
            tested_.push_back(i);
        }
    }
}

void Session::list() const {
    for (const auto& form : forms_)
        if (options_.only.empty() || options_.only == mnemonic_name(form.mnemonic))
            fmt::print("{:016x} {} {}\n", form.key,
                       encodable_by_zydis(form) ? "encodable" : "not-encodable", describe(form));
}

void Session::add(const std::optional<Case>& test) {
    if (!test) {
        ++not_made_;
        return;
    }
    slots_[filled_++].test = *test;
    if (filled_ == slots_.size()) flush();
}

void Session::flush() {
    const auto slots = slots_.first(filled_);
    filled_ = 0;
    for (auto& slot : slots) native_.run(slot.test, slot.native);
    if (options_.in_process)
        for (auto& slot : slots) own_emulator_.run(slot);
    else
        emulated_.run(slots);
    for (const auto& slot : slots)
        if (!enough()) judge(slot);
}

void Session::judge(const Slot& slot) {
    ++cases_;
    const auto& native = slot.native;
    if (native.ending == Ending::fault) ++faults_;
    const bool sequence = slot.test.form >= forms_.size();
    if (!sequence && !(native.ending == Ending::fault && native.signal == SIGILL))
        here_.insert(slot.test.form);
    for (std::size_t level = 0; level < trace_levels; ++level) {
        const auto& emulated = slot.emulated[level];
        const auto differences = compare(slot.test, native, emulated);
        if (!differences.empty())
            return fail(slot, fmt::format(" at trace level {}:\n{}", level, differences));
        if (sequence) continue;
        if (emulated.ending != Ending::handed_over) {
            translated_.insert(slot.test.form);
        } else if (native.signal != SIGILL) {
            const auto in = decode(slot.test.code_span(), slot.test.code_start());
            const auto reason = why_handed_over(*in);
            if (!reason)
                return fail(slot, ":\n  handed over to the hardware for no known reason\n");
            handed_over_[std::string(*reason)].insert(mnemonic_name(in->mnemonic()));
            ++cases_handed_over_;
            return;
        }
    }
}

void Session::fail(const Slot& slot, const std::string& what) {
    ++failures_;
    const bool sequence = slot.test.form >= forms_.size();
    const auto name = sequence ? "sequence" : mnemonic_name(forms_[slot.test.form].mnemonic);
    fmt::print("FAILED {} --seed {} --first {}{}\n{}", name, options_.manner.seed,
               slot.test.instance, what, print_case(slot.test));
    if (!options_.verbose) return;
    Outcome start;
    start.cpu = slot.test.start;
    fmt::print("  start:\n{}", print_outcome(slot.test, start));
    fmt::print("  native:\n{}", print_outcome(slot.test, slot.native));
    for (const auto& emulated : slot.emulated)
        fmt::print("  emulated:\n{}", print_outcome(slot.test, emulated));
}

void Session::run_forms() {
    for (const auto index : tested_) {
        for (std::uint64_t i = 0; i < options_.cases && !enough(); ++i)
            add(make_case(forms_[index], index, options_.manner, options_.first_case + i));
    }
    flush();
}

// Which forms sequences are made of: those that this processor runs.
void Session::probe() {
    Outcome outcome;
    for (const auto index : tested_) {
        if (!fits_sequence(forms_[index], options_.manner)) continue;
        const auto test = make_case(forms_[index], index, Manner{}, 0);
        if (!test) continue;
        native_.run(*test, outcome);
        if (outcome.ending == Ending::fault && outcome.signal == SIGILL) continue;
        ingredients_.add(forms_, index);
    }
}

void Session::run_sequences() {
    if (!options_.sequences || (!options_.only.empty() && options_.only != "sequence")) return;
    probe();
    if (ingredients_.any.empty() || ingredients_.flags.empty()) return;
    for (std::uint64_t i = 0; i < options_.sequences && !enough(); ++i)
        add(make_sequence(forms_, ingredients_, options_.manner, options_.first_case + i));
    flush();
}

void print_reasons(const char* what, const std::map<std::string, std::set<std::string>>& reasons) {
    for (const auto& [reason, names] : reasons)
        fmt::print("{}: {}: {}\n", what, reason, fmt::join(names, " "));
}

// Forms of which at least one case ran in translated code.
std::size_t Session::translated_in_part() const {
    return static_cast<std::size_t>(std::count_if(
        here_.begin(), here_.end(), [&](auto form) { return translated_.count(form) != 0; }));
}

void Session::summarize() const {
    std::set<ZydisMnemonic> mnemonics;
    for (const auto& form : forms_) mnemonics.insert(form.mnemonic);
    if (!here_.empty())
        fmt::print(
            "{} forms of {} mnemonics: {} left out, {} not on this host, {} of the others "
            "translated\n",
            forms_.size(), mnemonics.size(), forms_left_out_, tested_.size() - here_.size(),
            translated_in_part());
    fmt::print("{} cases, {} of them ended by a fault; {} could not be made; {} failed\n", cases_,
               faults_, not_made_, failures_);
    fmt::print("{} cases handed over to the hardware\n", cases_handed_over_);
    if (!options_.list_left_out) return;
    print_reasons("handed over", handed_over_);
    print_reasons("left out", left_out_);
}

int Session::run() {
    if (options_.list_forms) {
        list();
        return 0;
    }
    const bool sequences_only = options_.only == "sequence";
    if (sequences_only) {
        for (std::size_t i = 0; i < forms_.size(); ++i)
            if (!why_left_out(forms_[i])) tested_.push_back(i);
    } else {
        choose_forms();
    }
    void* shared = mmap(nullptr, batch_cases * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    auto* first = static_cast<Slot*>(shared);
    for (std::size_t i = 0; i < batch_cases; ++i) new (first + i) Slot;
    slots_ = {first, batch_cases};
    if (!sequences_only) run_forms();
    run_sequences();
    summarize();
    return failures_ ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app("Runs random instructions natively and emulated, and compares.");
    app.add_option("--seed", options.manner.seed, "What the cases are made from");
    app.add_option("--cases", options.cases, "Cases of each form");
    app.add_option("--sequences", options.sequences, "Cases of several instructions");
    app.add_option("--first", options.first_case, "The number of the first case of each form");
    app.add_option("--only", options.only, "One mnemonic, or 'sequence'");
    app.add_option("--failures", options.max_failures, "Failures to stop after");
    app.add_flag("--list-forms", options.list_forms, "Print all forms");
    app.add_flag("--list-left-out", options.list_left_out,
                 "Print what is not tested or not translated, and why");
    app.add_flag("--tame", options.manner.tame, "No accesses far from the guest's memory");
    app.add_flag("--verbose", options.verbose, "Print the states of failing cases");
    app.add_flag("--in-process", options.in_process, "Emulate in this process, for a debugger");
    CLI11_PARSE(app, argc, argv);
    return Session(options).run();
}
