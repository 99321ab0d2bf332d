#include "session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <new>

#include "left_out.h"

namespace shadowprof {
namespace {

constexpr std::size_t batch_cases = 256;

constexpr std::uint8_t only(TraceLevel level) {
    return static_cast<std::uint8_t>(1 << static_cast<unsigned>(level));
}

// The levels that an assignment is emulated at. Code for TraceLevel::values and
// TraceLevel::references includes that for all other levels. The registers of an address matter for
// references; if a form names no others, only every fourth assignment runs at TraceLevel::values.
std::uint8_t telling_levels(const Form& form, std::uint64_t assignment) {
    const auto in = decode(assemble(form.sample).span(), {0});
    const auto uses = in->gpr_uses();
    const bool names_data = std::any_of(uses.begin(), uses.end(), [](const GprUse& use) {
        return use.field != GprField::base && use.field != GprField::index;
    });
    const bool values = names_data || !in->modrm_memory() || assignment % 4 == 0;
    return only(TraceLevel::references) | (values ? only(TraceLevel::values) : 0);
}

std::string mnemonic_name(ZydisMnemonic mnemonic) {
    return ZydisMnemonicGetString(mnemonic);
}

// The effect of an operand-size prefix on branches depends on the processor's vendor, and so do the
// forms and their cases.
bool is_branch(const Form& form) {
    const auto in = decode(assemble(form.sample).span(), {0});
    return in->zydis().meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ||
           in->zydis().meta.category == ZYDIS_CATEGORY_RET;
}

void print_reasons(const char* what, const std::map<std::string, std::set<std::string>>& reasons) {
    for (const auto& [reason, names] : reasons)
        fmt::print("{}: {}: {}\n", what, reason, fmt::join(names, " "));
}

std::span<Slot> shared_slots() {
    void* shared = mmap(nullptr, batch_cases * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) throw std::bad_alloc();
    auto* first = static_cast<Slot*>(shared);
    for (std::size_t i = 0; i < batch_cases; ++i) new (first + i) Slot;
    return {first, batch_cases};
}

}  // namespace

struct Session::Machines {
    Machines(const std::vector<Form>& forms, const Options& options)
        : own_emulator(options.in_process ? std::make_unique<CaseEmulator>() : nullptr),
          host(forms, native, options.without) {}

