// Facts about each system call of x86-64: one row per call, for every stage that meets it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace shadowprof {

using CallArguments = std::array<std::uint64_t, 6>;

// The classes of Shadow Profiling, section 3.2.
enum class SyscallClass : std::uint8_t {
    benign,  // has no effect outside the process: answered from the snapshot
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

// Memory that one of the call's arguments points to, as include/uapi lays it out.
struct MemoryAccess {
    enum class Kind : std::uint8_t {
        none,
        fixed,   // the call writes `bytes`
        result,  // the returned count of elements, `bytes` each; argument `other` limits the count
                 // if it is not 0
        array,   // argument `other` is the number of elements, `bytes` each
        in_out,  // like array, and the call reads the elements too
        placed,  // whole pages at the returned address; argument `other` is the size
        pages,   // whole pages, which the call may empty or move; argument `other` is the size
        moved_to,  // whole pages at argument `pointer`, if mremap(2) is told to use them;
                   // argument `other` is the size
        vectors,   // `other` of struct iovec, which say where the returned number of bytes is
                   // written
        address,   // a socket's address; `other` points to its size
        message,   // struct msghdr
        messages,  // `other` of struct mmsghdr
        set,       // an fd_set with as many descriptors as argument `other` says
        ioctl,     // argument `other` is the request, which says what is written
    };
    Kind kind = Kind::none;
    std::uint8_t pointer = 0;  // number of the argument
    std::uint8_t other = 0;    // number of another argument
    std::uint16_t bytes = 0;
};

// Memory that the call reads because one of its arguments points to it.
struct MemoryRead {
    enum class Kind : std::uint8_t {
        none,
        fixed,              // `bytes` bytes
        array,              // argument `other` is the number of elements, `bytes` each
        pages,              // whole pages; argument `other` is the size
        string,             // up to its zero, as a path
        vectors,            // `other` of struct iovec, and all that they point to
        sent_message,       // struct msghdr, and all that it points to
        received_message,   // struct msghdr and its vectors alone
        sent_messages,      // `other` of struct mmsghdr, and all that they point to
        received_messages,  // `other` of struct mmsghdr and their vectors alone
        set,                // an fd_set with as many descriptors as argument 0 says
        signal_mask,        // the address and the size of a set of signals, and the set
        ioctl,              // argument `other` is the request, which says what is read
    };
    Kind kind = Kind::none;
    std::uint8_t pointer = 0;
    std::uint8_t other = 0;
    std::uint16_t bytes = 0;
};

struct MemoryUse {
    bool is_known = false;  // if false, the call may write anywhere and map anything
    bool layout = false;    // the call may change the list of mappings
    // `accesses` are what the call writes when it is recorded. With some arguments it writes more,
    // and it is not known where.
    bool writes_more = false;
    std::array<MemoryAccess, 5> accesses = {};
    bool knows_reads = false;  // if false, the call may read anywhere
    std::array<MemoryRead, 5> reads = {};

    // The same use of a call that reads this memory and no other.
    template <typename... Reads>
    constexpr MemoryUse reading(Reads... each) const {
        MemoryUse use = *this;
        use.knows_reads = true;
        use.reads = {each...};
        return use;
    }
};

// Whether a call brings in data that a sample cannot know, so that the call is recorded, and when
// two calls are the same.
struct RecordedUse {
    // Bit n is set if argument n says what is asked for. If 0, the call is not recorded.
    std::uint8_t compared = 0;
    // The argument that is a time-out in milliseconds, or -1. It may be computed from a clock, so
    // only whether the call returns at once, waits, or waits for ever is compared.
    std::int8_t timeout = -1;
    // The call is recorded only if its descriptor is a pipe, socket, terminal or the like. The
    // sample itself reads files and memory devices.
    bool by_descriptor = false;
};

// What a thread that sleeps in the call notices of a stop without a signal handler: signal(7).
struct StopUse {
    // When the thread may notice the stop.
    enum class Shows : std::uint8_t {
        always,  // or it is not known
        never,
        in_sockets,        // argument 0 is a socket, which may have a time-out (SO_RCVTIMEO)
        in_other_futexes,  // in futex calls other than plain waits and locks
        in_rest_1,         // argument 1 points to where the remaining time is written
        in_rest_3,         // argument 3 does so, unless argument 1 has TIMER_ABSTIME
        in_timeout_2,      // argument 2 points to a time-out that receives the remaining time
        in_timeout_4,
    };
    enum class Unit : std::uint8_t { none, milliseconds, timespec };

    Shows shows = Shows::always;
    bool returns_eintr = false;  // fails with EINTR: the kernel does not restart it
    // For a call with a time-out, which starts anew when the call is restarted: the argument, and
    // what the call returns when the time-out is over.
    Unit timeout_unit = Unit::none;
    std::uint8_t timeout = 0;
    std::int16_t timeout_result = 0;
};

// What the call returns when it succeeds.
enum class SyscallResult : std::uint8_t {
    other,
    descriptor,
    bytes,  // how many bytes it has transferred
};

constexpr std::string_view name(SyscallResult result) {
    constexpr std::string_view names[] = {"other", "descriptor", "bytes"};
    return names[static_cast<std::size_t>(result)];
}

struct SyscallFacts {
    std::uint16_t number;
    std::string_view name;  // as in <asm/unistd_64.h>, without __NR_
    SyscallClass syscall_class;
    std::string_view remark;  // what a sample does with the call, or why it ends
    MemoryUse memory;
    RecordedUse recorded;
    StopUse stop;
    SyscallResult result;
};

}  // namespace shadowprof
