// Hazards of hand-made traces.
#include "profile/kinds/hazards/hazards.h"

#include <doctest/doctest.h>

#include "profile/kinds/hazards/reorder_window.h"

namespace shadowprof::hazards_test {
namespace {

constexpr std::uint16_t load = ReferenceSlot::load, store = ReferenceSlot::store;
constexpr std::uint16_t rax = 1, rbx = 8, rdi = 128;
constexpr std::uint64_t memory = 0x7000'0000;

// Instructions with one access each. An instruction's site is its number.
class Run {
  public:
    explicit Run(ReorderWindow window = {}) : finder_(window) {}

    Run& access(std::uint64_t address, std::uint16_t bytes, unsigned flags,
                std::uint16_t made_of = rdi, std::uint16_t read = 0, std::uint16_t written = 0) {
        finder_.take({.address = address,
                      .instruction = instruction_,
                      .site = static_cast<ReferenceSite>(instruction_),
                      .bytes = bytes,
                      .flags = static_cast<std::uint16_t>(flags),
                      .address_registers = made_of,
                      .read = read,
                      .written = written},
                     1);
        ++instruction_;
        return *this;
    }
    Run& step(std::uint16_t read, std::uint16_t written, unsigned flags = 0) {
        return access(0, 0, flags, 0, read, written);
    }
    Run& pass(std::uint64_t instructions) {
        instruction_ += instructions;
        return *this;
    }
    Run& forget() {
        finder_.forget();
        return *this;
    }
    std::uint64_t count(HazardKind kind) const {
        std::uint64_t sum = 0;
        for (const auto& pair : finder_.pairs()) sum += pair.kind == kind ? pair.count : 0;
        return sum;
    }
    std::uint64_t blocked() const { return count(HazardKind::blocked); }
    std::uint64_t aliased() const { return count(HazardKind::aliased); }
    bool has(HazardKind kind, ReferenceSite first, ReferenceSite second) const {
        for (const auto& pair : finder_.pairs())
            if (pair.kind == kind && pair.first == first && pair.second == second) return true;
        return false;
    }
    bool none() const { return finder_.pairs().empty(); }

