// Facts that the program with known symbols prints about itself.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "report/testdata/files.h"

namespace shadowprof {

// The ELF addresses of its functions, and the lines of two calls.
inline std::map<std::string, std::uint64_t> victim_facts() {
    std::map<std::string, std::uint64_t> facts;
    std::FILE* pipe = ::popen(test_input("SYMBOLS_VICTIM").c_str(), "r");
    REQUIRE(pipe != nullptr);
    char name[64];
    unsigned long value = 0;
    while (std::fscanf(pipe, "%63s %lx", name, &value) == 2) facts[name] = value;
    REQUIRE(::pclose(pipe) == 0);
    REQUIRE(facts.size() == 6);
    return facts;
}

}  // namespace shadowprof
