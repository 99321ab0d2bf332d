// Which addresses follow from others, and which do not.
#include "emu/watch/address_tracker.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "emu/trace/trace.h"

namespace shadowprof::address_tracker_test {
namespace {

Instruction decode(std::initializer_list<int> bytes, std::uint64_t address = 0x1000) {
    std::vector<std::byte> raw;
    for (int b : bytes) raw.push_back(static_cast<std::byte>(b));
    return *Instruction::decode(raw, {address});
}

// Executes instructions with at most one access each. For each access, returns the slot that its
// address follows from and the addend; the slot is the access's own if it has a word.
class Block {
  public:
    struct Place {
        std::uint16_t slot;
        std::int32_t addend;

        friend bool operator==(const Place&, const Place&) = default;
    };

    std::optional<Place> execute(std::initializer_list<int> bytes) {
        const auto in = decode(bytes);
        std::optional<Place> place;
        for (const auto& reference : memory_references(in)) {
            const auto slot = next_++;
            if (const auto known = tracker_.known(reference, {0x1000})) {
                place = {known->source, known->addend};
                continue;
            }
            tracker_.set_recorded(reference, slot, reference.displacement);
            place = {slot, static_cast<std::int32_t>(reference.displacement)};
        }
        tracker_.note(in);
        return place;
    }

  private:
    AddressTracker tracker_;
    std::uint16_t next_ = 0;
};

using Place = Block::Place;

}  // namespace

TEST_CASE("one base with several displacements takes one word") {
    Block block;
    CHECK(block.execute({0x48, 0x8b, 0x43, 0x08}) == Place{0, 8});   // mov rax, [rbx + 8]
    CHECK(block.execute({0x48, 0x8b, 0x43, 0xf8}) == Place{0, -8});  // mov rax, [rbx - 8]
    CHECK(block.execute({0x48, 0x83, 0xc3, 0x10}) == std::nullopt);  // add rbx, 16
    CHECK(block.execute({0x48, 0x8b, 0x03}) == Place{0, 16});        // mov rax, [rbx]
    CHECK(block.execute({0x48, 0x89, 0xd9}) == std::nullopt);        // mov rcx, rbx
    CHECK(block.execute({0x48, 0x8b, 0x19}) == Place{0, 16});        // mov rbx, [rcx]
    CHECK(block.execute({0x48, 0x8b, 0x03}) == Place{4, 0});         // mov rax, [rbx]: another
}

TEST_CASE("pushes and pops move along one word") {
    Block block;
    CHECK(block.execute({0x53}) == Place{0, -8});                          // push rbx
    CHECK(block.execute({0x50}) == Place{0, -16});                         // push rax
    CHECK(block.execute({0x48, 0x8b, 0x44, 0x24, 0x08}) == Place{0, -8});  // mov rax, [rsp + 8]
    CHECK(block.execute({0x58}) == Place{0, -16});                         // pop rax
    CHECK(block.execute({0x5b}) == Place{0, -8});                          // pop rbx
    CHECK(block.execute({0xc3}) == Place{0, 0});                           // ret
}

TEST_CASE("pop rsp forgets where the stack is") {
    Block block;
    CHECK(block.execute({0x50}) == Place{0, -8});  // push rax
    CHECK(block.execute({0x5c}) == Place{0, -8});  // pop rsp
    CHECK(block.execute({0x58}) == Place{2, 0});   // pop rax
}

TEST_CASE("an index must be the same, times the same") {
    Block block;
    CHECK(block.execute({0x8b, 0x04, 0x8b}) == Place{0, 0});   // mov eax, [rbx + 4 rcx]
    CHECK(block.execute({0x48, 0xff, 0xc1}) == std::nullopt);  // inc rcx
    CHECK(block.execute({0x8b, 0x04, 0x8b}) == Place{0, 4});   // mov eax, [rbx + 4 rcx]
    CHECK(block.execute({0x8b, 0x04, 0xcb}) == Place{2, 0});   // mov eax, [rbx + 8 rcx]
    CHECK(block.execute({0xff, 0xc1}) == std::nullopt);        // inc ecx
    CHECK(block.execute({0x8b, 0x04, 0x8b}) == Place{3, 0});   // mov eax, [rbx + 4 rcx]
}

TEST_CASE("constants are told from the block's start, if they are near") {
    Block block;
    constexpr auto none = ReferenceSlot::no_source;
    CHECK(block.execute({0x8b, 0x05, 0x10, 0, 0, 0}) == Place{none, 0x16});  // mov eax, [rip + 16]
    // movabs eax, [0x123456789abc]
    CHECK(block.execute({0xa1, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12, 0, 0})->slot == 1);
}

TEST_CASE("segment bases and narrow addresses are not mixed up with others") {
    Block block;
    CHECK(block.execute({0x48, 0x8b, 0x03})->slot == 0);                   // mov rax, [rbx]
    CHECK(block.execute({0x64, 0x48, 0x8b, 0x03})->slot == 1);             // mov rax, fs:[rbx]
    CHECK(block.execute({0x64, 0x48, 0x8b, 0x43, 8}) == Place{1, 8});      // mov rax, fs:[rbx + 8]
    CHECK(block.execute({0x65, 0x48, 0x8b, 0x03})->slot == 3);             // mov rax, gs:[rbx]
    CHECK(block.execute({0x67, 0x48, 0x8b, 0x03})->slot == 4);             // mov rax, [ebx]
    CHECK(block.execute({0x67, 0x48, 0x8b, 0x03})->slot == 5);             // mov rax, [ebx]
    CHECK(block.execute({0xf3, 0x48, 0x0f, 0xae, 0xd0}) == std::nullopt);  // wrfsbase rax
    CHECK(block.execute({0x64, 0x48, 0x8b, 0x03})->slot == 6);             // mov rax, fs:[rbx]
}

TEST_CASE("string instructions move their pointers") {
    Block block;
    CHECK(block.execute({0x48, 0x8b, 0x06})->slot == 0);  // mov rax, [rsi]
    block.execute({0xac});                                // lodsb
    CHECK(block.execute({0x48, 0x8b, 0x06})->slot == 2);  // mov rax, [rsi]
}

}  // namespace shadowprof::address_tracker_test
