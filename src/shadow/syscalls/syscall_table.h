// Every system call of x86-64: what it is and what a sample does about it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace shadowprof {

struct SyscallCall;
struct SyscallOutcome;

// After shadow-profiling, section 3.2.
enum class SyscallClass : std::uint8_t {
    benign,  // has no effect outside of the process: answered from the snapshot
    output,  // changes something outside: not executed, success assumed
    input,   // brings something in: regular files are read, other input ends the sample
    misc,    // depends on the arguments: emulated on the snapshot
    unsafe,  // ends the sample
    count
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(SyscallClass::count)>
    syscall_class_names = {"benign", "output", "input", "misc", "unsafe"};

constexpr std::string_view name(SyscallClass syscall_class) {
    return syscall_class_names[static_cast<std::size_t>(syscall_class)];
}

// The function that emulates a call, or none. It knows which without comparing addresses, which is
// no constant expression in a sanitizer build.
class SyscallFunction {
  public:
    using Pointer = SyscallOutcome (*)(SyscallCall&);

    constexpr SyscallFunction(std::nullptr_t) {}
    constexpr SyscallFunction(Pointer function) : function_(function), present_(true) {}

    constexpr explicit operator bool() const { return present_; }
    // Only if there is one.
    SyscallOutcome operator()(SyscallCall& call) const;

  private:
    Pointer function_ = nullptr;
    bool present_ = false;
};

struct SyscallRow {
    std::uint16_t number;
    std::string_view name;  // as in <asm/unistd_64.h>, without __NR_
    SyscallClass syscall_class;
    SyscallFunction handler;  // none: the sample ends
    std::string_view remark;  // what is done, or why the sample ends
};

// Sorted by number.
std::span<const SyscallRow> syscall_table();

// Null for a number that is no system call; the kernel answers ENOSYS to those.
const SyscallRow* find_syscall(std::uint64_t number);

}  // namespace shadowprof
