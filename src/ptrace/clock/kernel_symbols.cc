#include "ptrace/clock/kernel_symbols.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "base/files/fd.h"
#include "syscalls/syscall_lookup.h"

namespace shadowprof {
namespace {

using Cause = KernelEntry::Cause;

// A kernel has 5 to 20 MB of them.
constexpr std::size_t max_text_bytes = std::size_t{256} << 20;

// Functions of a system call have its name behind one of these (SYSCALL_DEFINEx of the kernel,
// include/linux/syscalls.h). The outer one may end in a jump to the inner one, and is then not in
// the chain of calls.
constexpr std::array<std::string_view, 6> call_prefixes = {"__x64_sys_", "__se_sys_", "__do_sys_",
                                                           "ksys_",      "__sys_",    "do_"};
constexpr std::array<std::string_view, 3> ways_to_calls = {"entry_SYSCALL_64_after_hwframe",
                                                           "do_syscall_64", "x64_sys_call"};

std::optional<std::uint64_t> system_call_of(std::string_view name) {
    for (const std::string_view prefix : call_prefixes) {
        if (!name.starts_with(prefix)) continue;
        const auto call = name.substr(prefix.size());
        for (const SyscallFacts& facts : syscall_facts())
            if (facts.name == call || (call.starts_with("new") && facts.name == call.substr(3)))
                return facts.number;
    }
    return std::nullopt;
}

struct Line {
    std::uint64_t address = 0;
    char type = 0;
    std::string_view name;
};

// "ffffffff81000000 T name", and the module's name behind it in brackets.
std::optional<Line> parse_line(std::string_view text) {
    Line line;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), line.address, 16);
    const auto at = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || text.size() < at + 4) return std::nullopt;
    line.type = text[at + 1];
    line.name = text.substr(at + 3);
    line.name = line.name.substr(0, line.name.find_first_of("\t "));
    return line;
}

}  // namespace

KernelSymbols::Symbol KernelSymbols::classified(std::uint64_t start, std::string_view name) {
    Symbol symbol{.start = start};
    symbol.is_way = std::ranges::find(ways_to_calls, name) != ways_to_calls.end();
    if (name == "asm_exc_page_fault")
        symbol.entry.cause = Cause::page_fault;
    else if (name.starts_with("asm_sysvec_") || name == "asm_common_interrupt" ||
             name.starts_with("asm_exc_nmi"))
        symbol.entry.cause = Cause::interrupt;
    else if (const auto number = system_call_of(name))
        symbol.entry = {Cause::system_call, *number};
    return symbol;
}

// Only functions that say something are kept, and where they end.
KernelSymbols::KernelSymbols(std::string_view text) {
    const auto says_nothing = [](const Symbol& each) {
        return !each.is_way && each.entry.cause == Cause::unknown;
    };
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = parse_line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!line || line->address == 0 || (line->type != 't' && line->type != 'T')) continue;
        const Symbol symbol = classified(line->address, line->name);
        const bool goes_on = symbols_.empty() || says_nothing(symbols_.back());
        // Of several names of one function, one that says something is kept.
        if (!symbols_.empty() && symbols_.back().start == symbol.start) {
            if (says_nothing(symbols_.back())) symbols_.back() = symbol;
        } else if (!goes_on || !says_nothing(symbol)) {
            symbols_.push_back(symbol);
        }
    }
    std::ranges::stable_sort(symbols_, {}, &Symbol::start);
}

// Where they are hidden, all are 0 (kernel.kptr_restrict).
bool KernelSymbols::are_readable() {
    const UniqueFd file(::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
    std::array<char, 4096> text;
    const auto got = file ? ::read(file.get(), text.data(), text.size()) : 0;
    std::string_view lines(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    while (!lines.empty()) {
        const auto end = std::min(lines.find('\n'), lines.size());
        const auto line = parse_line(lines.substr(0, end));
        if (line && line->address != 0) return true;
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return false;
}

Result<KernelSymbols> KernelSymbols::read() {
    const UniqueFd file(::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
    if (!file) return errno_error("open /proc/kallsyms");
    std::string text;
    for (std::size_t length = 0;;) {
        text.resize(length + (std::size_t{1} << 20));
        const auto got = ::read(file.get(), text.data() + length, text.size() - length);
        if (got < 0) return errno_error("read /proc/kallsyms");
        length += static_cast<std::size_t>(got);
        if (got == 0 || length > max_text_bytes) {
            text.resize(length);
            break;
        }
    }
    KernelSymbols symbols(text);
    if (symbols.empty())
        return Error{ErrorCode::permission, 0, "/proc/kallsyms has no addresses of functions"};
    return symbols;
}

KernelEntry KernelSymbols::entry(std::span<const std::uint64_t> calls) const {
    for (const std::uint64_t address : calls) {
        const auto next = std::ranges::upper_bound(symbols_, address, {}, &Symbol::start);
        if (next == symbols_.begin()) return {};
        const Symbol& symbol = *std::prev(next);
        if (!symbol.is_way) return symbol.entry;
    }
    return {};
}

}  // namespace shadowprof
