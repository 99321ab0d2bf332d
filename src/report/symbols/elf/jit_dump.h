// Names and code of functions that a just-in-time compiler made, from the file jit-PID.dump that it
// writes for profilers. The format is that of the kernel's
// tools/perf/Documentation/jitdump-specification.txt, version 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "report/symbols/elf/function_range.h"
#include "report/symbols/elf/latest_ranges.h"

namespace shadowprof {

class JitDump {
  public:
    // Records behind a damaged or incomplete one are not read, as the compiler may still write, nor
    // those behind the first four million functions.
    // Errors: it is not a jitdump of x86-64 in this byte order.
    static Result<std::unique_ptr<JitDump>> parse(std::string bytes);
    // The same for a file. Errors: it cannot be read, or is larger than 1 GiB.
    static Result<std::unique_ptr<JitDump>> read(const std::string& path);

    // If functions overlap, the later one counts. The names live as long as this.
    NamedFunctions functions() const;
    // Copies the code at `address`, at most up to the end of its function. Returns how many bytes
    // were copied.
    std::size_t code(std::uint64_t address, std::span<std::byte> to) const;

  private:
    struct Function {
        std::uint64_t start = 0;
        std::string_view name, code;  // in bytes_
    };

    explicit JitDump(std::string bytes) : bytes_(std::move(bytes)) {}
    void add_records(std::string_view records);
    void load(std::string_view record);
    void move(std::string_view record);
    void place(std::uint64_t start, std::uint64_t size_bytes, std::size_t function);

    const std::string bytes_;
    std::vector<Function> functions_;
    std::unordered_map<std::uint64_t, std::size_t> by_code_index_;
    LatestRanges<std::size_t> ranges_;  // indices into functions_
};

}  // namespace shadowprof
