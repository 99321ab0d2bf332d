// Why a sample ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shadowprof {

enum class SampleEnd : std::uint8_t {
    size,                     // it reached its number of instructions
    met,                      // it reached the very state in which its window ended
    unsafe_syscall,           // a system call that cannot be emulated
    input,                    // a read of input that was not recorded: pipe, socket, terminal
    idle,                     // the thread waits in the kernel, or began to wait
    fault,                    // a fault or trap of the guest
    exit,                     // the program or the thread ended
    unsupported_instruction,  // neither translated nor single-stepped
    no_room,                  // mappings of the program and the worker fit at no delta
    replica_lost,             // the replica vanished
    worker_lost,              // the worker process crashed
    stopped,                  // shadowprof was told to end
    time,                     // a live sample lasted as long as the target may be stopped
    count
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(SampleEnd::count)>
    sample_end_names = {"size",    "met",          "unsafe_syscall", "input",
                        "idle",    "fault",        "exit",           "unsupported_instruction",
                        "no_room", "replica_lost", "worker_lost",    "stopped",
                        "time"};

// Whether only the thread that met this reason stops, and others of its process go on.
constexpr bool stops_one_thread(SampleEnd end) {
    return end == SampleEnd::unsafe_syscall || end == SampleEnd::input || end == SampleEnd::idle ||
           end == SampleEnd::unsupported_instruction;
}

// Whether the sample has its full length.
constexpr bool is_whole(SampleEnd end) {
    return end == SampleEnd::size || end == SampleEnd::met;
}

constexpr std::string_view name(SampleEnd end) {
    return sample_end_names[static_cast<std::size_t>(end)];
}

}  // namespace shadowprof
