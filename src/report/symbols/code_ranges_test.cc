#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "decoder/disassembly.h"
#include "report/symbols/elf/eh_frame.h"
#include "report/symbols/elf/function_table.h"
#include "report/symbols/elf/range_index.h"

namespace shadowprof::code_ranges_test {
namespace {

// An .eh_frame section under construction.
class EhFrame {
  public:
    template <typename T>
    EhFrame& add(T value) {
        auto* bytes = reinterpret_cast<const std::byte*>(&value);
        section_.insert(section_.end(), bytes, bytes + sizeof value);
        return *this;
    }
    EhFrame& text(std::string_view characters) {
        for (char c : characters) section_.push_back(static_cast<std::byte>(c));
        section_.push_back(std::byte{0});
        return *this;
    }
    // Adds a record with the content that `fill` adds, its length in front and padding behind.
    template <typename Fill>
    EhFrame& record(Fill fill) {
        std::size_t start = section_.size();
        add(std::uint32_t{0});
        fill(*this);
        while (section_.size() % 4 != 0) section_.push_back(std::byte{0});
        auto length = static_cast<std::uint32_t>(section_.size() - start - 4);
        std::memcpy(section_.data() + start, &length, sizeof length);
        return *this;
    }
    EhFrame& cie(std::string_view augmentation, std::uint8_t encoding) {
        return record([&](EhFrame& r) {
            r.add(std::uint32_t{0}).add(std::uint8_t{1}).text(augmentation);
            for (int byte : {0x01, 0x78, 0x10}) r.add(static_cast<std::uint8_t>(byte));
            if (!augmentation.empty()) r.add(std::uint8_t{1}).add(encoding);
        });
    }
    // Adds an entry that refers to the common entry at the section's start.
    template <typename Pointer>
    EhFrame& fde(Pointer start, Pointer length) {
        return record([&](EhFrame& r) {
            r.add(static_cast<std::uint32_t>(r.section_.size())).add(start).add(length);
        });
    }
    std::size_t size() const { return section_.size(); }
    std::vector<AddressRange> ranges(std::uint64_t address) const {
        return eh_frame_ranges(section_, address);
    }
    std::vector<std::byte>& bytes() { return section_; }

  private:
    std::vector<std::byte> section_;
};

constexpr std::uint64_t at = 0x400000;

std::string text_of(std::initializer_list<int> bytes, std::uint64_t address = 0x1000) {
    std::vector<std::byte> code;
    for (int b : bytes) code.push_back(static_cast<std::byte>(b));
    return Disassembler().text(code, address);
}

}  // namespace

TEST_CASE("unwind entries give ranges in every encoding that compilers use") {
    EhFrame relative;
    relative.cie("zR", 0x1b);
    auto field = static_cast<std::int32_t>(relative.size() + 8);
    relative.fde<std::int32_t>(-0x1000 - field, 0x40);
    CHECK(relative.ranges(at) == std::vector<AddressRange>{{at - 0x1000, at - 0x1000 + 0x40}});
    EhFrame absolute;
    absolute.cie("", 0).fde<std::uint64_t>(0x1234, 0x10);
    CHECK(absolute.ranges(at) == std::vector<AddressRange>{{0x1234, 0x1244}});
    EhFrame narrow;
    narrow.cie("zR", 0x03).fde<std::uint32_t>(0x80001234, 0x10);
    CHECK(narrow.ranges(at) == std::vector<AddressRange>{{0x80001234, 0x80001244}});
}

TEST_CASE("unwind entries that make no sense give no ranges") {
    EhFrame empty_range;
    empty_range.cie("zR", 0x03).fde<std::uint32_t>(0x1000, 0);
    CHECK(empty_range.ranges(at).empty());
    EhFrame wrapping;
    wrapping.cie("", 0).fde<std::uint64_t>(UINT64_MAX - 4, 0x10);
    CHECK(wrapping.ranges(at).empty());
    EhFrame unknown_encoding;
    unknown_encoding.cie("zR", 0x33).fde<std::uint32_t>(0x1000, 0x10);
    CHECK(unknown_encoding.ranges(at).empty());
    EhFrame no_common_entry;
    no_common_entry.record([](EhFrame& r) { r.add(std::uint32_t{400}).add(std::uint64_t{1}); });
    CHECK(no_common_entry.ranges(at).empty());
}

TEST_CASE("a damaged unwind table is read as far as it goes") {
    EhFrame table;
    table.cie("zPLR", 0x1b).cie("zR", 0x1b);
    for (std::int32_t i = 0; i < 20; ++i) table.fde<std::int32_t>(i * 100, 50);
    for (unsigned seed = 0; seed < 5000; ++seed) {
        std::mt19937 random(seed);
        EhFrame damaged = table;
        auto& bytes = damaged.bytes();
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 2 == 0 ? 0xff : 0);
        bytes.resize(bytes.size() - random() % 40);
        bytes.shrink_to_fit();
        for (AddressRange range : damaged.ranges(at)) CHECK(range.start < range.end);
    }
}

