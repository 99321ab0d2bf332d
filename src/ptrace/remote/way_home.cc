#include "ptrace/remote/way_home.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "base/cpu_state.h"
#include "ptrace/proc/proc.h"
#include "ptrace/remote/sigreturn_frame.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/thread/ptrace_call.h"
#include "ptrace/thread/thread_registers.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t frame_alignment = 64;
// Larger than any process id.
constexpr std::uint64_t no_process = std::numeric_limits<pid_t>::max();
// NT_X86_SHSTK, which older headers lack.
constexpr std::uint64_t shadow_stack_regset = 0x204;

// Before each frame lies the address of the code of rt_sigreturn, to which a RET leads.
constexpr std::uint64_t address_bytes = 8;
constexpr std::uint64_t block_bytes = 384;
static_assert(block_bytes >= sigreturn_context_bytes + address_bytes);
static_assert(block_bytes % frame_alignment == 0);
enum Block : std::uint8_t { wait, exit, home };
constexpr std::uint64_t frame_offset(Block block) {
    return block * block_bytes + frame_alignment;
}
constexpr std::uint64_t entry_offset(Block block) {
    return frame_offset(block) - address_bytes;
}
constexpr std::uint64_t max_bytes =
    red_zone_bytes + frame_offset(home) + block_bytes + max_xstate_bytes + frame_alignment;

Error no_way(std::string_view why) {
    return {ErrorCode::unsupported, 0, std::string(why)};
}

bool has_shadow_stack(const StoppedThread& thread) {
    std::uint64_t pointer = 0;
    iovec vector{&pointer, sizeof pointer};
    return ptrace_call(PTRACE_GETREGSET, thread.tid(), shadow_stack_regset, &vector,
                       "look for a shadow stack")
        .has_value();
}

// Whether everything from `lowest` up to the stack pointer belongs to the stack. C libraries put a
// guard below a thread's stack and the block that FS points to above it. The block begins with its
// own address (System V ABI, "Thread-Local Storage").
bool is_own_stack(const MemoryMap& map, MemoryReader& memory, const user_regs_struct& registers,
                  GuestAddress lowest) {
    const Mapping* stack = map.find({registers.rsp});
    if (!stack || !stack->writable || stack->shared || lowest < stack->start) return false;
    if (stack->name == "[stack]") return true;
    const GuestAddress block{registers.fs_base};
    if (block.value < registers.rsp || !stack->contains(block)) return false;
    const Mapping* guard = map.find({stack->start.value - 1});
    return guard && !guard->readable && !guard->writable &&
           read_value<std::uint64_t>(memory, block) == block.value;
}

// Returns the registers with which the thread repeats its call, as the kernel would restart it. A
// time-out begins anew. A call that was restarted before (restart_syscall(2)) returns EINTR.
user_regs_struct restarted(user_regs_struct registers) {
    if (!blocked_syscall(registers)) return registers;
    registers.rip -= syscall_instruction_bytes;
    registers.rax = registers.orig_rax;
    return registers;
}

class Writer {
  public:
    Writer(std::vector<std::byte>& to, GuestAddress at, GuestAddress sigreturn)
        : to_(to), at_(at), sigreturn_(sigreturn) {}

    // Returns the offset of the frame's end.
    Result<std::size_t> add(Block block, const user_regs_struct& registers, std::uint64_t mask,
                            std::span<const std::byte> extended = {}) {
        std::memcpy(to_.data() + entry_offset(block), &sigreturn_.value, address_bytes);
        const auto offset = frame_offset(block);
        TRY_ASSIGN(const auto bytes,
                   write_sigreturn_frame(registers, mask, extended, std::span(to_).subspan(offset),
                                         at_ + offset));
        return offset + bytes;
    }

  private:
    std::vector<std::byte>& to_;
    GuestAddress at_;
    GuestAddress sigreturn_;
};

Result<void> write_all(const UniqueFd& memory, GuestAddress at, std::span<const std::byte> bytes) {
    if (::pwrite(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(at.value)) !=
        static_cast<ssize_t>(bytes.size()))
        return errno_error("write to a stack of the target");
    return {};
}

}  // namespace

bool WayHome::finds_stack(const StoppedThread& thread, const MemoryMap& map) {
    const auto own = thread.registers();
    if (!own || has_shadow_stack(thread)) return false;
    ProcessMemory memory(thread.tid());
    return is_own_stack(map, memory, *own, {own->rsp - max_bytes});
}

Result<WayHome> WayHome::lay(const StoppedThread& thread, const ReturnCode& code) {
    if (has_shadow_stack(thread)) return no_way("the thread has a shadow stack");
    TRY_ASSIGN(const auto own, thread.registers());
    TRY_ASSIGN(const auto mask, thread.signal_mask());
    alignas(frame_alignment) std::array<std::byte, max_xstate_bytes> buffer;
    TRY_ASSIGN(const auto extended, thread.extended_state(buffer));
    std::vector<std::byte> bytes(frame_offset(home) + block_bytes + extended.size());
    const GuestAddress at{(own.rsp - red_zone_bytes - bytes.size()) & ~(frame_alignment - 1)};
    TRY_ASSIGN(const MemoryMap map, read_memory_map(thread.tid()));
    ProcessMemory reader(thread.tid());
    if (!is_own_stack(map, reader, own, at)) return no_way("the thread has no stack to use");

    Writer writer(bytes, at, code.sigreturn);
    user_regs_struct waiting = own;
    waiting.rip = code.call.value;
    waiting.eflags &= ~trap_flag;
    waiting.rsp = (at + entry_offset(home)).value;
    waiting.rax = SYS_wait4;
    waiting.rdi = no_process;
    waiting.rsi = waiting.r10 = 0;
    waiting.rdx = __WALL;
    TRY(writer.add(wait, waiting, injected_call_mask));
    user_regs_struct exiting = waiting;
    exiting.rax = SYS_exit;
    exiting.rdi = 0;
    TRY(writer.add(exit, exiting, injected_call_mask));
    TRY_ASSIGN(const auto end, writer.add(home, restarted(own), mask, extended));
    bytes.resize(end);

    TRY_ASSIGN(UniqueFd memory, open_process_memory(thread.tid(), O_RDWR));
    std::vector<std::byte> before(bytes.size());
    if (!reader.read(at, before)) return no_way("the thread's stack cannot be read");
    TRY(write_all(memory, at, bytes));
    return WayHome(std::move(memory), at, code.call, std::move(before));
}

WayHome::WayHome(WayHome&& other) noexcept = default;

WayHome::~WayHome() {
    if (memory_) static_cast<void>(write_all(memory_, start_, before_));
}

GuestAddress WayHome::stack() const {
    return start_ + entry_offset(wait);
}

GuestAddress WayHome::child_stack() const {
    return start_ + entry_offset(exit);
}

GuestAddress WayHome::child_id() const {
    return start_ + frame_offset(wait) + sigreturn_rdi_offset;
}

}  // namespace shadowprof
