#include "host_forms.h"

#include <cpuid.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "generate.h"

namespace shadowprof {
namespace {

bool has_user_interrupts() {
    constexpr unsigned uintr = 1u << 5;  // CPUID.(EAX=7,ECX=0):EDX
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & uintr) != 0;
}

// AMD processors with protection keys but without user interrupts ignore the prefix F3 here: they
// execute CLUI as RDPKRU, and STUI as WRPKRU.
bool is_taken_for_another(const Form& form) {
    const bool reads_as_keys =
        form.mnemonic == ZYDIS_MNEMONIC_CLUI || form.mnemonic == ZYDIS_MNEMONIC_STUI;
    return reads_as_keys && !has_user_interrupts();
}

}  // namespace

std::string instruction_set(const Form& form) {
    const auto in = decode(assemble(form.sample).span(), {0});
    return ZydisISASetGetString(in->zydis().meta.isa_set);
}

HostForms::HostForms(const std::vector<Form>& forms, NativeRunner& native,
                     std::vector<std::string> without)
    : forms_(forms), native_(native), without_(std::move(without)), answers_(forms.size()) {}

bool HostForms::is_hidden(std::size_t form) const {
    if (is_taken_for_another(forms_[form])) return true;
    if (without_.empty()) return false;
    const auto name = instruction_set(forms_[form]);
    return std::any_of(without_.begin(), without_.end(),
                       [&](const auto& hidden) { return name.starts_with(hidden); });
}

bool HostForms::has(std::size_t form) {
    auto& answer = answers_[form];
    if (answer == Answer::unknown)
        answer = !is_hidden(form) && runs(form) ? Answer::yes : Answer::no;
    return answer == Answer::yes;
}

bool HostForms::runs(std::size_t form) {
    // A single case may raise #UD because of its registers.
    constexpr std::uint64_t attempts = 4;
    const auto outcome = std::make_unique<Outcome>();
    for (std::uint64_t i = 0; i < attempts; ++i) {
        auto test = make_case(forms_[form], form, Manner{}, i);
        if (!test) continue;
        adapt_to_host(*test);
        native_.run(*test, *outcome);
        if (!(outcome->ending == Ending::fault && outcome->signal == SIGILL)) return true;
    }
    return false;
}

std::size_t HostForms::lacking() const {
    return static_cast<std::size_t>(std::count(answers_.begin(), answers_.end(), Answer::no));
}

std::string HostForms::describe_lacking() const {
    std::map<std::string, Skipped> by_set;
    Skipped all;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
        if (answers_[i] != Answer::no) continue;
        auto& set = by_set[instruction_set(forms_[i])];
        ++set.forms;
        if (const auto found = skipped_.find(i); found != skipped_.end()) {
            all.cases += found->second.cases;
            all.instructions += found->second.instructions;
        }
    }
    std::string text =
        fmt::format("skipped, not on this host: {} cases, {} instructions of sequences; of",
                    all.cases, all.instructions);
    for (const auto& [name, set] : by_set) text += fmt::format(" {} {} forms,", name, set.forms);
    if (by_set.empty()) text += " nothing";
    if (text.back() == ',') text.pop_back();
    return text + "\n";
}

}  // namespace shadowprof