TEST_CASE("of ranges around an address the innermost owns it") {
    RangeIndex index({{0, 100, 1}, {10, 50, 2}, {20, 30, 3}, {50, 60, 4}});
    CHECK(index.find(0) == 1u);
    CHECK(index.find(10) == 2u);
    CHECK(index.find(20) == 3u);
    CHECK(index.find(29) == 3u);
    CHECK(index.find(30) == 2u);
    CHECK(index.find(50) == 4u);
    CHECK(index.find(60) == 1u);
    CHECK(!index.find(100));
    CHECK(!RangeIndex().find(0));
}

TEST_CASE("equal and overlapping ranges have one owner for each address") {
    RangeIndex equal({{10, 20, 1}, {10, 20, 2}});
    CHECK(equal.find(15) == 2u);
    RangeIndex crossing({{0, 50, 1}, {40, 100, 2}});
    CHECK(crossing.find(39) == 1u);
    CHECK(crossing.find(45) == 2u);
    CHECK(crossing.find(99) == 2u);
    RangeIndex shorter_last({{10, 100, 1}, {10, 20, 2}, {30, 30, 3}, {9, 5, 4}});
    CHECK(shorter_last.find(10) == 2u);
    CHECK(shorter_last.find(20) == 1u);
    CHECK(shorter_last.find(30) == 1u);
    CHECK(!shorter_last.find(9));
    RangeIndex to_the_end({{UINT64_MAX - 10, UINT64_MAX, 1}});
    CHECK(to_the_end.find(UINT64_MAX - 1) == 1u);
    CHECK(!to_the_end.find(UINT64_MAX));
}

TEST_CASE("range look-up agrees with its definition on random ranges") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        std::vector<OwnedRange> ranges;
        for (std::uint32_t i = 0; i < 12; ++i) {
            std::uint64_t start = random() % 60;
            ranges.push_back({start, start + random() % 30, i});
        }
        RangeIndex index(ranges);
        for (std::uint64_t address = 0; address < 100; ++address) {
            const OwnedRange* best = nullptr;
            for (const OwnedRange& r : ranges) {
                if (address < r.start || address >= r.end) continue;
                if (best == nullptr || r.start > best->start ||
                    (r.start == best->start && r.end <= best->end))
                    best = &r;
            }
            auto owner = index.find(address);
            CHECK(owner.has_value() == (best != nullptr));
            if (owner && best != nullptr) CHECK(*owner == best->owner);
        }
    }
}

TEST_CASE("unwind ranges name no function that symbols already know") {
    std::vector<AddressRange> unwind{{0x100, 0x200}, {0x120, 0x130}, {0x300, 0x400}};
    FunctionTable table({.functions = {{0x100, 0x180, "known"}}, .names = {}}, unwind);
    CHECK(table.find(0x110)->name == "known");
    CHECK(table.find(0x125)->name == "known");
    CHECK(table.find(0x190) == nullptr);
    REQUIRE(table.find(0x350) != nullptr);
    CHECK(table.find(0x350)->start == 0x300);
    CHECK(table.find(0x350)->name.empty());
    CHECK(table.has_names());
    CHECK(!FunctionTable({}, unwind).has_names());
}

TEST_CASE("instructions are written as objdump -M intel names them, without padding") {
    CHECK(text_of({0x48, 0x8b, 0x07}) == "mov rax, [rdi]");
    CHECK(text_of({0x8b, 0x47, 0x08}) == "mov eax, [rdi+0x8]");
    CHECK(text_of({0x48, 0x8b, 0x05, 0xe2, 0x2e, 0, 0}) == "mov rax, [rip+0x2ee2]");
    CHECK(text_of({0x74, 0x10}) == "je 0x1012");
    CHECK(text_of({0x0f, 0x85, 0x00, 0x01, 0, 0}) == "jne 0x1106");
    CHECK(text_of({0x73, 0xfe}) == "jae 0x1000");
    CHECK(text_of({0x0f, 0x44, 0xc1}) == "cmove eax, ecx");
    CHECK(text_of({0x0f, 0x9f, 0xc0}) == "setg al");
    CHECK(text_of({0xe8, 0xfb, 0x0f, 0, 0}) == "call 0x2000");
    CHECK(text_of({0xc7, 0x07, 0x07, 0, 0, 0}) == "mov dword ptr [rdi], 0x7");
    CHECK(text_of({0x83, 0x45, 0xfc, 0xff}) == "add dword ptr [rbp-0x4], 0xffffffff");
    CHECK(text_of({0xc3}) == "ret");
}

TEST_CASE("bytes that are no instruction have no text") {
    CHECK(text_of({}).empty());
    CHECK(text_of({0x48, 0x8b}).empty());
    CHECK(text_of({0x06}).empty());
}

}  // namespace shadowprof::code_ranges_test
