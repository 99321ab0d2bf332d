// One random instruction of a form, and what registers and memory must hold for it to do something.
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

// Where an instruction is to stand and what is around it.
struct Surroundings {
    std::uint64_t base;     // of the placement
    std::uint64_t address;  // of the instruction
    std::uint64_t fs_base, gs_base;
    bool tame = false;    // see Manner
    bool mapped = false;  // memory operands lie where all that is mapped can be read and written
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
    std::uint64_t target = 0;         // of its memory operand, or 0
    std::uint64_t components_at = 0;  // address of a mask of state components, or 0
    std::uint32_t unknown_gprs = 0;   // registers whose result is not a function of the state
    std::uint32_t unknown_flags = 0;  // likewise
    std::uint32_t unknown_at = 0, unknown_bytes = 0;  // likewise, relative to `target`

    void assign(std::uint8_t reg, std::uint64_t value);
    std::optional<std::uint64_t> assigned(std::uint8_t reg) const;
};

// Nothing if no variation of the form's sample that was tried is of that form. With an assignment,
// its registers are as that says.
std::optional<Instance> make_instance(const Form& form, const Surroundings& where, Random& random,
                                      const Assignment* assignment = nullptr);

// An address in or about the data for an access of `bytes`: aligned or not, across lines, pages and
// the ends of what is mapped.
std::uint64_t choose_target(std::uint64_t base, std::size_t bytes, std::size_t alignment,
                            Random& random);
// Likewise, at a multiple of 64 in data that is mapped.
std::uint64_t choose_mapped_target(std::uint64_t base, Random& random);
// An address in the code pages that holds an end marker.
std::uint64_t choose_code_target(const Surroundings& where, Random& random);
std::uint64_t interesting_number(Random& random);

// Chooses values for the registers that an instruction's addresses are made of, its displacement,
// and where it branches to. False if there are none for it as it is encoded.
bool solve_addresses(Instance& instance, const Surroundings& where, Random& random);

// What special instructions want beyond a valid address; called last.
void prepare_effects(Instance& instance, const Surroundings& where, Random& random);

}  // namespace shadowprof
