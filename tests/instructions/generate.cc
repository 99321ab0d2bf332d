#include "generate.h"

#include <cstring>

#include "instance.h"
#include "random.h"
#include "start_state.h"

namespace shadowprof {
namespace {

Random random_for(std::uint64_t seed, std::uint64_t what, std::uint64_t instance) {
    return Random(Random::mix(seed + 1) ^ Random::mix(what + 2) ^ Random::mix(instance + 3));
}

Surroundings surroundings(const Case& test, std::uint64_t at, const Manner& manner) {
    return {.base = test.base(),
            .address = test.code_start().value + at,
            .fs_base = test.start.fs_base,
            .gs_base = test.start.gs_base,
            .tame = manner.tame};
}

void append(Case& test, std::span<const std::uint8_t> bytes) {
    std::memcpy(&test.code[test.code_length], bytes.data(), bytes.size());
    test.code_length += static_cast<std::uint32_t>(bytes.size());
}

// mov reg, 64-bit immediate
void append_set(Case& test, std::uint8_t reg, std::uint64_t value) {
    std::array<std::uint8_t, 10> code = {static_cast<std::uint8_t>(0x48 | reg >> 3),
                                         static_cast<std::uint8_t>(0xb8 | (reg & 7))};
    std::memcpy(&code[2], &value, sizeof value);
    append(test, code);
    ++test.instructions;
}

void add_memory(Case& test, const Instance& instance) {
    const auto data = test.data().value, constants = test.base() + constant_offset;
    for (const auto& patch : instance.memory) {
        if (patch.address == instance.components_at) test.component_patch = test.patches;
        if (patch.address - data < data_bytes)
            test.add_patch(patch.address - data, patch.value);
        else if (patch.address - constants < constant_bytes)
            test.add_patch(patch.address - constants + data_bytes, patch.value);
    }
    if (instance.unknown_bytes && instance.target - data < data_bytes) {
        test.unknown_memory_at =
            static_cast<std::uint32_t>(instance.target - data) + instance.unknown_at;
        test.unknown_memory_bytes = instance.unknown_bytes;
    }
}

void note_effects(Case& test, const Instruction& in) {
    if (in.zydis().cpu_flags) test.undefined_flags |= in.zydis().cpu_flags->undefined;
    const auto flow = in.flow();
    if (flow != Flow::next && flow != Flow::other) test.has_branch = true;
}

bool changes_surroundings(ZydisMnemonic mnemonic) {
    switch (mnemonic) {
        case ZYDIS_MNEMONIC_WRFSBASE:
        case ZYDIS_MNEMONIC_WRGSBASE:
        case ZYDIS_MNEMONIC_FNSTENV:
        case ZYDIS_MNEMONIC_FNSAVE:
        case ZYDIS_MNEMONIC_FXSAVE:
        case ZYDIS_MNEMONIC_FXSAVE64:
        case ZYDIS_MNEMONIC_CPUID:
        case ZYDIS_MNEMONIC_RDPID:
        case ZYDIS_MNEMONIC_RDPRU:
        case ZYDIS_MNEMONIC_RDRAND:
        case ZYDIS_MNEMONIC_RDSEED:
        case ZYDIS_MNEMONIC_RDTSC:
        case ZYDIS_MNEMONIC_RDTSCP:
        case ZYDIS_MNEMONIC_XGETBV:
        case ZYDIS_MNEMONIC_POPF:
        case ZYDIS_MNEMONIC_POPFQ:
        // Emulated by the kernel, whose faults differ from the processor's (UMIP).
        case ZYDIS_MNEMONIC_SLDT:
        case ZYDIS_MNEMONIC_SMSW:
        case ZYDIS_MNEMONIC_STR:
            return true;
        default:
            return false;
    }
}

// A sequence under construction.
class SequenceMaker {
  public:
    SequenceMaker(const std::vector<Form>& forms, const Ingredients& ingredients,
                  const Manner& manner, Random random)
        : forms_(forms), ingredients_(ingredients), manner_(manner), random_(random) {}

    std::optional<Sequence> make();

  private:
    void add_one_of(const std::vector<std::size_t>& indexes);
    void add_random() { add_one_of(ingredients_.any); }
    void add_reader();
    void add_branch();
    void add_direct_branch();

