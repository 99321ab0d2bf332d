// One random instruction of a form, and what registers and memory must contain for it to have an
// effect.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "assignments.h"
#include "case.h"
#include "form.h"
#include "random.h"

namespace shadowprof {

// Where an instruction is placed, and what is around it.
struct Surroundings {
    std::uint64_t base;     // base of the placement
    std::uint64_t address;  // address of the instruction
    std::uint64_t fs_base, gs_base;
    bool tame = false;    // see Manner
    bool mapped = false;  // memory operands lie where the memory around is accessible too
};

struct Instance {
    struct Assignment {
        std::uint8_t reg;
        std::uint64_t value;
    };
    struct Patch {
        std::uint64_t address;
        std::uint64_t value;
    };
    struct VectorLane {
        std::uint8_t reg, byte, bytes;
        std::uint64_t value;
    };
    std::vector<std::uint8_t> bytes;
    std::optional<Instruction> instruction;
    std::vector<Assignment> gprs;  // at most one for each register
    std::vector<Patch> memory;
    std::vector<VectorLane> lanes;
    std::uint64_t target = 0;         // address of its memory operand, or 0
    std::uint64_t components_at = 0;  // address of a mask of state components, or 0
    std::uint32_t unknown_gprs = 0;   // registers whose results the start state does not determine
    std::uint32_t unknown_flags = 0;  // likewise, for flags
    std::uint32_t unknown_at = 0, unknown_bytes = 0;  // likewise, for memory relative to `target`

    void assign(std::uint8_t reg, std::uint64_t value);
    std::optional<std::uint64_t> assigned(std::uint8_t reg) const;
};

// Returns nullopt if no tried variation of the form's sample has that form. An assignment
// determines the registers.
std::optional<Instance> make_instance(const Form& form, const Surroundings& where, Random& random,
                                      const Assignment* assignment = nullptr);

// An address in or near the data for an access of `bytes`: aligned or not, across lines, pages and
// the ends of mapped memory.
std::uint64_t choose_target(std::uint64_t base, std::size_t bytes, std::size_t alignment,
                            Random& random);
// As choose_target(), but a multiple of 64 in mapped data.
std::uint64_t choose_mapped_target(std::uint64_t base, Random& random);
// An address in the code pages that holds an end marker.
std::uint64_t choose_code_target(const Surroundings& where, Random& random);
std::uint64_t interesting_number(Random& random);

// Chooses values for the registers in an instruction's addresses, its displacement, and its branch
// target. False if no values fit its encoding.
bool solve_addresses(Instance& instance, const Surroundings& where, Random& random);

// Prepares what special instructions need besides a valid address. To be called last.
void prepare_effects(Instance& instance, const Surroundings& where, Random& random);

}  // namespace shadowprof