  private:
    HazardFinder finder_;
    std::uint64_t instruction_ = 0;
};

}  // namespace

TEST_CASE("a load within an older store is forwarded, any other overlap is blocked") {
    CHECK(Run().access(memory, 8, store).access(memory, 8, load).none());
    CHECK(Run().access(memory, 8, store).access(memory + 4, 4, load).none());
    CHECK(Run().access(memory, 8, store).access(memory + 8, 8, load).none());
    CHECK(Run().access(memory + 8, 8, store).access(memory, 8, load).none());
    CHECK(Run().access(memory, 4, store).access(memory, 8, load).has(HazardKind::blocked, 0, 1));
    CHECK(Run().access(memory, 8, store).access(memory + 4, 8, load).blocked() == 1);
    CHECK(Run().access(memory + 4, 8, store).access(memory, 8, load).blocked() == 1);
    CHECK(Run().access(memory + 63, 1, store).access(memory + 56, 16, load).blocked() == 1);
}

TEST_CASE("only the youngest of the older stores counts") {
    // The older store wrote all of it, the younger one a part: blocked behind the younger one.
    const auto part =
        Run().access(memory, 8, store).access(memory, 4, store).access(memory, 8, load);
    CHECK(part.blocked() == 1);
    CHECK(part.has(HazardKind::blocked, 1, 2));
    // The older store wrote a part, the younger one all.
    CHECK(Run().access(memory, 4, store).access(memory, 8, store).access(memory, 8, load).none());
    // Each store wrote one half.
    CHECK(Run()
              .access(memory, 4, store)
              .access(memory + 4, 4, store)
              .access(memory, 8, load)
              .blocked() == 1);
}

TEST_CASE("addresses alias by their low 12 bits") {
    CHECK(Run().access(memory, 8, store).access(memory + 4096, 8, load).aliased() == 1);
    CHECK(Run().access(memory, 8, store).access(memory + 8 * 4096 + 4, 8, load).aliased() == 1);
    CHECK(Run().access(memory, 8, store).access(memory + 4096 + 8, 8, load).none());
    CHECK(Run().access(memory + 8, 8, store).access(memory + 4096, 8, load).none());
    // Across the end of a page, which also splits the access.
    CHECK(Run().access(memory, 8, store).access(memory + 3 * 4096 - 4, 8, load).aliased() == 1);
    // A forwarded load is not behind older stores.
    CHECK(Run()
              .access(memory, 8, store)
              .access(memory + 4096, 8, store)
              .access(memory + 4096, 8, load)
              .none());
    CHECK(Run()
              .access(memory + 4096, 8, store)
              .access(memory, 8, store)
              .access(memory + 4096, 8, load)
              .aliased() == 1);
}

TEST_CASE("accesses that split lines and pages are told apart") {
    CHECK(Run().access(memory + 56, 8, load).none());
    CHECK(Run().access(memory + 60, 8, load).count(HazardKind::line_split) == 1);
    CHECK(Run().access(memory + 60, 8, store).count(HazardKind::line_split) == 1);
    const auto page = Run().access(memory + 4092, 8, load);
    CHECK(page.count(HazardKind::page_split) == 1);
    CHECK(page.count(HazardKind::line_split) == 0);
    CHECK(Run().access(memory + 32, 64, load).count(HazardKind::line_split) == 1);
    CHECK(Run().access(memory + 4092, 8, load | ReferenceSlot::masked).none());
    CHECK(Run().access(memory + 4092, 8, load | ReferenceSlot::repeated).none());
    CHECK(Run().access(memory + 32, 512, store).none());
}

TEST_CASE("stores are done when they are out of the window") {
    const auto at = [](std::uint64_t distance) {
        return Run({100, 56})
            .access(memory, 4, store)
            .pass(distance - 1)
            .access(memory, 8, load)
            .blocked();
    };
    CHECK(at(99) == 1);
    CHECK(at(100) == 0);
    const auto behind_stores = [](int stores) {
        Run run({10'000, 8});
        run.access(memory, 4, store);
        for (int i = 1; i < stores; ++i) run.access(memory + 0x2000 + 64u * unsigned(i), 8, store);
        return run.access(memory, 8, load).blocked();
    };
    CHECK(behind_stores(8) == 1);
    CHECK(behind_stores(9) == 0);
    CHECK(behind_stores(500) == 0);
}

TEST_CASE("locked accesses, fences and ends of bursts keep accesses apart") {
    CHECK(Run()
              .access(memory, 4, store)
              .step(0, 0, ReferenceSlot::fence)
              .access(memory, 8, load)
              .none());
    CHECK(Run()
              .access(memory, 4, store)
              .access(memory + 256, 8, load | store | ReferenceSlot::locked)
              .access(memory, 8, load)
              .none());
    CHECK(Run().access(memory, 4, store).forget().access(memory, 8, load).none());
}

TEST_CASE("a load whose address depends on the store's data is not counted") {
    // mov [m], eax ; mov rbx, [m] (forwarded) ; add rbx, rax ; mov rax, [rbx]: behind the store.
    const auto chained = [](std::uint16_t address_of_last) {
        return Run()
            .access(memory, 8, store)
            .access(memory, 8, load, rdi, 0, rbx)
            .step(rbx | rax, rbx)
            .access(memory + 4, 8, load, address_of_last)
            .blocked();
    };
    CHECK(chained(rbx) == 0);
    CHECK(chained(rdi) == 1);
    // The address depends only on another store's data.
    CHECK(Run()
              .access(memory + 128, 8, store)
              .access(memory, 8, store)
              .access(memory + 128, 8, load, rdi, 0, rbx)
              .access(memory + 4, 8, load, rbx)
              .blocked() == 1);
    // The register is overwritten in between.
    CHECK(Run()
              .access(memory, 8, store)
              .access(memory, 8, load, rdi, 0, rbx)
              .step(0, rbx)
              .access(memory + 4, 8, load, rbx)
              .blocked() == 1);
    // Through memory: what was loaded is stored and loaded again.
    CHECK(Run()
              .access(memory, 8, store)
              .access(memory, 8, load, rdi, 0, rbx)
              .access(memory + 128, 8, store, rdi, rbx)
              .access(memory + 128, 8, load, rdi, 0, rax)
              .access(memory + 4, 8, load, rax)
              .blocked() == 0);
}

TEST_CASE("places of stores are used again") {
    Run run({1'000'000, 128});
    for (unsigned i = 0; i < 1000; ++i) {
        run.access(memory + 64 * (i % 8), 4, store);
        run.access(memory + 64 * (i % 8), 8, load);
    }
    CHECK(run.blocked() == 1000);
}

TEST_CASE("windows are those of the processor") {
    CHECK(reorder_window({"GenuineIntel", 6, 0x55}) == ReorderWindow{224, 56});
    CHECK(reorder_window({"GenuineIntel", 6, 0x8f}) == ReorderWindow{512, 112});
    CHECK(reorder_window({"AuthenticAMD", 0x19, 0x01}) == ReorderWindow{256, 64});
    CHECK(reorder_window({"AuthenticAMD", 0x19, 0x11}) == ReorderWindow{320, 64});
    CHECK(reorder_window({"unknown", 1, 2}) == ReorderWindow{});
}

}  // namespace shadowprof::hazards_test
