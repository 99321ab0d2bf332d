// Profiles of two builds of a small program, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/profile_file/profile_reader.h"

namespace shadowprof {

// The functions of one module, placed one after the other.
class TestBuild {
  public:
    struct Instruction {
        std::string text;
        std::uint32_t line = 0;
    };

    TestBuild(std::string path, std::string build_id) {
        file.profile.modules = {{std::move(path), std::move(build_id), 1000}};
        file.profile.run.merged_runs = 1;
    }

    // Adds a function with instructions of 4 bytes. Returns its start.
    CodeLocation function(const std::string& name, const std::vector<Instruction>& code,
                          const std::string& source = "/src/a.c") {
        const CodeLocation start{0, next_};
        for (const Instruction& instruction : code) {
            CodeSymbol symbol;
            symbol.function = name;
            symbol.function_start = start.address;
            if (instruction.line != 0) symbol.file = source, symbol.line = instruction.line;
            file.symbols.add({0, next_}, symbol, instruction.text);
            next_ += 4;
        }
        return start;
    }
    // Adds executed instructions of the function at `at` itself, with `error` for their sum.
    void executed(CodeLocation at, std::uint64_t instructions, std::optional<double> error = {}) {
        file.profile.stacks.push_back({.frames = {at}, .instructions = instructions});
        file.profile.methods.push_back(
            {.entry = at, .entries = 1, .instructions = instructions, .error = error});
        file.profile.sampling.instructions += instructions;
    }
    void edge(CodeLocation from, CodeLocation to, std::uint64_t count,
              std::optional<double> error = {}) {
        file.profile.edges.push_back({from, to, EdgeKind::taken, count, error});
    }
    void exact() {
        file.profile.sampling.mode = "exact";
        file.profile.sampling.exact = ExactStats{};
        file.profile.sampling.target_instructions = file.profile.sampling.instructions;
    }
    void sampled(std::uint64_t batches) {
        file.profile.sampling.mode = "shadow";
        file.profile.sampling.samples = batches;
        file.profile.sampling.counters["batches"] = batches;
    }

    ProfileFile file;

  private:
    std::uint64_t next_ = 0x1000;
};

inline CodeLocation after(CodeLocation start, std::uint64_t bytes) {
    return {start.module, start.address + bytes};
}

}  // namespace shadowprof
