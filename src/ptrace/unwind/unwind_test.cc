#include "ptrace/unwind/unwind.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "ptrace/proc/proc.h"
#include "ptrace/test_support.h"
#include "ptrace/thread/process_memory.h"
#include "ptrace/unwind/frame_section.h"

namespace shadowprof::unwind_test {
namespace {

constexpr int depth = 20;

struct Facts {
    std::array<std::atomic<std::uint64_t>, depth + 2> return_addresses{};  // innermost last
    volatile bool deep = false;
};

// Calls nothing once `deep` is set, so a stop after that finds the target in this function.
[[gnu::noinline]] void spin_forever(Facts& facts) {
    facts.return_addresses[depth + 1] =
        reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    asm volatile(
        "movb $1, %0\n"
        "0: pause\n"
        "jmp 0b"
        : "=m"(facts.deep)
        :
        : "memory");
}

[[gnu::noinline]] int recurse(Facts& facts, int level) {
    facts.return_addresses[static_cast<std::size_t>(level)] =
        reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    int below = 0;
    if (level < depth)
        below = recurse(facts, level + 1);
    else
        spin_forever(facts);
    asm volatile("");  // prevents a tail call
    return below + 1;
}

// A stopped target deep in a known recursion.
class DeepTarget {
  public:
    explicit DeepTarget(Shared<Facts>& facts)
        : child_(hub_, [&] { return recurse(*facts, 0); }),
          target_(Target::attach(hub_, child_.pid())) {
        need(target_);
        REQUIRE(pump_until(hub_, **target_, [&] { return facts->deep; }));
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

// Another memory with some bytes changed.
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

// Reads mapped files as they are. Every other word is `word`.
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

// A file mapped at `base` that consists of an ELF header and an unwind table for one function,
// which covers the whole file. Every other readable byte is 0.
class SyntheticModule : public MemoryReader {
  public:
    static constexpr std::uint64_t base = 0x400000, stack = 0x10000;

    // The function's frame is `frame_bytes` large; its FDE claims to be `fde_bytes` long.
    SyntheticModule(std::uint8_t frame_bytes, std::uint32_t fde_bytes) {
        const auto put = [this]<typename T>(std::size_t at, T value) {
            std::memcpy(file_.data() + at, &value, sizeof value);
        };
        Elf64_Ehdr elf{};
        std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
        elf.e_ident[EI_CLASS] = ELFCLASS64;
        elf.e_phoff = sizeof elf;
        elf.e_phentsize = sizeof(Elf64_Phdr);
        elf.e_phnum = 2;
        put(0, elf);
        put(sizeof elf, Elf64_Phdr{.p_type = PT_LOAD, .p_vaddr = base, .p_memsz = 4096});
        put(sizeof elf + sizeof(Elf64_Phdr),
            Elf64_Phdr{.p_type = PT_GNU_EH_FRAME, .p_vaddr = base + header_at, .p_memsz = 20});
        // .eh_frame_hdr: version, encodings, .eh_frame, one entry, function 0 and its FDE.
        put(header_at, std::array<std::uint8_t, 4>{1, 0x1b, 0x03, 0x3b});
        put(header_at + 8, std::uint32_t{1});
        put(header_at + 12, -static_cast<std::int32_t>(header_at));
        put(header_at + 16, static_cast<std::int32_t>(fde_at - header_at));
        // CIE: version 1, no augmentation, factors 1 and -8, return address in column 16; the frame
        // is at rsp + frame_bytes, the return address right below it.
        put(cie_at, std::uint32_t{fde_at - cie_at - 4});
        put(cie_at + 8,
            std::array<std::uint8_t, 10>{1, 0, 1, 0x78, 16, 0x0c, 7, frame_bytes, 0x90, 1});
        put(fde_at, fde_bytes);
        put(fde_at + 4, std::uint32_t{fde_at + 4 - cie_at});
        put(fde_at + 8, base);
        put(fde_at + 16, std::uint64_t{4096});
        for (std::size_t i = 0; i < stack_.size(); ++i) stack_[i] = base + 0x800 + i;
    }

    bool read(GuestAddress from, std::span<std::byte> to) override {
        ++reads;
        std::fill(to.begin(), to.end(), std::byte{0});
        copy(base, std::as_bytes(std::span(file_)), from, to);
        copy(stack, std::as_bytes(std::span(stack_)), from, to);
        return true;
    }

    static MemoryMap map(std::uint64_t inode) {
        return MemoryMap(
            {{.start = {base},
              .end = {base + 4096},
              .readable = true,
              .executable = true,
              .device = 1,
              .inode = inode,
              .name = "/synthetic"},
             {.start = {stack}, .end = {stack + 4096}, .readable = true, .writable = true}});
    }
    static CpuState cpu() {
        CpuState cpu;
        cpu.rip = {base + 0x900};
        cpu[Gpr::rsp] = stack;
        return cpu;
    }
    // Returns the word of the stack that is the return address of a frame of `frame_bytes`.
    std::uint64_t return_address(std::size_t frame_bytes) const {
        return stack_[frame_bytes / 8 - 1];
    }

    std::size_t reads = 0;

  private:
    static constexpr std::uint32_t header_at = 0x200, cie_at = 0x300, fde_at = 0x318;

    static void copy(std::uint64_t at, std::span<const std::byte> bytes, GuestAddress from,
                     std::span<std::byte> to) {
        const std::uint64_t first = std::max(at, from.value);
        const std::uint64_t last = std::min(at + bytes.size(), from.value + to.size());
        if (first < last)
            std::memcpy(to.data() + (first - from.value), bytes.data() + (first - at),
                        last - first);
    }

    std::array<std::byte, 4096> file_{};
    std::array<std::uint64_t, 512> stack_{};
};

}  // namespace

TEST_CASE("a known recursion is unwound frame by frame") {
    Shared<Facts> facts;
    DeepTarget target(facts);
    ProcessMemory memory(target.pid());
    Unwinder unwinder;
    for (int round = 0; round < 2; ++round) {  // the second round uses the caches
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

// Another memory, whose ELF files name no table for a binary search, as of static programs.
class WithoutTables : public MemoryReader {
  public:
    explicit WithoutTables(MemoryReader& memory) : memory_(memory) {}
    bool read(GuestAddress from, std::span<std::byte> to) override {
        if (!memory_.read(from, to)) return false;
        const std::uint32_t type = PT_GNU_EH_FRAME;
        const auto bytes = std::as_bytes(std::span(&type, 1));
        if (to.size() < page_bytes || std::memcmp(to.data(), ELFMAG, SELFMAG) != 0) return true;
        const auto found = std::search(to.begin(), to.end(), bytes.begin(), bytes.end());
        if (found != to.end()) std::fill_n(found, bytes.size(), std::byte{0});
        return true;
    }

  private:
    MemoryReader& memory_;
};

TEST_CASE("files without a table for a binary search are unwound by their sections") {
    Shared<Facts> facts;
    DeepTarget target(facts);
    ProcessMemory memory(target.pid());
    WithoutTables without(memory);
    const auto stack = Unwinder().unwind(target.cpu, target.map, without);
    CHECK(stack.size() > depth + 2);
    CHECK(stack == Unwinder().unwind(target.cpu, target.map, memory));
}

TEST_CASE("damaged unwind sections do no harm") {
    auto map = read_memory_map(::getpid());
    const GuestAddress code{reinterpret_cast<std::uint64_t>(&spin_forever)};
    const Mapping* const program = need(map).find(code);
    REQUIRE(program);
    auto section = read_frame_section(*program);
    REQUIRE(section);
    section->bytes.resize(std::min<std::size_t>(section->bytes.size(), 4096));
    const std::size_t whole = frame_entries(section->bytes, {0x1000}, {0}).size();
    CHECK(whole > 10);
    for (unsigned seed = 0; seed < 2000; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::byte> damaged = section->bytes;
        if (seed % 4 == 0) damaged.resize(random() % damaged.size());
        for (auto left = random() % 8; left > 0 && !damaged.empty(); --left)
            damaged[random() % damaged.size()] = std::byte(random() % 2 == 0 ? 0xff : random());
        const auto entries = frame_entries(damaged, {0x1000}, {0});
        CHECK(std::ranges::is_sorted(entries, {}, &FrameEntry::start));
        CHECK(entries.size() <= damaged.size() / 8);
    }
    Mapping other = *program;
    ++other.inode;
    CHECK_FALSE(read_frame_section(other));
}

TEST_CASE("unwind tables of code that was replaced are forgotten") {
    constexpr std::uint32_t fde_bytes = 20;
    SyntheticModule small(16, fde_bytes), large(48, fde_bytes);
    Unwinder unwinder;
    for (int round = 0; round < 2; ++round) {
        const auto first = unwinder.unwind(small.cpu(), small.map(1), small);
        REQUIRE(first.size() > 1);
        CHECK(first[1].value == small.return_address(16));
        const auto second = unwinder.unwind(large.cpu(), large.map(2), large);
        REQUIRE(second.size() > 1);
        CHECK(second[1].value == large.return_address(48));
    }
}

TEST_CASE("an unwind table that keeps the unwinder busy is given up") {
    SyntheticModule endless(16, 0x70000000);
    Unwinder unwinder;
    CHECK(unwinder.unwind(endless.cpu(), endless.map(1), endless).size() <= Unwinder::max_frames);
    CHECK(endless.reads < 10'000);
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

TEST_CASE("behind the system call of clone, the parent has a caller and the child has none") {
    const auto clone = GuestAddress{reinterpret_cast<std::uint64_t>(&::clone)};
    ProcessMemory memory(::getpid());
    std::array<std::byte, 128> code;
    REQUIRE(memory.read(clone, code));
    constexpr std::array syscall = {std::byte{0x0f}, std::byte{0x05}};
    const auto found = std::search(code.begin(), code.end(), syscall.begin(), syscall.end());
    REQUIRE(found != code.end());
    auto map = read_memory_map(::getpid());
    need(map);
    const std::array<std::uint64_t, 4> stack = {reinterpret_cast<std::uint64_t>(&spin_forever) + 1};
    CpuState cpu;
    cpu.rip = clone + static_cast<std::uint64_t>(found - code.begin()) + syscall.size();
    cpu[Gpr::rsp] = reinterpret_cast<std::uint64_t>(stack.data());
    Unwinder unwinder;
    cpu[Gpr::rax] = 1234;
    const auto parent = unwinder.unwind(cpu, *map, memory);
    REQUIRE(parent.size() >= 2);
    CHECK(parent[1].value == stack[0]);
    cpu[Gpr::rax] = 0;
    CHECK(unwinder.unwind(cpu, *map, memory).size() == 1);
}

TEST_CASE("what is no code is no caller") {
    static std::array<std::uint64_t, 64> stack;
    stack.fill(reinterpret_cast<std::uint64_t>(stack.data()));
    auto map = read_memory_map(::getpid());
    need(map);
    ProcessMemory memory(::getpid());
    CpuState cpu;
    // There is no unwind table for anonymous code, so frame pointers are followed.
    cpu.rip = {0x1000};
    cpu[Gpr::rsp] = cpu[Gpr::rbp] = reinterpret_cast<std::uint64_t>(stack.data());
    Unwinder unwinder;
    CHECK(unwinder.unwind(cpu, *map, memory).size() == 1);
}

}  // namespace shadowprof::unwind_test
