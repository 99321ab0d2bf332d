// When to follow calls beside the path graph instead of counting contexts in it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shadowprof {

// The path graph is fast as long as records were met in their contexts before. In each new context
// all of them are new. So with many contexts and many new records, calls are followed in less time.
struct LeavingStacks {
    std::size_t contexts = std::size_t{1} << 13;
    // How many new records there are between two looks, and the most instructions for each.
    std::uint32_t records = 1 << 18;
    std::uint64_t instructions_per_record = 250;
};

class NewRecords {
  public:
    explicit NewRecords(const LeavingStacks& limits) : limits_(limits) {}

    void pass_instructions(std::uint64_t executed) { instructions_ += executed; }
    // A record is new in its context, of which there are so many. Returns whether calls are
    // followed in less time.
    bool add(std::size_t contexts) {
        if (++records_ < limits_.records) return false;
        const bool are_many = instructions_ < records_ * limits_.instructions_per_record;
        records_ = 0;
        instructions_ = 0;
        return are_many && contexts >= limits_.contexts;
    }

  private:
    LeavingStacks limits_;
    std::uint32_t records_ = 0;  // since the last look, as the instructions
    std::uint64_t instructions_ = 0;
};

}  // namespace shadowprof
