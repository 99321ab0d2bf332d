#include "shadow/window/state_copy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "ptrace/test_support.h"

namespace shadowprof::state_copy_test {
namespace {

struct alignas(page_bytes) Page {
    std::uint64_t words[page_bytes / 8] = {};
};
Page stack, first, second, third, far;

std::uint64_t address_of(const void* memory) {
    return reinterpret_cast<std::uint64_t>(memory);
}

// This process, and a replica of it that stays as it was.
class Scene {
  public:
    Scene() : replica_(hub_, [] { return ::pause(); }) {}

    StateCopy copy(const CpuState& cpu, bool has_stack = true,
                   std::function<bool(GuestAddress)> has_page = {},
                   MemoryRange foreign = {}) const {
        auto earlier = pages_of(replica_.pid());
        earlier.has = std::move(has_page);
        StateCopy copy(::getpid(), std::move(earlier), room_);
        CHECK(copy.take(cpu, foreign) == has_stack);
        copy.finish();
        return copy;
    }
    // The words that the state expects in memory, by address.
    static std::map<std::uint64_t, std::uint64_t> words(const AwaitedState& state) {
        std::map<std::uint64_t, std::uint64_t> words;
        state.all_memory([&](GuestAddress at, std::span<const std::byte> content) {
            for (std::size_t i = 0; i + 8 <= content.size(); i += 8)
                std::memcpy(&words[at.value + i], content.data() + i, 8);
            return true;
        });
        return words;
    }

  private:
    mutable StateRoom room_;
    TestHub hub_;
    Child replica_;
};

void clear_pages() {
    for (Page* page : {&stack, &first, &second, &third, &far}) *page = {};
}

}  // namespace

TEST_CASE("what the kernel writes to is no part of the state") {
    clear_pages();
    const Scene scene;
    for (const auto i : {1, 9, 10, 11, 300}) first.words[i] = 7;
    CpuState cpu;
    cpu[Gpr::rdi] = address_of(&first.words[8]);
    cpu[Gpr::rsp] = address_of(&stack);
    const MemoryRange foreign{{address_of(&first.words[9])}, {address_of(&first.words[11])}};
    const auto words = Scene::words(scene.copy(cpu, true, {}, foreign).state(CpuState{}));
    const auto has = [&](int i) { return words.contains(address_of(&first.words[i])); };
    for (const auto i : {1, 8, 11, 300}) CHECK(has(i));
    for (const auto i : {9, 10}) CHECK_FALSE(has(i));
}

TEST_CASE("what has changed behind a register is part of the state, and what that points to") {
    clear_pages();
    first.words[8] = address_of(&second.words[1]);  // among the pointed bytes
    const Scene scene;
    first.words[300] = 7;                            // far from what the register points to
    second.words[400] = 8;                           // behind a pointer that stays
    first.words[301] = address_of(&third.words[2]);  // a pointer that changes
    third.words[0] = 9;
    far.words[0] = 10;
    CpuState cpu;
    cpu[Gpr::rdi] = address_of(&first.words[8]);
    cpu[Gpr::rsp] = address_of(&stack);
    const auto words = Scene::words(scene.copy(cpu).state(CpuState{}));
    const auto has = [&](const std::uint64_t& word) {
        const auto found = words.find(address_of(&word));
        return found != words.end() && found->second == word;
    };
    CHECK(has(first.words[8]));
    CHECK(has(first.words[300]));
    CHECK(has(first.words[301]));
    CHECK(has(second.words[400]));
    CHECK(has(third.words[0]));
    CHECK_FALSE(has(far.words[0]));
    CHECK_FALSE(has(first.words[200]));
    CHECK_FALSE(has(second.words[399]));
}

TEST_CASE("pages that were not there earlier are no part of the state") {
    clear_pages();
    const Scene scene;
    first.words[300] = address_of(&second.words[1]);
    third.words[1] = 1;
    second.words[2] = 2;
    CpuState cpu;
    cpu[Gpr::rdi] = address_of(&first);
    cpu[Gpr::rsi] = address_of(&third);
    cpu[Gpr::rsp] = address_of(&stack);
    for (const auto* missing : {&second, &third}) {
        const auto words = Scene::words(
            scene.copy(cpu, true, [&](auto page) { return page.value != address_of(missing); })
                .state(CpuState{}));
        CHECK(words.contains(address_of(&first.words[300])));
        CHECK(words.contains(address_of(&second.words[2])) == (missing != &second));
        CHECK(words.contains(address_of(&third.words[1])) == (missing != &third));
    }
}

TEST_CASE("registers that differ from an earlier state's are looked at first") {
    clear_pages();
    const Scene scene;
    CpuState before, cpu;
    before[Gpr::rsp] = cpu[Gpr::rsp] = address_of(&stack);
    for (const auto gpr : {Gpr::rbx, Gpr::r9, Gpr::r15}) cpu[gpr] = 5;
    const auto state = scene.copy(cpu).state(before);
    for (const auto gpr : {Gpr::rbx, Gpr::r9, Gpr::r15})
        CHECK(std::ranges::count(state.telling, static_cast<std::uint8_t>(gpr)) == 1);
}

TEST_CASE("much that has changed is cut, and the stack keeps its room") {
    clear_pages();
    const Scene scene;
    for (Page* page : {&first, &second, &third})
        for (std::size_t i = 0; i < std::size(page->words); i += 2) page->words[i] = i + 1;
    CpuState cpu;
    cpu[Gpr::rdi] = address_of(&first);
    cpu[Gpr::rsi] = address_of(&second);
    cpu[Gpr::rdx] = address_of(&third);
    cpu[Gpr::rsp] = address_of(&stack);
    const auto state = scene.copy(cpu).state(CpuState{});
    CHECK(state.pieces() <= AwaitedState::max_pieces);
    CHECK(state.bytes() <= AwaitedState::max_bytes);
    CHECK(Scene::words(state).contains(address_of(&stack)));
}

TEST_CASE("registers that point nowhere are no memory") {
    const Scene scene;
    CpuState cpu;
    cpu[Gpr::rdi] = 5;
    cpu[Gpr::rsi] = std::uint64_t{1} << 60;
    cpu[Gpr::rdx] = std::uint64_t{1} << 46;
    CHECK(scene.copy(cpu, false).state(CpuState{}).pieces() == 0);
}

}  // namespace shadowprof::state_copy_test