    const std::vector<Form>& forms_;
    const Ingredients& ingredients_;
    const Manner& manner_;
    Random random_;
    Sequence made_;
    Case& test_ = made_.test;
};

std::optional<Sequence> SequenceMaker::make() {
    randomize_state(test_, random_);
    test_.form = ~std::uint64_t{0};
    test_.instructions = 0;
    const auto before = random_.below(5), after = 1 + random_.below(5);
    for (std::uint64_t i = 0; i < before; ++i) {
        add_random();
        if (random_.chance(12)) add_direct_branch();
    }
    if (random_.chance(60)) {
        add_branch();
        const bool writer = random_.chance(40);
        if (writer) add_one_of(ingredients_.flags);
        if (writer || random_.chance(40)) add_reader();
    }
    for (std::uint64_t i = 0; i < after; ++i) add_random();
    if (test_.instructions == 0) return std::nullopt;
    test_.drawn = random_.next();
    return made_;
}

// Adds a random instruction, mostly behind moves that set the registers that it needs.
void SequenceMaker::add_one_of(const std::vector<std::size_t>& indexes) {
    const auto index = random_.pick(indexes);
    const auto& form = forms_[index];
    const bool prepared = manner_.tame || random_.chance(94);
    auto again = random_;
    auto instance = make_instance(form, surroundings(test_, test_.code_length, manner_), again);
    if (!instance || test_.code_length > test_.code.size() - 200) return;
    if (prepared && !instance->gprs.empty()) {
        const auto moves = test_.code_length + 10 * instance->gprs.size();
        instance = make_instance(form, surroundings(test_, moves, manner_), random_);
        if (!instance || instance->gprs.size() * 10 + test_.code_length != moves) return;
        for (const auto& set : instance->gprs) append_set(test_, set.reg, set.value);
    } else {
        random_ = again;
    }
    add_memory(test_, *instance);
    made_.parts.push_back(
        {test_.code_length, static_cast<std::uint32_t>(instance->bytes.size()), index});
    append(test_, instance->bytes);
    ++test_.instructions;
    note_effects(test_, *instance->instruction);
}

// SETcc or CMOVcc, which reveal a lost flag.
void SequenceMaker::add_reader() {
    const auto condition = static_cast<std::uint8_t>(random_.below(16));
    const auto reg = static_cast<std::uint8_t>(random_.below(8));
    if (random_.chance(50))
        append(test_, std::array<std::uint8_t, 3>{0x0f, static_cast<std::uint8_t>(0x90 | condition),
                                                  static_cast<std::uint8_t>(0xc0 | (reg & 3))});
    else
        append(test_,
               std::array<std::uint8_t, 4>{0x4d, 0x0f, static_cast<std::uint8_t>(0x40 | condition),
                                           static_cast<std::uint8_t>(0xc1 | reg << 3)});
    ++test_.instructions;
}

// An indirect jump over a few markers, through a register or by a return.
void SequenceMaker::add_branch() {
    const auto reg = static_cast<std::uint8_t>(random_.below(16));
    const bool by_return = random_.chance(30);
    const auto gap = static_cast<std::uint32_t>(random_.below(20));
    // mov reg, target; then jmp reg, or push reg and ret.
    const std::uint32_t branch_bytes = by_return ? 4 : 3;
    const auto target = test_.code_length + 10 + branch_bytes + gap;
    if (by_return) append_set(test_, 4, test_.data().value + 0x1000);
    const auto shift = by_return ? 10u : 0u;
    const auto number = by_return && reg == 4 ? std::uint8_t{9} : reg;
    append_set(test_, number, test_.code_start().value + target + shift);
    const auto rex = static_cast<std::uint8_t>(0x40 | number >> 3);
    const auto low = static_cast<std::uint8_t>(number & 7);
    if (by_return)
        append(test_,
               std::array<std::uint8_t, 4>{rex, static_cast<std::uint8_t>(0x50 | low), 0x40, 0xc3});
    else
        append(test_,
               std::array<std::uint8_t, 3>{rex, 0xff, static_cast<std::uint8_t>(0xe0 | low)});
    for (std::uint32_t i = 0; i < gap; ++i) append(test_, std::array<std::uint8_t, 1>{end_marker});
    test_.has_branch = true;
}

// A direct branch over a few bytes: Jcc or JRCXZ over a move, JMP or CALL over markers.
void SequenceMaker::add_direct_branch() {
    test_.has_branch = true;
    const auto kind = random_.below(4);
    if (kind < 2) {
        const auto opcode = static_cast<std::uint8_t>(kind ? 0xe3 : 0x70 | random_.below(16));
        append(test_, std::array<std::uint8_t, 2>{opcode, 10});
        const auto value = interesting_number(random_);
        return append_set(test_, static_cast<std::uint8_t>(random_.below(16)), value);
    }
    const auto gap = static_cast<std::uint8_t>(random_.below(20));
    if (kind == 3) append_set(test_, 4, test_.data().value + 0x1800);
    append(test_, std::array<std::uint8_t, 5>{static_cast<std::uint8_t>(kind == 2 ? 0xe9 : 0xe8),
                                              gap, 0, 0, 0});
    for (unsigned i = 0; i < gap; ++i) append(test_, std::array<std::uint8_t, 1>{end_marker});
}

// Adds to a case what its only instance needs.
void fill_in(Case& test, const Instance& instance) {
    for (const auto& set : instance.gprs) test.start.gpr[set.reg] = set.value;
    for (const auto& lane : instance.lanes)
        set_vector_bytes(test.start, lane.reg, lane.byte,
                         std::as_bytes(std::span(&lane.value, 1)).first(lane.bytes));
    add_memory(test, instance);
    append(test, instance.bytes);
    note_effects(test, *instance.instruction);
    test.undefined_flags |= instance.unknown_flags;
    test.unknown_gprs = instance.unknown_gprs;
}

}  // namespace

std::optional<Case> make_case(const Form& form, std::uint64_t index, const Manner& manner,
                              std::uint64_t number) {
    auto random = random_for(manner.seed, form.key, number);
    Case test;
    randomize_state(test, random);
    test.form = index;
    test.instance = number;
    const auto instance = make_instance(form, surroundings(test, 0, manner), random);
    if (!instance) return std::nullopt;
    fill_in(test, *instance);
    test.drawn = random.next();
    return test;
}

std::optional<Case> make_assigned_case(const Form& form, std::uint64_t index,
                                       const Assignment& assignment, std::uint64_t seed,
                                       std::uint64_t number) {
    auto random = random_for(seed, form.key ^ 0xa551f9ed, number);
    Case test;
    // A 32-bit displacement does not reach the other placement.
    const bool low =
        assignment.address && assignment.address->mode == AddressFields::Mode::absolute;
    do randomize_state(test, random);
    while (low && test.placement != 0);
    test.form = index;
    test.instance = number;
    test.assigned = true;
    auto where = surroundings(test, 0, {.seed = seed, .tame = true});
    where.mapped = true;
    const auto instance = make_instance(form, where, random, &assignment);
    if (!instance) return std::nullopt;
    fill_in(test, *instance);
    test.drawn = random.next();
    return test;
}

std::optional<Sequence> make_sequence(const std::vector<Form>& forms,
                                      const Ingredients& ingredients, const Manner& manner,
                                      std::uint64_t number) {
    auto random = random_for(manner.seed, 0x5e90e9ce, number);
    auto made = SequenceMaker(forms, ingredients, manner, random).make();
    if (made) made->test.instance = number;
    return made;
}

void Ingredients::add(const std::vector<Form>& forms, std::size_t index) {
    any.push_back(index);
    const auto in = decode(assemble(forms[index].sample).span(), {0});
    const auto category = in->zydis().meta.category;
    if (category == ZYDIS_CATEGORY_SHIFT || category == ZYDIS_CATEGORY_ROTATE ||
        in->has_attribute(ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
        flags.push_back(index);
}

bool fits_sequence(const Form& form, const Manner& manner) {
    const auto in = decode(assemble(form.sample).span(), {0});
    const auto category = in->zydis().meta.category;
    // The index of a gather or scatter is whatever a vector register contains.
    const auto* memory = in->modrm_memory();
    if (manner.tame && memory && memory->mem.type == ZYDIS_MEMOP_TYPE_VSIB) return false;
    return in->flow() == Flow::next && !changes_surroundings(form.mnemonic) &&
           category != ZYDIS_CATEGORY_XSAVE && category != ZYDIS_CATEGORY_XSAVEOPT;
}

}  // namespace shadowprof
