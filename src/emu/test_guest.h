// A guest for tests: this process itself. Functions of the test program are emulated over a copy of
// its memory; their results, writes and traces are compared with native calls.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files/fd.h"
#include "base/value_type.h"
#include "emu/run/recording_sink.h"

namespace shadowprof {

class OwnMemory final : public PageSource {
  public:
    bool read_pages(GuestAddress from, std::span<std::byte> to) override {
        const iovec local{to.data(), to.size()};
        const iovec remote{reinterpret_cast<void*>(from.value), to.size()};
        return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
               static_cast<ssize_t>(to.size());
    }
};

class ScriptedSyscalls final : public SyscallHandler {
  public:
    std::function<std::optional<SampleEnd>(CpuState&, GuestSpace&)> on_call =
        [](CpuState&, GuestSpace&) { return SampleEnd::unsafe_syscall; };
    std::vector<VdsoFunction> vdso_calls;

    std::optional<SampleEnd> on_syscall(GuestThreads& threads, GuestSpace& space,
                                        std::uint64_t) override {
        return on_call(threads.cpu(), space);
    }
    std::optional<SampleEnd> on_vdso(VdsoFunction function, GuestThreads& threads, GuestSpace&,
                                     std::uint64_t) override {
        vdso_calls.push_back(function);
        threads.cpu()[Gpr::rax] = 0;
        return std::nullopt;
    }
};

// One recorded result; of a wide one, the lowest eight bytes.
struct TracedValue {
    std::uint64_t address;
    std::uint16_t reg;
    std::uint8_t width_bytes;
    std::uint64_t value;

    friend bool operator==(const TracedValue&, const TracedValue&) = default;
};

// One recorded access to memory.
struct TracedReference {
    std::uint64_t instruction;
    std::uint64_t address;
    std::uint16_t bytes;
    std::uint16_t flags;

    friend bool operator==(const TracedReference&, const TracedReference&) = default;
};

// Emulates calls of functions.
class TestGuest {
  public:
    // Where a called function returns to: nothing is mapped there.
    static constexpr GuestAddress return_address{0x1230};
    static constexpr std::size_t stack_bytes = 64 * 1024;

