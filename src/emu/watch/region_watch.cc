#include "emu/watch/region_watch.h"

namespace shadowprof {

bool RegionWatch::watches(const Instruction& instruction) {
    const auto operands = instruction.operands();
    const bool is_load = instruction.mnemonic() == ZYDIS_MNEMONIC_MOV &&
                         operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                         operands[0].reg.value == ZYDIS_REGISTER_RSP &&
                         operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                         operands[1].reg.value != ZYDIS_REGISTER_RBP;
    loads_.erase(instruction.address());
    if (is_load)
        loads_[instruction.address()] = static_cast<Gpr>(gpr_number(operands[1].reg.value));
    return is_watched(instruction.address());
}

std::uint64_t RegionWatch::stack_pointer(GuestAddress pc, const CpuState& cpu) const {
    const auto source = loads_.find(pc);
    if (source == loads_.end()) return cpu[Gpr::rsp];
    return cpu[source->second] + sizeof(std::uint64_t);
}

RegionWatch::Step RegionWatch::step(const Place& place) {
    if (place.thread >= threads_.size()) threads_.resize(place.thread + std::size_t{1});
    Thread& thread = threads_[place.thread];
    if (thread.birth != place.birth) thread = {.birth = place.birth};
    Step step;
    if (thread.entered_at && place.stack_pointer > *thread.entered_at) {
        thread.entered_at.reset();
        step.leaves = true;
    }
    if (!thread.entered_at && entries_.contains(place.pc)) {
        thread.entered_at = place.stack_pointer;
        step.enters = true;
    }
    return step;
}

}  // namespace shadowprof
