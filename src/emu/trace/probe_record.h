// A probe's observations as they travel from the emulator to the collector.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/guest_address.h"
#include "probe/bound_probe.h"

namespace shadowprof {

// The record stands in front of the record of the block that the probed instruction begins. The
// instruction was not executed if the record is the last one of its thread, or if the same record
// comes again before the block's. Records from a worker process are hostile.
struct ProbeRecord {
    GuestAddress pc;
    std::uint64_t value = 0, key = 0;
    std::uint32_t probe = 0;
    std::uint32_t missed = 0;  // if not 0, value and key mean nothing
    std::uint32_t thread = 0;  // GuestThreads::Index
    std::uint32_t place = 0;   // how many trace words of the segment are older

    friend bool operator==(const ProbeRecord&, const ProbeRecord&) = default;
};
static_assert(sizeof(ProbeRecord) == 40);
static_assert(sizeof(ProbeRecord) % sizeof(std::uint64_t) == 0);

// ProbeRecord::probe of records that note system calls instead. In each of them `pc` is the
// instruction, and `value` the number as the kernel takes it, in 32 bits.
//
// A thread makes a call. The note stands behind the record of the block that ends with the call,
// and `key` is the stack pointer. The call may not return.
inline constexpr std::uint32_t system_call_note = ~std::uint32_t{0};
// The same, where something else gave the thread its registers and this is the first that it
// executes: it may be an interrupted call that begins again.
inline constexpr std::uint32_t repeated_call_note = system_call_note - 1;
// The thread's call has returned `key`.
inline constexpr std::uint32_t call_result_note = system_call_note - 2;

// How many bytes of a text a note has: in `value`, then in `key`. Behind the text they are 0.
inline constexpr std::size_t note_text_bytes = 2 * sizeof(std::uint64_t);

// A note with the beginning of `text`, which it removes from there.
inline ProbeRecord take_text_note(std::string_view& text, ProbeRecord note) {
    std::array<std::uint64_t, 2> words{};
    static_assert(sizeof words == note_text_bytes);
    const auto part = text.substr(0, note_text_bytes);
    std::memcpy(words.data(), part.data(), part.size());
    text.remove_prefix(part.size());
    note.value = words[0];
    note.key = words[1];
    return note;
}
inline std::array<char, note_text_bytes> text_bytes(const ProbeRecord& note) {
    return std::bit_cast<std::array<char, note_text_bytes>>(std::array{note.value, note.key});
}

// ProbeRecord::probe of records of a RegionEvent, whose kind is `value`. The note stands behind the
// record of the block before. The bytes of a name come first, in region_name_notes
// (take_text_note()).
inline constexpr std::uint32_t region_note = system_call_note - 3;
inline constexpr std::uint32_t region_name_note = system_call_note - 4;

// ProbeRecord::probe of records of calls of allocators (emu/watch/allocators.h). `pc` is the entry,
// and `value` how many bytes are asked for. The note stands where one of a probe would stand, and
// behind those of probes.
inline constexpr std::uint32_t allocation_note = system_call_note - 5;

// ProbeRecord::probe of records of the functions of scripts (emu/watch/python_watch.h). The notes
// stand where those of a probe would stand, and before them.
//
// `pc` names a function, whose first line is `value`, until another such note has the same `pc`.
// The bytes of its file's name and of its own come first, in script_text_notes; `key` has their
// numbers, those of the file's name in the upper half.
inline constexpr std::uint32_t script_function_note = system_call_note - 6;
inline constexpr std::uint32_t script_text_note = system_call_note - 7;
// The interpreter goes on with the frame `value` of the function `pc`, which was called from the
// frame `key`; `missed` is 1 where the interpreter was called for it. script_stack_notes before it
// are of frames that it was called from.
inline constexpr std::uint32_t script_frame_note = system_call_note - 8;
// The interpreter is left, and goes on with no frame.
inline constexpr std::uint32_t script_leave_note = system_call_note - 9;
// The thread begins in these frames, the innermost first. Each was called from the frame `key`, 0
// if from none; `missed` is 1 where the interpreter was called for it. The interpreter lies from
// `value` to `key` of the note before the first.
inline constexpr std::uint32_t script_interpreter_note = system_call_note - 10;
inline constexpr std::uint32_t script_stack_note = system_call_note - 11;
inline constexpr std::uint32_t script_stack_end_note = system_call_note - 12;

// ProbeRecord::probe of records of the stack pointer (emu/watch/stack_watch.h).
//
// The block that begins at `pc`, whose record comes next, leaves frames at once or goes on to
// another stack: the stack pointer is `value` before it and `key` at its end (for calls and jumps,
// before the block grows the stack). `missed` has flags.
// stack_words_notes follow: pointers to code on the stack, from low addresses to high ones. `value`
// is the pointer, `key` its address, and `missed` how often it stands there, one behind the other.
// They are those down to where a thread has left this stack, if that is at most max_switch_bytes
// away or was by a signal, and else those of the last noted_stack_bytes below the new stack
// pointer. One at the new stack pointer itself may be a return address.
inline constexpr std::uint32_t stack_change_note = system_call_note - 13;
inline constexpr std::uint32_t stack_words_note = system_call_note - 14;
inline constexpr std::uint64_t noted_stack_bytes = 4096;
// The frames of what switches stacks are smaller, and stacks are larger.
inline constexpr std::uint64_t max_switch_bytes = 512;
// A flag: both stack pointers may be of one stack, and all pointers to code between them are noted.
inline constexpr std::uint32_t stack_may_leave_frames = 1;
// A flag: control goes to what the new stack pointer points to by a jump.
inline constexpr std::uint32_t stack_returns_by_jump = 2;
// A signal has interrupted the thread before `pc`, or its handler returns (`missed` is 1). The
// stack pointer was `value` and is `key`.
inline constexpr std::uint32_t stack_set_note = system_call_note - 15;

}  // namespace shadowprof