    explicit TestGuest(std::size_t buffer_words = 1 << 16)
        : blocks_(1 << 16),
          slots_(1 << 18),
          parts_(1 << 18),
          references_(1 << 18),
          tables_(blocks_, slots_, parts_, references_),
          sink(buffer_words) {
        auto created = Emulator::create(tables_);
        REQUIRE(created);
        emulator_ = std::move(*created);
        stack_ = static_cast<std::byte*>(
            mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        cpu.fs_base = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
        cpu.rflags = 0x202;
        // The initial state of the x87 unit and of MXCSR.
        const std::uint16_t control = 0x37f;
        const std::uint32_t mxcsr = 0x1f80;
        std::memcpy(cpu.xsave.data(), &control, sizeof control);
        std::memcpy(cpu.xsave.data() + 24, &mxcsr, sizeof mxcsr);
    }
    ~TestGuest() { munmap(stack_, stack_bytes); }

    // Calls the function until it returns, or as far as `limits` allow.
    template <typename... Arguments>
    RunResult call(const void* function, Arguments... arguments) {
        const std::uint64_t values[] = {std::uint64_t(arguments)..., 0};
        constexpr Gpr places[] = {Gpr::rdi, Gpr::rsi, Gpr::rdx, Gpr::rcx, Gpr::r8, Gpr::r9};
        for (std::size_t i = 0; i < sizeof...(arguments); ++i) cpu[places[i]] = values[i];
        cpu.rip = {reinterpret_cast<std::uint64_t>(function)};
        auto top = reinterpret_cast<std::uint64_t>(stack_ + stack_bytes - 256) - 8;
        std::memcpy(reinterpret_cast<void*>(top), &return_address, sizeof return_address);
        cpu[Gpr::rsp] = top;
        return go();
    }
    void trace_values() { limits.burst_period = limits.value_instructions = 1'000'000'000; }
    void trace_references() { limits.burst_period = limits.reference_instructions = 1'000'000'000; }
    void trace_at(TraceLevel level) {
        if (level == TraceLevel::values) trace_values();
        if (level == TraceLevel::references) trace_references();
        if (level == TraceLevel::none) limits.untraced = true;
    }
    void watch(const std::vector<std::string>& probes,
               std::span<const AllocatorEntry> allocators = {}) {
        auto set = ProbeSet::parse(probes);
        REQUIRE(set);
        probes_ = std::make_unique<ProbeWatch>(std::move(*set), std::vector<PlaceRange>{},
                                               Probed::executions, allocators);
        emulator_->watch_probes(probes_.get());
    }
    void keep_time(GuestTime& time) { emulator_->keep_time(&time); }
    // Continues from `cpu`, over the memory as it is now.
    RunResult go() {
        REQUIRE(emulator_->begin_sample(own_map(), memory_));
        emulator_->await(awaited ? &*awaited : nullptr);
        const auto result = emulator_->run(cpu, limits, syscalls, sink, nullptr);
        emulator_->await(nullptr);
        return result;
    }
    // As go(), with several threads from their registers.
    RunResult run(GuestThreads& threads, TraceSink& trace) {
        REQUIRE(emulator_->begin_sample(own_map(), memory_));
        return emulator_->run(threads, limits, syscalls, trace, nullptr);
    }
    // Goes on where run() has ended.
    RunResult run_on(GuestThreads& threads, TraceSink& trace) {
        return emulator_->run(threads, limits, syscalls, trace, nullptr);
    }
    static bool returned(const RunResult& result) {
        return result.end == SampleEnd::fault && result.fault_address == return_address;
    }

    // The block that a trace word names.
    const BlockInfo& block(std::uint64_t word) const { return tables_[static_cast<BlockId>(word)]; }
    // Calls `function` for all records, with the words of their values.
    template <typename Function>
    void for_each_record(Function function) const {
        const std::span<const std::uint64_t> words(sink.recorded);
        for (std::size_t i = 0; i < words.size();) {
            const auto& row = block(words[i++]);
            if (i + row.value_words > words.size()) FAIL("a record is cut off");
            function(row, words.subspan(i, row.value_words));
            i += row.value_words;
        }
    }
    // The same for all executed blocks: sequences are split up.
    template <typename Function>
    void for_each_block(Function function) const {
        for_each_record([&](const BlockInfo& row, std::span<const std::uint64_t> words) {
            if (row.parts == 0) return function(row, words);
            std::size_t at = 0;
            for (auto id : tables_.parts_of(row)) {
                const auto& part = block(id);
                const bool fits = at + part.value_words <= words.size();
                if (!fits || part.parts != 0 || part.level != row.level) FAIL("a part cannot be");
                function(part, words.subspan(at, part.value_words));
                at += part.value_words;
            }
            if (at != words.size()) FAIL("a sequence has more words than its parts");
        });
    }
    // Starts of all executed blocks.
    std::vector<std::uint64_t> starts() const {
        std::vector<std::uint64_t> result;
        for_each_block([&](const BlockInfo& executed, std::span<const std::uint64_t>) {
            result.push_back(executed.start.value);
        });
        return result;
    }
    // The recorded results of all executed instructions.
    std::vector<TracedValue> values() const {
        std::vector<TracedValue> result;
        for_each_block([&](const BlockInfo& executed, std::span<const std::uint64_t> words) {
            if (executed.level == TraceLevel::references) return;
            std::size_t at = 0;
            const auto first = result.size();
            for (const auto& slot : tables_.slots_of(executed)) {
                at += slot.words;
                const bool has_source = slot.source != ValueSlot::no_source;
                const auto value = slot.words != 0
                                       ? words[at - 1]
                                       : (has_source ? result[first + slot.source].value : 0) +
                                             static_cast<std::uint64_t>(std::int64_t{slot.addend});
                result.push_back({(executed.start + slot.instruction_offset).value, slot.reg,
                                  slot.width_bytes, low_bytes(value, slot.width_bytes)});
            }
            if (at != words.size()) FAIL("a block has more words than its slots");
        });
        return result;
    }
    // The accesses of all executed instructions.
    std::vector<TracedReference> references() const {
        std::vector<TracedReference> result;
        for_each_block([&](const BlockInfo& executed, std::span<const std::uint64_t> words) {
            if (executed.level != TraceLevel::references) return;
            std::size_t at = 0;
            std::vector<std::uint64_t> bases;
            for (const auto& slot : tables_.references_of(executed)) {
                const bool has_source = slot.source != ReferenceSlot::no_source;
                auto base = has_source ? bases.at(slot.source) : executed.start.value;
                if (slot.words != 0) base = words[at++];
                bases.push_back(base);
                if (slot.bytes != 0)
                    result.push_back({(executed.start + slot.instruction_offset).value,
                                      base + static_cast<std::uint64_t>(std::int64_t{slot.addend}),
                                      slot.bytes, slot.flags});
            }
            if (at != words.size()) FAIL("a block has more words than its slots");
        });
        return result;
    }
    std::uint64_t stack_start() const { return reinterpret_cast<std::uint64_t>(stack_); }
    std::uint64_t traced_instructions() const {
        std::uint64_t sum = 0;
        for_each_record([&](const BlockInfo& row, auto) { sum += row.instructions; });
        return sum;
    }
    // Translates ahead from these functions. True if there is more to translate.
    bool prepare_some(std::initializer_list<const void*> functions, BurstLevels bursts = {}) {
        std::vector<GuestAddress> roots;
        for (const void* function : functions)
            roots.push_back({reinterpret_cast<std::uint64_t>(function)});
        return emulator_->translate_ahead(own_map(), memory_, roots, bursts,
                                          [this] { return blocks_to_prepare-- != 0; });
    }
    // Translates ahead from these functions until there is no more.
    void prepare(std::initializer_list<const void*> functions, BurstLevels bursts = {}) {
        CHECK_FALSE(prepare_some(functions, bursts));
    }
    std::uint64_t translated_blocks() const { return emulator_->translation().blocks; }
    GuestMemory& memory() { return emulator_->memory(); }
    const BlockTables& tables() const { return tables_; }

  private:
    // Excludes the huge regions that a sanitizer reserves, as they leave no room for a copy.
    // Excludes existing copies too: below everything else, or above (test_main.cc), where the first
    // thread's stack is as well.
    static MemoryMap own_map() {
        constexpr std::uint64_t lowest = 0x1000'0000'0000, first_copy = 0x6800'0000'0000;
        const auto end = host_segment_bases() == SegmentBases::by_kernel ? first_copy : ~0ull;
        // Allocating memory between two reads would change what is read.
        std::string text(std::size_t{1} << 22, '\0');
        std::size_t size = 0;
        const UniqueFd file(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
        for (ssize_t got = 1; got > 0; size += static_cast<std::size_t>(std::max(got, ssize_t{0})))
            got = read(file.get(), text.data() + size, text.size() - size);
        text.resize(size);
        auto map = MemoryMap::parse(text);
        REQUIRE(map);
        std::vector<Mapping> kept;
        for (const auto& m : map->mappings())
            if (m.size_bytes() < std::uint64_t{1} << 33 && m.start.value > lowest &&
                m.start.value < end)
                kept.push_back(m);
        return MemoryMap(std::move(kept));
    }

    std::vector<BlockInfo> blocks_;
    std::vector<ValueSlot> slots_;
    std::vector<BlockId> parts_;
    std::vector<ReferenceSlot> references_;
    BlockTables tables_;
    OwnMemory memory_;
    std::unique_ptr<ProbeWatch> probes_;
    std::unique_ptr<Emulator> emulator_;
    std::byte* stack_;

  public:
    CpuState cpu;
    RunLimits limits{.instructions = 100'000'000};
    std::optional<AwaitedState> awaited;
    ScriptedSyscalls syscalls;
    RecordingSink sink;
    std::uint64_t blocks_to_prepare = ~std::uint64_t{0};
};

}  // namespace shadowprof
