// What is known of each system call of x86-64: one row a call, for every stage that meets it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace shadowprof {

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

// Memory behind one of the call's arguments, as include/uapi lays it out.
struct MemoryAccess {
    enum class Kind : std::uint8_t {
        none,
        fixed,     // `bytes` are written
        result,    // as many are written as the call returned, times `bytes`; where `other` is
                   // not 0, as that argument says at most
        array,     // argument `other` says how many are written, `bytes` each
        in_out,    // the same, and they also say what the call is to do
        placed,    // at the address that the call returned: as much as argument `other` says
        vectors,   // struct iovec, `other` of them, that say where as much is written as returned
        address,   // a socket's address; `other` points to its size
        message,   // struct msghdr
        messages,  // struct mmsghdr, `other` of them
        set,       // an fd_set of as many descriptors as argument `other` says
        ioctl,     // argument `other` says what is written
    };
    Kind kind = Kind::none;
    std::uint8_t pointer = 0;  // which argument
    std::uint8_t other = 0;    // which argument
    std::uint16_t bytes = 0;
};

struct MemoryUse {
    bool is_known = false;  // else it may write anywhere and map anything
    bool layout = false;    // the list of mappings may be another after it
    // `accesses` are what it writes where it is recorded; there are arguments with which it writes
    // more, and nothing says what.
    bool writes_more = false;
    std::array<MemoryAccess, 5> accesses = {};
};

// Whether a call brings in what a sample cannot know, so that it can be recorded, and when two are
// the same.
struct RecordedUse {
    // Bit n: argument n says what is asked for. 0: the call is not recorded.
    std::uint8_t compared = 0;
    // The argument that is a time-out in milliseconds, or -1. It may come from a clock, so only
    // whether the call returns at once, waits or waits for ever is compared.
    std::int8_t timeout = -1;
    // It is recorded only where its descriptor is a pipe, socket, terminal or the like: files and
    // memory devices are read by the sample itself.
    bool by_descriptor = false;
};

// What a thread that sleeps in the call notices of a stop that no handler follows: signal(7).
struct StopUse {
    // Whether it may notice at all.
    enum class Shows : std::uint8_t {
        always,  // or it is not known
        never,
        in_sockets,        // argument 0 is one: it may have a time-out (SO_RCVTIMEO)
        in_other_futexes,  // than plain waits and locks
        in_rest_1,         // argument 1 points to where the time that is left is written
        in_rest_3,         // the same of argument 3, unless argument 1 says TIMER_ABSTIME
        in_timeout_2,      // the same of the time-out that argument 2 points to
        in_timeout_4,
    };
    enum class Unit : std::uint8_t { none, milliseconds, timespec };

    Shows shows = Shows::always;
    bool returns_eintr = false;  // it does not go on by itself
    // Where it has a time-out, which begins anew with the call: the argument, and what the call
    // returns when it is over.
    Unit timeout_unit = Unit::none;
    std::uint8_t timeout = 0;
    std::int16_t timeout_result = 0;
};

struct SyscallFacts {
    std::uint16_t number;
    std::string_view name;  // as in <asm/unistd_64.h>, without __NR_
    SyscallClass syscall_class;
    std::string_view remark;  // what a sample does, or why it ends
    MemoryUse memory;
    RecordedUse recorded;
    StopUse stop;
    bool makes_descriptor;  // its value is one
};

}  // namespace shadowprof
