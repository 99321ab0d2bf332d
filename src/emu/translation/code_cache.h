// The memory that translated code lives in: the context, the fixed stubs, the code, and the table
// of indirect targets. Fills the low addresses first; cleared as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/guest_address.h"
#include "base/result.h"
#include "emu/guest/growing_memory.h"
#include "emu/guest/segment_bases.h"
#include "emu/translation/code_buffer.h"
#include "emu/translation/execution_context.h"
#include "emu/translation/indirect_targets.h"

namespace shadowprof {

class CodeCache {
  public:
    // A signal handler with the arguments of a sigaction handler, called with the host's FS base in
    // place.
    using SignalFunction = void (*)(void* self, int signal, void* info, void* ucontext);

    // Reserves address space; memory is taken as it is used. Error: system if address space is
    // limited.
    static Result<std::unique_ptr<CodeCache>> create(SignalFunction on_signal, void* self,
                                                     SegmentBases bases = host_segment_bases());
    ~CodeCache();
    CodeCache(const CodeCache&) = delete;
    CodeCache& operator=(const CodeCache&) = delete;

    ExecutionContext& context() { return *context_; }

    SegmentBases bases() const { return bases_; }

    // Loads the guest state from the context, runs from context().entry until the code exits, and
    // saves the guest state. The caller must have set everything in the context except the host's
    // part, and must be the same thread each time.
    void enter();

    // A buffer over all free code memory; commit() keeps what was appended. At most
    // max_appended_bytes may be appended to one buffer.
    CodeBuffer open() const { return {next_, limit_, context_, bases_}; }
    void commit(const CodeBuffer& buffer);
    static constexpr std::size_t max_appended_bytes = std::size_t{1} << 20;
    static constexpr std::size_t code_size_bytes() { return code_bytes; }
    // Forgets all translated code and every indirect target.
    void clear();

    bool contains(std::uint64_t host_address) const {
        return host_address - reinterpret_cast<std::uintptr_t>(code_) <
               static_cast<std::uint64_t>(code_end_ - code_);
    }
    // Whether the address is in the code that enters and leaves translated code, which executes
    // nothing for the guest.
    bool is_in_stubs(std::uint64_t host_address) const {
        return host_address - reinterpret_cast<std::uintptr_t>(code_) <
               static_cast<std::uint64_t>(first_ - code_);
    }

    // The code that leaves translated code with `reason`.
    const std::uint8_t* exit_stub(ExitReason reason) const {
        return exits_[static_cast<std::size_t>(reason)];
    }
    // The code that indirect branches to unknown targets go to.
    const std::uint8_t* miss_stub() const { return code_; }
    // The handler to install for signals that translated code may raise (SA_SIGINFO, SA_ONSTACK).
    void* signal_entry() const { return signal_entry_; }

    IndirectTargets& indirect_targets() { return *indirect_targets_; }
    const IndirectTargets& indirect_targets() const { return *indirect_targets_; }

  private:
    explicit CodeCache(SegmentBases bases) : bases_(bases) {}
    Result<void> map();
    void emit_stubs(SignalFunction on_signal, void* self);
    void emit_enter(CodeBuffer& out);
    void emit_exit_common(CodeBuffer& out);
    void emit_signal_entry(CodeBuffer& out, SignalFunction on_signal, void* self);

    static constexpr std::size_t code_bytes = std::size_t{64} << 20;
    static constexpr std::size_t growth_bytes = 2 * max_appended_bytes;
    static constexpr std::size_t context_bytes = 2 * page_bytes;
    static constexpr std::size_t exit_reasons = 10;

    SegmentBases bases_;
    std::uint64_t gs_base_ = 0;  // set by the kernel
    std::uint8_t* region_ = nullptr;
    std::size_t region_bytes_ = 0;
    ExecutionContext* context_ = nullptr;
    std::uint8_t* code_ = nullptr;      // its first instruction is the miss stub
    std::uint8_t* code_end_ = nullptr;  // the table of indirect targets begins here
    std::uint8_t* limit_ = nullptr;     // code_end_, unless the kernel refused more memory
    GrowingMemory memory_;              // for the code
    std::uint8_t* first_ = nullptr;     // first byte behind the stubs
    std::uint8_t* next_ = nullptr;
    const std::uint8_t* exits_[exit_reasons] = {};
    const std::uint8_t* enter_ = nullptr;
    void* signal_entry_ = nullptr;
    std::optional<IndirectTargets> indirect_targets_;
};

}  // namespace shadowprof
