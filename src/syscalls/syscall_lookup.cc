#include "syscalls/syscall_lookup.h"

#include <algorithm>

#include "syscalls/syscall_rows.h"

namespace shadowprof {
namespace {

using syscall_words::rows;

// The two ranges of system call numbers on x86-64. Other machines use the numbers between them.
constexpr std::uint16_t old_last = 336, new_first = 424, new_last = 469;

consteval bool numbers_are_complete() {
    std::uint16_t expected = 0;
    for (const SyscallRow& row : rows) {
        if (row.number != expected) return false;
        expected = row.number == old_last ? new_first : static_cast<std::uint16_t>(row.number + 1);
    }
    return expected == new_last + 1;
}

consteval bool names_are_unique() {
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        if (rows[i].name.empty() || rows[i].remark.empty()) return false;
        for (std::size_t j = 0; j < i; ++j)
            if (rows[i].name == rows[j].name) return false;
    }
    return true;
}

consteval bool what_is_recorded_is_known() {
    return std::all_of(std::begin(rows), std::end(rows), [](const SyscallRow& row) {
        return row.recorded.compared == 0 || row.memory.is_known;
    });
}

static_assert(numbers_are_complete(), "a gap, a duplicate or a wrong order");
static_assert(names_are_unique(), "two rows with one name, or one without a remark");
static_assert(what_is_recorded_is_known(), "a recorded call whose memory is not known");

// Leaves out the handlers, which belong to the guest kernel.
consteval auto facts_of_rows() {
    std::array<SyscallFacts, std::size(rows)> facts{};
    for (std::size_t i = 0; i < facts.size(); ++i) {
        const SyscallRow& row = rows[i];
        facts[i] = {row.number, row.name,     row.syscall_class, row.remark,
                    row.memory, row.recorded, row.stop,          row.result};
    }
    return facts;
}

constexpr auto facts = facts_of_rows();

}  // namespace

std::span<const SyscallFacts> syscall_facts() {
    return facts;
}

const SyscallFacts* find_syscall_facts(std::uint64_t number) {
    if (number <= old_last) return &facts[number];
    if (number >= new_first && number <= new_last) return &facts[number - new_first + old_last + 1];
    return nullptr;
}

std::string syscall_name(std::uint64_t number) {
    const SyscallFacts* found = find_syscall_facts(number);
    return found ? std::string(found->name) : "syscall_" + std::to_string(number);
}

}  // namespace shadowprof
