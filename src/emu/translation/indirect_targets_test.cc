#include "emu/translation/indirect_targets.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <optional>

namespace shadowprof {
namespace {

constexpr GuestAddress target{0x7f12'3456'7890};
constexpr std::array<std::uint8_t, 16> code = {};

// A table in memory of its own.
class Table {
  public:
    Table() {
        memory_ =
            static_cast<std::uint8_t*>(mmap(nullptr, IndirectTargets::memory_bytes, PROT_NONE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        REQUIRE(memory_ != MAP_FAILED);
        targets.emplace(memory_, code.data());
    }
    ~Table() { munmap(memory_, IndirectTargets::memory_bytes); }

    // Nothing if the entry is not accessible.
    std::optional<std::uint32_t> entry(TraceLevel level, GuestAddress at) const {
        std::uint32_t value = 0;
        const iovec local{&value, sizeof value};
        const iovec remote{reinterpret_cast<void*>(address(level, at)), sizeof value};
        if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != sizeof value) return {};
        return value;
    }
    std::uint64_t address(TraceLevel level, GuestAddress at) const {
        return reinterpret_cast<std::uint64_t>(memory_) +
               sizeof(std::uint32_t) * ((static_cast<std::uint64_t>(level) << 32) +
                                        static_cast<std::uint32_t>(at.value));
    }

    std::optional<IndirectTargets> targets;

  private:
    std::uint8_t* memory_;
};

}  // namespace

TEST_CASE("a table of indirect targets is accessible where something was set, and nowhere else") {
    Table table;
    CHECK(!table.entry(TraceLevel::values, target));
    table.targets->set(TraceLevel::values, target, code.data() + 7);
    CHECK(table.entry(TraceLevel::values, target) == 7);
    CHECK(table.entry(TraceLevel::values, target + 4) == 0);
    CHECK(!table.entry(TraceLevel::blocks, target));
    CHECK(!table.entry(TraceLevel::values, target + (1 << 20)));

    SUBCASE("what is forgotten misses") {
        table.targets->forget(TraceLevel::values, target);
        CHECK(table.entry(TraceLevel::values, target) == 0);
        table.targets->forget(TraceLevel::none, target);
        CHECK(!table.entry(TraceLevel::none, target));
    }
    SUBCASE("a cleared table is as new") {
        table.targets->clear();
        CHECK(!table.entry(TraceLevel::values, target));
        table.targets->set(TraceLevel::values, target + 4, code.data() + 9);
        CHECK(table.entry(TraceLevel::values, target) == 0);
        CHECK(table.entry(TraceLevel::values, target + 4) == 9);
    }
}

TEST_CASE("a fault is a miss if a branch of translated code has read the table") {
    for (const auto level : {TraceLevel::blocks, TraceLevel::none}) {
        Table table;
        std::array<std::uint8_t, 64> emitted = {};
        ExecutionContext context;
        CodeBuffer out(emitted.data(), emitted.data() + emitted.size(), &context);
        table.targets->emit_branch(level, out);
        int reads = 0;
        for (const auto* at = emitted.data(); at != out.position(); ++at)
            if (table.targets->is_miss(at, table.address(level, target))) ++reads;
        CHECK(reads == 1);
        for (const auto* at = emitted.data(); at != out.position(); ++at)
            CHECK_FALSE(table.targets->is_miss(at, reinterpret_cast<std::uint64_t>(code.data())));
    }
}

}  // namespace shadowprof