    NativeRunner native;
    EmulatedRunner emulated;
    std::unique_ptr<CaseEmulator> own_emulator;  // used under a debugger
    HostForms host;
};

Session::Session(const Options& options) : options_(options), forms_(enumerate_forms()) {
    if (options_.list_forms || options_.digest_only) return;
    machines_ = std::make_unique<Machines>(forms_, options_);
    slots_ = shared_slots();
}

Session::~Session() = default;

void Session::choose_forms() {
    for (std::size_t i = 0; i < forms_.size(); ++i) {
        const auto name = mnemonic_name(forms_[i].mnemonic);
        if (!options_.only.empty() && !sequences_only() && options_.only != name) continue;
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
            fmt::print("{:016x} {} {} {}\n", form.key,
                       encodable_by_zydis(form) ? "encodable" : "not-encodable",
                       instruction_set(form), describe(form));
}

void Session::add_form_case(std::optional<Case> test, std::size_t form, bool also_lacking) {
    if (!test) {
        ++not_made_;
        not_made_of_[instruction_set(forms_[form])].insert(mnemonic_name(forms_[form].mnemonic));
        return;
    }
    ++made_;
    (is_branch(forms_[form]) ? branch_digest_ : digest_) += digest(*test);
    if (!machines_) return;
    auto& host = machines_->host;
    if (!host.has(form) && (!also_lacking || host.is_hidden(form)))
        host.note_skipped_case(form);
    else
        add(*test);
}

void Session::add(const Case& test) {
    auto& slot = slots_[filled_++];
    slot.test = test;
    adapt_to_host(slot.test);
    if (filled_ == slots_.size()) flush();
}

void Session::flush() {
    const auto slots = slots_.first(filled_);
    filled_ = 0;
    for (auto& slot : slots) machines_->native.run(slot.test, slot.native);
    emulate(slots, 0);
    for (auto& slot : slots)
        if (!enough()) judge(slot);
}

void Session::emulate(std::span<Slot> slots, std::size_t first) {
    if (options_.in_process)
        for (auto& slot : slots.subspan(first)) machines_->own_emulator->run(slot);
    else
        machines_->emulated.run(slots, static_cast<std::uint32_t>(first));
}

// How the emulated outcome differs from the native one. If a case's RSP is not an address, some
// virtual machines turn an interrupt between two instructions into a signal, so a differing native
// run is repeated. If the second run differs from the first, the case is emulated again too, as its
// trace was checked against the first.
std::string Session::differences(Slot& slot, std::size_t level) {
    const auto& emulated = slot.emulated[level];
    auto found = compare(slot.test, slot.native, emulated);
    if (found.empty()) return found;
    const auto first_native = std::make_unique<Outcome>(slot.native);
    machines_->native.run(slot.test, slot.native);
    if (compare(slot.test, *first_native, slot.native).empty()) return found;
    const auto first_emulated = std::make_unique<Outcome>(emulated);
    first_emulated->trace_problem.fill(0);
    const auto at = static_cast<std::size_t>(&slot - slots_.data());
    emulate(slots_.first(at + 1), at);
    found = compare(slot.test, slot.native, *first_emulated);
    if (found.empty()) found = compare(slot.test, slot.native, emulated);
    native_disturbed_ += found.empty();
    return found;
}

void Session::judge(Slot& slot) {
    const bool sequence = is_sequence(slot.test);
    ++(sequence ? sequence_cases_ : slot.test.assigned ? assigned_cases_ : random_cases_);
    const auto& native = slot.native;
    if (native.ending == Ending::fault) ++faults_;
    if (!sequence && !(native.ending == Ending::fault && native.signal == SIGILL))
        here_.insert(slot.test.form);
    for (std::size_t level = 0; level < trace_levels; ++level) {
        if (!(slot.test.levels >> level & 1)) continue;
        const auto& emulated = slot.emulated[level];
        if (const auto found = differences(slot, level); !found.empty())
            return fail(slot, fmt::format(" at trace level {}:\n{}", level, found));
        if (sequence) continue;
        if (emulated.ending != Ending::single_stepped) {
            translated_.insert(slot.test.form);
        } else if (native.signal != SIGILL) {
            const auto in = decode(slot.test.code_span(), slot.test.code_start());
            const auto reason = why_single_stepped(*in);
            if (!reason)
                return fail(slot, ":\n  single-stepped on the hardware for no known reason\n");
            single_stepped_[std::string(*reason)].insert(mnemonic_name(in->mnemonic()));
            ++cases_single_stepped_;
            return;
        }
    }
}

std::string Session::how_to_repeat(const Case& test) const {
    const auto& manner = options_.manner;
    const auto name = is_sequence(test) ? "sequence" : mnemonic_name(forms_[test.form].mnemonic);
    const auto* const which = test.assigned ? "assignment" : "first";
    const auto* const alone = is_sequence(test) ? " --sequences 1" : " --cases 1";
    return fmt::format("{} --seed {} --{} {}{}{}", name, manner.seed, which, test.instance,
                       test.assigned ? "" : alone, manner.tame ? " --tame" : "");
}

void Session::fail(const Slot& slot, const std::string& what) {
    ++failures_;
    const auto repeat = how_to_repeat(slot.test);
    if (first_failure_.empty()) first_failure_ = repeat;
    fmt::print("FAILED {}{}{}", repeat, what, print_case(slot.test));
    if (!options_.verbose) return;
    const auto start = std::make_unique<Outcome>();
    start->cpu = slot.test.start;
    fmt::print("  start:\n{}", print_outcome(slot.test, *start));
    fmt::print("  native:\n{}", print_outcome(slot.test, slot.native));
    for (const auto& emulated : slot.emulated)
        fmt::print("  emulated:\n{}", print_outcome(slot.test, emulated));
}

void Session::run_forms() {
    for (const auto form : tested_) {
        if (!options_.assignment) run_cases(form);
        if (!options_.no_assignments) run_assignments(form);
    }
    if (machines_) flush();
}

// Runs one case of a form that the host lacks, as its #UD is compared too.
void Session::run_cases(std::size_t form) {
    for (std::uint64_t i = 0; i < options_.cases && !enough(); ++i)
        add_form_case(make_case(forms_[form], form, options_.manner, options_.first_case + i), form,
                      i == 0);
}

void Session::run_assignments(std::size_t form) {
    const auto seed = options_.manner.seed;
    const auto assignments = assignments_of(forms_[form], seed);
    for (std::uint64_t i = 0; i < assignments.size() && !enough(); ++i) {
        if (options_.assignment && *options_.assignment != i) continue;
        auto test = make_assigned_case(forms_[form], form, assignments[i], seed, i);
        if (test) test->levels = telling_levels(forms_[form], i);
        add_form_case(std::move(test), form, false);
    }
}

void Session::run_sequences() {
    Ingredients ingredients;
    for (const auto form : tested_)
        if (fits_sequence(forms_[form], options_.manner)) ingredients.add(forms_, form);
    if (ingredients.any.empty() || ingredients.flags.empty()) return;
    for (std::uint64_t i = 0; i < options_.sequences && !enough(); ++i) {
        auto made = make_sequence(forms_, ingredients, options_.manner, options_.first_case + i);
        if (!made) {
            ++not_made_;
            continue;
        }
        ++made_;
        digest_ += digest(made->test);
        if (!machines_) continue;
        for (const auto& part : made->parts) {
            if (machines_->host.has(part.form)) continue;
            machines_->host.note_blank(part.form);
            blank(made->test, part);
        }
        add(made->test);
    }
    if (machines_) flush();
}

// How many forms have at least one case that ran in translated code.
std::size_t Session::translated_in_part() const {
    return static_cast<std::size_t>(std::count_if(
        here_.begin(), here_.end(), [&](auto form) { return translated_.count(form) != 0; }));
}

void Session::summarize() const {
    const auto version = ZydisGetVersion();
    fmt::print(
        "{} cases made, {} could not be; with Zydis {}.{} digest {:016x}, of branches {:016x}\n",
        made_, not_made_, ZYDIS_VERSION_MAJOR(version), ZYDIS_VERSION_MINOR(version), digest_,
        branch_digest_);
    if (options_.list_left_out) print_reasons("not made", not_made_of_);
    if (!machines_) return;
    std::set<ZydisMnemonic> mnemonics;
    for (const auto& form : forms_) mnemonics.insert(form.mnemonic);
    if (!here_.empty())
        fmt::print(
            "{} forms of {} mnemonics: {} left out, {} not on this host, {} of the others "
            "translated\n",
            forms_.size(), mnemonics.size(), forms_left_out_, machines_->host.lacking(),
            translated_in_part());
    fmt::print("{}", machines_->host.describe_lacking());
    fmt::print("{} cases single-stepped on the hardware, {} made again there\n",
               cases_single_stepped_, native_disturbed_);
    if (options_.list_left_out) {
        print_reasons("single-stepped", single_stepped_);
        print_reasons("left out", left_out_);
    }
    fmt::print("{} random cases, {} assignments, {} sequences; {} ended by a fault; {} failed\n",
               random_cases_, assigned_cases_, sequence_cases_, faults_, failures_);
    if (failures_)
        fmt::print("the first that failed: instruction_test --verbose --only {}\n", first_failure_);
}

int Session::run() {
    if (options_.list_forms) {
        list();
        return 0;
    }
    choose_forms();
    if (!sequences_only()) run_forms();
    const bool wants_sequences = options_.only.empty() || sequences_only();
    if (wants_sequences && options_.sequences && !options_.assignment) run_sequences();
    summarize();
    return failures_ ? 1 : 0;
}

}  // namespace shadowprof
