#include "shadow/window/state_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "ptrace/thread/process_memory.h"

namespace shadowprof {
namespace {

// Most pages of a state. Each takes half a microsecond of the stop.
constexpr std::size_t max_pages = 48;
// Bytes that are copied where a register points. Words there may be pointers, too.
constexpr std::size_t pointed_bytes = 64;
// Bytes that are copied of the stack. Callers' frames tell turns of a recursion apart.
constexpr std::size_t stack_bytes = 1024;
// Limits for changed memory in an awaited state. The rest is for the stack and for what registers
// point to.
constexpr std::size_t max_changed_bytes =
    AwaitedState::max_bytes - stack_bytes - 16 * pointed_bytes;
constexpr std::size_t max_changed_pieces = AwaitedState::max_pieces - 17;

// The lowest page is never mapped, and the kernel's half is not the program's.
bool may_be_pointer(std::uint64_t value) {
    return value >= page_bytes && value < std::uint64_t{1} << 47;
}

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
}

// Chooses registers that differ from `before`, as these change with time.
void choose_telling_registers(AwaitedState& state, const CpuState& before) {
    state.telling.fill(static_cast<std::uint8_t>(Gpr::rsp));
    std::size_t chosen = 0;
    for (std::uint8_t i = 0; i < before.gpr.size() && chosen < state.telling.size(); ++i)
        if (before.gpr[i] != state.cpu.gpr[i]) state.telling[chosen++] = i;
}

}  // namespace

EarlierPages pages_of(pid_t pid) {
    return {.read = [pid](auto pages, auto to) { return read_pages(pid, pages, to); }};
}

StateCopy::StateCopy(pid_t pid, EarlierPages earlier, StateRoom& room)
    : pid_(pid), earlier_pages_(std::move(earlier)), room_(&room) {
    pages_.reserve(StateRoom::max_pages);
}

bool StateCopy::take(const CpuState& cpu, MemoryRange foreign) {
    cpu_ = cpu;
    foreign_ = foreign;
    pages_.clear();
    pages_.push_back(GuestAddress{cpu[Gpr::rsp]}.page());
    for (const auto value : cpu.gpr) want(value);
    keep_readable(read_now(0), 0);
    const bool has_stack = !copied_at({cpu[Gpr::rsp]}, 1).empty();
    keep_readable(read_earlier(0), 0);
    compared_ = pages_.size();
    want_changed_pointers();
    for (const auto value : cpu.gpr) want_pointers_at({value});
    keep_readable(read_now(compared_), compared_);
    pages_.resize(std::min(pages_.size(), max_pages));
    return has_stack;
}

void StateCopy::finish() {
    keep_readable(read_earlier(compared_), compared_);
    compared_ = pages_.size();
}

// Adds the page that `pointer` leads to, if it may be one.
void StateCopy::want(std::uint64_t pointer) {
    const auto page = GuestAddress{pointer}.page();
    if (!may_be_pointer(pointer) || pages_.size() == StateRoom::max_pages ||
        std::ranges::find(pages_, page) != pages_.end() ||
        (earlier_pages_.has && !earlier_pages_.has(page)))
        return;
    pages_.push_back(page);
}

// Such pointers lead to an interpreter's stack, for instance, or to its place in its input.
void StateCopy::want_changed_pointers() {
    for (std::size_t page = 0; page < compared_; ++page)
        for (std::size_t offset = 0; offset < page_bytes; offset += 8)
            if (differs(page, offset)) want(word_at(room_->now, page * page_bytes + offset));
}

void StateCopy::want_pointers_at(GuestAddress address) {
    std::array<std::uint64_t, pointed_bytes / 8> words = {};
    const auto pointed = copied_at(address, pointed_bytes);
    std::ranges::copy(pointed, std::as_writable_bytes(std::span(words)).begin());
    for (const auto word : words) want(word);
}

// Reads the pages from `first` on, each to its place in `room_`.
std::vector<bool> StateCopy::read_now(std::size_t first) {
    return read_pages(pid_, std::span(pages_).subspan(first),
                      std::span(room_->now).subspan(first * page_bytes));
}

std::vector<bool> StateCopy::read_earlier(std::size_t first) {
    return earlier_pages_.read(std::span(pages_).subspan(first),
                               std::span(room_->earlier).subspan(first * page_bytes));
}

// Drops the pages from `first` on that cannot be read.
void StateCopy::keep_readable(const std::vector<bool>& is_readable, std::size_t first) {
    auto kept = first;
    for (std::size_t i = 0; i < is_readable.size(); ++i) {
        if (!is_readable[i]) continue;
        const auto from = first + i;
        if (from != kept) {
            pages_[kept] = pages_[from];
            for (auto* bytes : {&room_->now, &room_->earlier})
                std::memcpy(bytes->data() + kept * page_bytes, bytes->data() + from * page_bytes,
                            page_bytes);
        }
        ++kept;
    }
    pages_.resize(kept);
}

bool StateCopy::differs(std::size_t page, std::size_t offset) const {
    const auto at = page * page_bytes + offset;
    const auto address = pages_[page] + offset;
    if (address >= foreign_.start && address < foreign_.end) return false;
    return word_at(room_->now, at) != word_at(room_->earlier, at);
}

// Returns what was copied from `address` on, to the end of its page and `most` bytes at most.
std::span<const std::byte> StateCopy::copied_at(GuestAddress address, std::size_t most) const {
    const auto page = std::ranges::find(pages_, address.page());
    if (page == pages_.end()) return {};
    const auto index = static_cast<std::size_t>(page - pages_.begin());
    const auto offset = address.value - page->value;
    return std::span(room_->now)
        .subspan(index * page_bytes + offset, std::min(page_bytes - offset, most));
}

AwaitedState StateCopy::state(const CpuState& before) const {
    AwaitedState state;
    state.cpu = cpu_;
    choose_telling_registers(state, before);
    for (std::size_t page = 0; page < pages_.size(); ++page) add_changed(page, state);
    const auto add = [&](std::uint64_t pointer, std::size_t bytes) {
        auto pointed = copied_at({pointer}, bytes);
        const auto before_foreign = foreign_.start.value - std::min(foreign_.start.value, pointer);
        if (pointer < foreign_.end.value)
            pointed = pointed.first(std::min(pointed.size(), before_foreign));
        if (!pointed.empty()) state.add_memory({pointer}, pointed);
    };
    add(cpu_[Gpr::rsp], stack_bytes);
    for (const auto value : cpu_.gpr) add(value, pointed_bytes);
    return state;
}

// Adds the words that differ. Adjacent ones make one piece.
void StateCopy::add_changed(std::size_t page, AwaitedState& state) const {
    for (std::size_t begin = 0; begin < page_bytes; begin += 8) {
        if (!differs(page, begin)) continue;
        auto end = begin + 8;
        while (end < page_bytes && differs(page, end)) end += 8;
        const auto room = max_changed_bytes - std::min(state.bytes(), max_changed_bytes);
        if (room == 0 || state.pieces() >= max_changed_pieces) return;
        state.add_memory(
            pages_[page] + begin,
            std::span(room_->now).subspan(page * page_bytes + begin, std::min(end - begin, room)));
        begin = end;
    }
}

}  // namespace shadowprof
