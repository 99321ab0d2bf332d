#include "ptrace/unwind.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "ptrace/proc.h"
#include "ptrace/process_memory.h"
#include "ptrace/test_support.h"

using namespace shadowprof;

namespace {

constexpr int depth = 20;

struct Facts {
    std::array<std::atomic<std::uint64_t>, depth + 2> return_addresses{};  // innermost last
    std::atomic<bool> deep{false};
};

[[gnu::noinline]] void spin_forever(Facts& facts) {
    facts.return_addresses[depth + 1] =
        reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    facts.deep = true;
    while (facts.deep) asm volatile("pause");
}

[[gnu::noinline]] int recurse(Facts& facts, int level) {
    facts.return_addresses[static_cast<std::size_t>(level)] =
        reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    int below = 0;
    if (level < depth)
        below = recurse(facts, level + 1);
    else
        spin_forever(facts);
    asm volatile("");  // no tail call
    return below + 1;
}

// A stopped target deep in a known recursion.
class DeepTarget {
  public:
    explicit DeepTarget(Shared<Facts>& facts)
        : child_(hub_, [&] { return recurse(*facts, 0); }),
          target_(Target::attach(hub_, child_.pid())) {
        need(target_);
        REQUIRE(pump_until(hub_, **target_, [&] { return facts->deep.load(); }));
        auto stop = (*target_)->stop();
        auto snapshot = need(stop).threads().front().snapshot();
        cpu = need(snapshot).cpu;
        auto read = read_memory_map(child_.pid());
        map = need(read);
        stop_.emplace(*std::move(stop));
    }

    pid_t pid() const { return child_.pid(); }

    CpuState cpu;
    MemoryMap map;

  private:
    TestHub hub_;
    Child child_;
    Result<std::unique_ptr<Target>> target_;
    std::optional<ScopedStop> stop_;
};

// Memory that is another memory with some bytes changed.
class HostileMemory : public MemoryReader {
  public:
    HostileMemory(MemoryReader& memory, unsigned seed, double share)
        : memory_(&memory), random_(seed), share_(share) {}

    bool read(GuestAddress from, std::span<std::byte> to) override {
        if (!memory_->read(from, to)) return false;
        const auto changes = static_cast<std::size_t>(static_cast<double>(to.size()) * share_);
        for (std::size_t i = 0; i < changes; ++i)
            to[random_() % to.size()] = static_cast<std::byte>(random_());
        return true;
    }

  private:
    MemoryReader* memory_;
    std::mt19937 random_;
    double share_;
};

// Every readable word is an address in code with unwind tables, or whatever `word` is.
class ConstantMemory : public MemoryReader {
  public:
    ConstantMemory(MemoryReader& code, const MemoryMap& map, std::uint64_t word)
        : code_(&code), map_(&map), word_(word) {}
    bool read(GuestAddress from, std::span<std::byte> to) override {
        const Mapping* mapping = map_->find(from);
        if (mapping && mapping->is_file()) return code_->read(from, to);
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = static_cast<std::byte>(word_ >> (from.value + i) % 8 * 8);
        return true;
    }

  private:
    MemoryReader* code_;
    const MemoryMap* map_;
    std::uint64_t word_;
};

}  // namespace

TEST_CASE("a known recursion is unwound frame by frame") {
    Shared<Facts> facts;
    DeepTarget target(facts);
    ProcessMemory memory(target.pid());
    Unwinder unwinder;
    for (int round = 0; round < 2; ++round) {  // the second from the caches
        const auto stack = unwinder.unwind(target.cpu, target.map, memory);
        REQUIRE(stack.size() > depth + 3);
        CHECK(stack[0] == target.cpu.rip);
        for (std::size_t i = 0; i < depth + 2; ++i) {
            CAPTURE(i);
            CHECK(stack[i + 1].value == facts->return_addresses[depth + 1 - i]);
        }
    }
}

TEST_CASE("without unwind tables frame pointers are followed, and the end is quiet") {
    Shared<Facts> facts;
    DeepTarget target(facts);
    // A stack of two frames linked by rbp, in memory that no file maps.
    struct Stack : MemoryReader {
        std::array<std::uint64_t, 512> words{};
        bool read(GuestAddress from, std::span<std::byte> to) override {
            constexpr std::uint64_t base = 0x10000;
            if (from.value < base || from.value - base + to.size() > sizeof words) return false;
            std::memcpy(to.data(), reinterpret_cast<std::byte*>(words.data()) + (from.value - base),
                        to.size());
            return true;
        }
    } stack;
    stack.words[4] = 0x10000 + 8 * 8;  // saved rbp
    stack.words[5] = 0x700010;         // return address
    stack.words[8] = 0;
    stack.words[9] = 0x700020;
    const MemoryMap map({{.start = {0x10000}, .end = {0x11000}, .readable = true, .writable = true},
                         {.start = {0x700000}, .end = {0x701000}, .executable = true}});
    CpuState cpu;
    cpu.rip = {0x700000};
    cpu[Gpr::rsp] = 0x10000;
    cpu[Gpr::rbp] = 0x10000 + 4 * 8;
    Unwinder unwinder;
    const auto frames = unwinder.unwind(cpu, map, stack);
    REQUIRE(frames.size() >= 2);
    CHECK(frames[0].value == 0x700000);
    CHECK(frames[1].value == 0x700010);
    CHECK(frames.size() <= 4);
    CHECK(unwinder.unwind(CpuState{}, MemoryMap{}, stack).size() <= 2);
}

TEST_CASE("hostile memory ends the unwinding, not the unwinder") {
    Shared<Facts> facts;
    DeepTarget target(facts);
    ProcessMemory memory(target.pid());
    for (unsigned seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        HostileMemory hostile(memory, seed, seed % 3 == 0 ? 0.5 : 0.01);
        Unwinder unwinder;
        const auto stack = unwinder.unwind(target.cpu, target.map, hostile);
        CHECK(stack.size() >= 1);
        CHECK(stack.size() <= Unwinder::max_frames);
    }
}

TEST_CASE("a stack that never ends is cut off") {
    Shared<Facts> facts;
    DeepTarget target(facts);
    ProcessMemory memory(target.pid());
    for (const std::uint64_t word : {facts->return_addresses[3].load(), target.cpu.rip.value,
                                     target.cpu[Gpr::rsp], ~std::uint64_t{0}}) {
        ConstantMemory endless(memory, target.map, word);
        Unwinder unwinder;
        CHECK(unwinder.unwind(target.cpu, target.map, endless).size() <= Unwinder::max_frames);
    }
}
