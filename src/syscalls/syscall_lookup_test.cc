#include "syscalls/syscall_lookup.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace shadowprof::syscall_lookup_test {
namespace {

// SYSCALL_MACROS names a file with the macros that <asm/unistd_64.h> defines on this machine.
std::map<std::uint64_t, std::string> numbers_of_header() {
    std::map<std::uint64_t, std::string> names;
    std::ifstream macros(SYSCALL_MACROS);
    for (std::string line; std::getline(macros, line);) {
        std::istringstream words(line);
        std::string define, macro;
        std::uint64_t number = 0;
        if (words >> define >> macro >> number && macro.starts_with("__NR_"))
            names[number] = macro.substr(5);
    }
    return names;
}

}  // namespace

TEST_CASE("every system call of the kernel headers is in the table under its name") {
    auto names = numbers_of_header();
    REQUIRE(names.size() > 350);
    for (const auto& entry : names) {
        const std::uint64_t number = entry.first;
        const std::string& name = entry.second;
        CAPTURE(number);
        CAPTURE(name);
        const SyscallFacts* row = find_syscall_facts(number);
        // The header is newer than the table.
        if (number > syscall_facts().back().number) continue;
        REQUIRE(row != nullptr);
        CHECK(row->name == name);
    }
}

TEST_CASE("a row is found under its own number only") {
    for (const SyscallFacts& row : syscall_facts()) CHECK(find_syscall_facts(row.number) == &row);
    for (std::uint64_t number : {337ul, 423ul, 470ul, 512ul, 0x40000000ul, ~0ul})
        CHECK(find_syscall_facts(number) == nullptr);
}

}  // namespace shadowprof::syscall_lookup_test
