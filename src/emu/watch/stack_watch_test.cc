#include "emu/watch/stack_watch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <vector>

namespace shadowprof::stack_watch_test {
namespace {

constexpr GuestAddress code{0x40'1000};
constexpr std::uint64_t stack = 0x7f00'0000'0000, far_stack = 0x10'0000;

// Code and two stacks of 128 KiB.
class FakeSpace final : public GuestSpace {
  public:
    FakeSpace() {
        add(code.value, page_bytes, true);
        add(stack, 0x2'0000, false);
        add(far_stack, 0x2'0000, false);
    }
    void put(std::uint64_t address, std::initializer_list<std::uint8_t> bytes) {
        for (const std::uint8_t byte : bytes) memory_[address++] = static_cast<std::byte>(byte);
    }
    void put_word(std::uint64_t address, std::uint64_t word) {
        std::array<std::byte, sizeof word> bytes;
        std::memcpy(bytes.data(), &word, sizeof word);
        for (const std::byte byte : bytes) memory_[address++] = byte;
    }
    bool read(GuestAddress from, std::span<std::byte> to) override {
        const Mapping* mapping = find(from);
        if (!mapping || from + to.size() > mapping->end) return false;
        for (std::byte& byte : to) {
            const auto known = memory_.find(from.value);
            byte = known == memory_.end() ? std::byte{0} : known->second;
            from = from + 1;
        }
        return true;
    }
    const Mapping* find(GuestAddress address) const override {
        const Mapping* at = find_at_or_after(address);
        return at && at->contains(address) ? at : nullptr;
    }
    const Mapping* find_at_or_after(GuestAddress address) const override {
        for (const Mapping& mapping : mappings_)
            if (address < mapping.end) return &mapping;
        return nullptr;
    }
    bool write(GuestAddress, std::span<const std::byte>) override { return false; }
    std::optional<GuestAddress> find_free(std::uint64_t) const override { return std::nullopt; }
    bool map(const Mapping&) override { return false; }
    bool unmap(GuestAddress, std::uint64_t) override { return false; }
    bool protect(GuestAddress, std::uint64_t, Protection) override { return false; }

  private:
    void add(std::uint64_t start, std::uint64_t bytes, bool executable) {
        mappings_.push_back({.start = {start},
                             .end = {start + bytes},
                             .readable = true,
                             .writable = !executable,
                             .executable = executable,
                             .name = {}});
        std::ranges::sort(mappings_, {}, &Mapping::start);
    }

    std::vector<Mapping> mappings_;
    std::map<std::uint64_t, std::byte> memory_;
};

// The instructions at `code`, and what is known of them.
struct Watched {
    explicit Watched(std::initializer_list<std::uint8_t> bytes) {
        space.put(code.value, bytes);
        std::vector<std::byte> copy(Instruction::max_length);
        space.read(code, copy);
        is_watched = watch.watches(*Instruction::decode(copy, code));
    }
    std::optional<StackWatch::Change> step(std::uint64_t from, std::uint64_t to) {
        CpuState cpu;
        cpu.rip = code;
        cpu[Gpr::rsp] = from;
        cpu[Gpr::r8] = to;
        return watch.step(code, cpu);
    }

    FakeSpace space;
    StackWatch watch{space};
    bool is_watched = false;
};

TEST_CASE("What functions do to their own frames is not watched") {
    CHECK_FALSE(Watched({0x48, 0x83, 0xec, 0x18}).is_watched);     // sub rsp, 24
    CHECK_FALSE(Watched({0x48, 0x83, 0xe4, 0xe0}).is_watched);     // and rsp, -32
    CHECK_FALSE(Watched({0x48, 0x89, 0xec}).is_watched);           // mov rsp, rbp
    CHECK_FALSE(Watched({0x48, 0x8d, 0x65, 0xd8}).is_watched);     // lea rsp, [rbp-40]
    CHECK_FALSE(Watched({0x48, 0x29, 0xc4}).is_watched);           // sub rsp, rax
    CHECK_FALSE(Watched({0xc9}).is_watched);                       // leave
    CHECK_FALSE(Watched({0x4c, 0x89, 0xe0}).is_watched);           // mov rax, r12
    CHECK(Watched({0x4c, 0x89, 0xc4}).is_watched);                 // mov rsp, r8
    CHECK(Watched({0x48, 0x8b, 0xa7, 0xa0, 0, 0, 0}).is_watched);  // mov rsp, [rdi+160]
    CHECK(Watched({0x48, 0x87, 0xe0}).is_watched);                 // xchg rax, rsp
    CHECK(Watched({0x5c}).is_watched);                             // pop rsp
    CHECK(Watched({0x4c, 0x01, 0xc4}).is_watched);                 // add rsp, r8
}

TEST_CASE("A jump over frames notes the pointers to code between, equal neighbours once") {
    Watched watched({0x4c, 0x89, 0xc4, 0xff, 0xe2});  // mov rsp, r8; jmp rdx
    const auto back = code + 0x10, other = code + 0x20;
    watched.space.put_word(stack + 0x100, back.value);
    watched.space.put_word(stack + 0x108, back.value);
    watched.space.put_word(stack + 0x110, stack);
    watched.space.put_word(stack + 0x118, other.value);
    watched.space.put_word(stack + 0x180, other.value);
    const auto change = watched.step(stack + 0x100, stack + 0x180);
    REQUIRE(change);
    CHECK(change->may_leave_frames);
    CHECK(change->from == stack + 0x100);
    CHECK(change->to == stack + 0x180);
    REQUIRE(change->words.size() == 3);
    CHECK(change->words[0].value == back);
    CHECK(change->words[0].address == stack + 0x100);
    CHECK(change->words[0].count == 2);
    CHECK(change->words[1].value == other);
    CHECK(change->words[2].address == change->to);
    CHECK_FALSE(change->returns_by_jump);
}

TEST_CASE("A return takes away what was pushed behind the load") {
    Watched watched({0x4c, 0x89, 0xc4, 0x51, 0xc3});  // mov rsp, r8; push rcx; ret
    watched.space.put_word(stack + 0x178, (code + 0x10).value);
    const auto change = watched.step(stack + 0x100, stack + 0x180);
    REQUIRE(change);
    CHECK(change->to == stack + 0x178);
    CHECK(change->words.empty());
}

TEST_CASE("A call may push behind the load, and goes on at the same place of the stack") {
    Watched watched({0x4c, 0x89, 0xc4, 0x50, 0xe8, 0, 0, 0, 0});  // mov rsp, r8; push rax; call
    watched.space.put_word(stack + 0x170, (code + 0x10).value);
    watched.space.put_word(stack + 0x180, (code + 0x20).value);
    const auto change = watched.step(far_stack + 0x100, stack + 0x180);
    REQUIRE(change);
    CHECK(change->to == stack + 0x180);
    REQUIRE(change->words.size() == 1);
    CHECK(change->words[0].value == code + 0x10);
}

TEST_CASE("Of a stack that was left near there, only the words from there on are noted") {
    Watched watched({0x4c, 0x89, 0xc4, 0xff, 0xe2});
    watched.space.put_word(stack + 0x80f0, code.value);
    watched.space.put_word(stack + 0x8110, (code + 0x10).value);
    REQUIRE(watched.step(stack + 0x8100, far_stack + 0x100));
    const auto change = watched.step(far_stack + 0x100, stack + 0x8120);
    REQUIRE(change);
    REQUIRE(change->words.size() == 1);
    CHECK(change->words[0].value == code + 0x10);
}

TEST_CASE("What is popped behind the load is behind the change") {
    // mov rsp, r8; pop rbp; add rsp, 16; ret
    Watched watched({0x4c, 0x89, 0xc4, 0x5d, 0x48, 0x83, 0xc4, 0x10, 0xc3});
    const auto change = watched.step(far_stack + 0x8000, stack + 0x100);
    REQUIRE(change);
    CHECK(change->to == stack + 0x118);
    CHECK_FALSE(change->may_leave_frames);
}

TEST_CASE("Room that a function makes in its frame is no change") {
    Watched makes_room({0x4c, 0x89, 0xc4, 0x48, 0x89, 0xe7, 0xe8, 0, 0, 0, 0});  // ..; call
    CHECK_FALSE(makes_room.step(stack + 0x1000, stack + 0x800));
    CHECK_FALSE(makes_room.step(stack + 0x800, stack + 0x1000));
    CHECK(makes_room.step(stack + 0x1000, far_stack + 0x800));
    Watched jumps({0x4c, 0x89, 0xc4, 0xff, 0xe2});
    CHECK(jumps.step(stack + 0x1000, stack + 0x800));
}

TEST_CASE("Of a stack far away only the last words are noted, on pages that can be read") {
    Watched watched({0x4c, 0x89, 0xc4, 0xff, 0xe2});
    watched.space.put_word(stack + 0x10, code.value);
    watched.space.put_word(stack + 0x8000, code.value);
    auto change = watched.step(far_stack + 0x100, stack + 0x20);
    REQUIRE(change);
    CHECK(change->words.size() == 1);
    change = watched.step(far_stack + 0x100, stack + 0x8008 + noted_stack_bytes);
    REQUIRE(change);
    CHECK(change->words.empty());
}

TEST_CASE("A stack pointer may be any number") {
    Watched watched({0x4c, 0x89, 0xc4, 0xff, 0xe2});
    constexpr std::uint64_t last = ~std::uint64_t{0};
    for (const std::uint64_t to : {last, last - 7, last - 8, last - page_bytes, std::uint64_t{0}}) {
        const auto change = watched.step(stack + 0x100, to);
        REQUIRE(change);
        CHECK(change->to == to);
        CHECK(change->words.empty());
    }
}

TEST_CASE("A handler of a signal may leave any frames of the stack that was interrupted") {
    Watched watched({0x4c, 0x89, 0xc4, 0xff, 0xe2});
    watched.space.put_word(stack + 0x108, code.value);
    watched.watch.interrupt(stack + 0x100);
    const auto change = watched.step(far_stack + 0x100, stack + 0x1'0000);
    REQUIRE(change);
    CHECK(change->words.size() == 1);
    watched.watch.interrupt(stack + 0x100);
    watched.watch.end_interrupt(stack + 0x100);
    CHECK(watched.step(far_stack + 0x100, stack + 0x1'0000)->words.empty());
}

}  // namespace
}  // namespace shadowprof::stack_watch_test
