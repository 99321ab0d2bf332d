// One system call of a guest and its outcome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/cpu_state.h"
#include "base/result.h"
#include "emu/guest/guest_space.h"
#include "emu/guest/guest_threads.h"
#include "emu/guest/sample_end.h"

namespace shadowprof {

class SampleState;

// The value for rax, or why the thread cannot go on; then the sample ends unless other threads go
// on.
struct SyscallOutcome {
    std::int64_t value = 0;
    std::optional<SampleEnd> end;
    std::string reason;  // why it ends, in a few words; one of a few texts
};

inline SyscallOutcome answer(std::int64_t value) {
    return {value, {}, {}};
}
inline SyscallOutcome answer(std::uint64_t value) {
    return answer(static_cast<std::int64_t>(value));
}
inline SyscallOutcome answer(int value) {
    return answer(static_cast<std::int64_t>(value));
}
inline SyscallOutcome answer(std::uint32_t value) {
    return answer(static_cast<std::int64_t>(value));
}
// The call fails with an errno value: -errno in rax.
inline SyscallOutcome failure(int errno_value) {
    return answer(-errno_value);
}
inline SyscallOutcome ends(SampleEnd end, std::string reason) {
    return {0, end, std::move(reason)};
}

// What an error of the environment means: a refusal that the guest gets, or the end of the sample.
SyscallOutcome from_error(const Error& error);

// A value needed for an outcome, or an early outcome. TRY and TRY_ASSIGN work on it.
template <typename T>
class [[nodiscard]] Emulated {
  public:
    Emulated(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Emulated(SyscallOutcome outcome) : state_(std::in_place_index<1>, std::move(outcome)) {}

    explicit operator bool() const { return state_.index() == 0; }
    T& value() & { return *std::get_if<0>(&state_); }
    T&& value() && { return std::move(*std::get_if<0>(&state_)); }
    T& operator*() & { return value(); }
    T* operator->() { return &value(); }
    SyscallOutcome& error() & { return *std::get_if<1>(&state_); }
    SyscallOutcome&& error() && { return std::move(*std::get_if<1>(&state_)); }

  private:
    std::variant<T, SyscallOutcome> state_;
};

template <typename T>
Emulated<T> emulated(Result<T> result) {
    if (!result) return from_error(result.error());
    return std::move(result).value();
}

struct SyscallCall {
    GuestThreads& threads;
    CpuState& cpu;  // the current thread's
    GuestSpace& space;
    SampleState& sample;
    std::uint64_t elapsed_ns;  // guest time since the sample began

    // Argument `n`, from 0 to 5.
    std::uint64_t arg(int n) const {
        constexpr Gpr registers[] = {Gpr::rdi, Gpr::rsi, Gpr::rdx, Gpr::r10, Gpr::r8, Gpr::r9};
        return cpu[registers[n]];
    }
    // Arguments that the kernel declares as int or unsigned int: the upper half is ignored.
    int int_arg(int n) const { return static_cast<int>(static_cast<std::uint32_t>(arg(n))); }
    std::uint32_t uint_arg(int n) const { return static_cast<std::uint32_t>(arg(n)); }
    GuestAddress address(int n) const { return {arg(n)}; }

    // Stores a result at `address`, or nowhere if that is null. Answers 0 or EFAULT.
    template <typename T>
    SyscallOutcome store_result(GuestAddress address, const T& value) {
        if (address.value != 0 && !guest_store(space, address, value)) return failure(EFAULT);
        return answer(0);
    }
};

// A structure that the guest passed by address, or EFAULT.
template <typename T>
Emulated<T> load(SyscallCall& call, GuestAddress from) {
    auto value = read_value<T>(call.space, from);
    if (!value) return failure(EFAULT);
    return *value;
}

}  // namespace shadowprof
