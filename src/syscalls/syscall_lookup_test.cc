#include "syscalls/syscall_lookup.h"

#include <doctest/doctest.h>

#include <algorithm>
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

TEST_CASE("calls that transfer data return bytes, and those that return other counts do not") {
    const auto returns = [](std::string_view name) {
        const auto found = std::ranges::find(syscall_facts(), name, &SyscallFacts::name);
        REQUIRE(found != syscall_facts().end());
        return found->result;
    };
    for (const auto* name :
         {"read",     "write",      "pread64",   "pwrite64",        "readv",    "writev",
          "preadv",   "pwritev",    "preadv2",   "pwritev2",        "recvfrom", "sendto",
          "recvmsg",  "sendmsg",    "sendfile",  "copy_file_range", "splice",   "tee",
          "vmsplice", "getdents64", "getrandom", "readlink",        "getcwd"}) {
        CAPTURE(name);
        CHECK(returns(name) == SyscallResult::bytes);
    }
    // Messages, descriptors, an address, an offset, a process.
    for (const auto* name : {"sendmmsg", "recvmmsg", "poll", "mmap", "lseek", "clone", "futex"}) {
        CAPTURE(name);
        CHECK(returns(name) == SyscallResult::other);
    }
    CHECK(returns("accept4") == SyscallResult::descriptor);
}

}  // namespace shadowprof::syscall_lookup_test
