// What the cells of the table of system calls are written with (syscall_rows.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "syscalls/handlers.h"
#include "syscalls/syscall_facts.h"

namespace shadowprof {

// The function that emulates a call, or none. `present_` avoids a comparison of addresses, which is
// no constant expression in a sanitizer build.
class SyscallFunction {
  public:
    using Pointer = SyscallOutcome (*)(SyscallCall&);

    constexpr SyscallFunction(std::nullptr_t) {}
    constexpr SyscallFunction(Pointer function) : function_(function), present_(true) {}

    constexpr explicit operator bool() const { return present_; }
    // Needs a function.
    constexpr Pointer get() const { return function_; }

  private:
    Pointer function_ = nullptr;
    bool present_ = false;
};

struct SyscallRow {
    std::uint16_t number;
    std::string_view name;
    SyscallClass syscall_class;
    SyscallFunction handler;  // none: the sample ends
    std::string_view remark;
    MemoryUse memory = {};
    RecordedUse recorded = {};
    StopUse stop = {};
    SyscallResult result = SyscallResult::other;
};

// Names for the cells of the table.
namespace syscall_words {

using enum SyscallClass;
using Shows = StopUse::Shows;
using AccessKind = MemoryAccess::Kind;
using ReadKind = MemoryRead::Kind;

// The kernel's structures that the C library lays out otherwise.
struct KernelSigaction {
    std::uint64_t handler, flags, restorer, mask;
};
using KernelSigset = std::uint64_t;
// No request of fcntl(2) writes more.
inline constexpr std::uint16_t max_fcntl_bytes = 64;

// Memory that a call uses. `pointer` is the number of an argument.
inline constexpr MemoryUse anything = {};
inline constexpr MemoryUse no_memory = {.is_known = true};
template <typename... Accesses>
constexpr MemoryUse uses(Accesses... accesses) {
    return {.is_known = true, .accesses = {accesses...}};
}
template <typename... Accesses>
constexpr MemoryUse uses_at_least(Accesses... accesses) {
    return {.is_known = true, .writes_more = true, .accesses = {accesses...}};
}
template <typename... Accesses>
constexpr MemoryUse layout(Accesses... accesses) {
    return {.is_known = true, .layout = true, .accesses = {accesses...}};
}
constexpr MemoryAccess writes(std::uint8_t pointer, std::uint16_t bytes) {
    return {AccessKind::fixed, pointer, 0, bytes};
}
template <typename Type>
constexpr MemoryAccess writes(std::uint8_t pointer) {
    return writes(pointer, sizeof(Type));
}
constexpr MemoryAccess result(std::uint8_t pointer, std::uint16_t each_bytes = 1) {
    return {AccessKind::result, pointer, 0, each_bytes};
}
template <typename Type>
constexpr MemoryAccess result_of(std::uint8_t pointer) {
    return result(pointer, sizeof(Type));
}
constexpr MemoryAccess result_within(std::uint8_t pointer, std::uint8_t most) {
    return {AccessKind::result, pointer, most, 1};
}
template <typename Type>
constexpr MemoryAccess array(std::uint8_t pointer, std::uint8_t count) {
    return {AccessKind::array, pointer, count, sizeof(Type)};
}
template <typename Type>
constexpr MemoryAccess in_out(std::uint8_t pointer, std::uint8_t count) {
    return {AccessKind::in_out, pointer, count, sizeof(Type)};
}
constexpr MemoryAccess placed(std::uint8_t size) {
    return {AccessKind::placed, 0, size, 1};
}
constexpr MemoryAccess pages(std::uint8_t pointer, std::uint8_t size) {
    return {AccessKind::pages, pointer, size, 1};
}
constexpr MemoryAccess moved_to(std::uint8_t pointer, std::uint8_t size) {
    return {AccessKind::moved_to, pointer, size, 1};
}
constexpr MemoryAccess vectors(std::uint8_t pointer, std::uint8_t count) {
    return {AccessKind::vectors, pointer, count, 0};
}
constexpr MemoryAccess address(std::uint8_t pointer, std::uint8_t size_pointer) {
    return {AccessKind::address, pointer, size_pointer, 0};
}
constexpr MemoryAccess message(std::uint8_t pointer) {
    return {AccessKind::message, pointer, 0, 0};
}
constexpr MemoryAccess messages(std::uint8_t pointer, std::uint8_t count) {
    return {AccessKind::messages, pointer, count, 0};
}
constexpr MemoryAccess set(std::uint8_t pointer) {
    return {AccessKind::set, pointer, 0, 0};
}
inline constexpr MemoryAccess ioctl_argument = {AccessKind::ioctl, 2, 1, 0};

// Memory that a call reads, for MemoryUse::reading().
constexpr MemoryRead reads(std::uint8_t pointer, std::uint16_t bytes) {
    return {ReadKind::fixed, pointer, 0, bytes};
}
template <typename Type>
constexpr MemoryRead reads(std::uint8_t pointer) {
    return reads(pointer, sizeof(Type));
}
constexpr MemoryRead path(std::uint8_t pointer) {
    return {ReadKind::string, pointer, 0, 0};
}
constexpr MemoryRead counted(std::uint8_t pointer, std::uint8_t count) {
    return {ReadKind::array, pointer, count, 1};
}
// Memory that changes its place or its protection, or that must be there.
constexpr MemoryRead pages_of(std::uint8_t pointer, std::uint8_t size) {
    return {ReadKind::pages, pointer, size, 1};
}
template <typename Type>
constexpr MemoryRead elements(std::uint8_t pointer, std::uint8_t count) {
    return {ReadKind::array, pointer, count, sizeof(Type)};
}
constexpr MemoryRead gathered(std::uint8_t pointer, std::uint8_t count) {
    return {ReadKind::vectors, pointer, count, 0};
}
constexpr MemoryRead sent_message(std::uint8_t pointer) {
    return {ReadKind::sent_message, pointer, 0, 0};
}
constexpr MemoryRead received_message(std::uint8_t pointer) {
    return {ReadKind::received_message, pointer, 0, 0};
}
constexpr MemoryRead sent_messages(std::uint8_t pointer, std::uint8_t count) {
    return {ReadKind::sent_messages, pointer, count, 0};
}
constexpr MemoryRead received_messages(std::uint8_t pointer, std::uint8_t count) {
    return {ReadKind::received_messages, pointer, count, 0};
}
constexpr MemoryRead signal_mask(std::uint8_t pointer) {
    return {ReadKind::signal_mask, pointer, 0, 0};
}
constexpr MemoryRead set_of(std::uint8_t pointer) {
    return {ReadKind::set, pointer, 0, 0};
}
inline constexpr MemoryRead ioctl_input = {ReadKind::ioctl, 2, 1, 0};

// Recording.
inline constexpr RecordedUse not_recorded = {};
inline constexpr bool by_descriptor = true;
constexpr RecordedUse recorded(std::uint8_t compared, bool is_by_descriptor = false) {
    return {compared, -1, is_by_descriptor};
}
constexpr RecordedUse recorded_with_timeout(std::uint8_t compared, std::int8_t timeout) {
    return {compared, timeout, false};
}

// Stops.
constexpr StopUse shows(Shows when) {
    return {.shows = when};
}
constexpr StopUse eintr(Shows when = Shows::always) {
    return {.shows = when, .returns_eintr = true};
}
constexpr StopUse eintr_after(StopUse::Unit unit, std::uint8_t timeout, std::int16_t result) {
    return {
        .returns_eintr = true, .timeout_unit = unit, .timeout = timeout, .timeout_result = result};
}
inline constexpr auto milliseconds = StopUse::Unit::milliseconds;
inline constexpr auto timespec_pointer = StopUse::Unit::timespec;

// Results.
inline constexpr auto a_descriptor = SyscallResult::descriptor;
inline constexpr auto transferred_bytes = SyscallResult::bytes;

}  // namespace syscall_words

}  // namespace shadowprof
