#include "report/symbols/symbolizer.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstdio>
#include <cstring>
#include <random>

#include "report/symbols/elf/demangle.h"
#include "report/symbols/elf/perf_map.h"
#include "report/symbols/elf/vdso_image.h"
#include "report/testdata/victim_facts.h"

namespace shadowprof::symbolizer_test {
namespace {

std::string function_at(Symbolizer& symbolizer, std::uint64_t address) {
    return std::string(symbolizer.symbol({0, address}).function);
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// Asks for everything about addresses all over a file.
void ask_everywhere(Symbolizer& symbolizer, std::uint64_t end) {
    for (std::uint64_t address = 0; address < end; address += 61) {
        symbolizer.symbol({0, address});
        symbolizer.instruction_text({0, address});
    }
    symbolizer.symbol({0, UINT64_MAX});
    symbolizer.instruction_text({0, UINT64_MAX});
}

// The same for lines and for the functions around them.
void ask_for_positions(const std::string& path, std::uint64_t end) {
    StringPool strings;
    auto symbols = ModuleSymbols::open(path, "", strings);
    if (!symbols) return;
    for (std::uint64_t address = 0; address < end; address += 61) (*symbols)->position(address);
    std::uint64_t behind = 0;
    for (const SourceRow& row : (*symbols)->lines(0, UINT64_MAX)) {
        REQUIRE(row.start >= behind);
        REQUIRE(row.end > row.start);
        behind = row.end;
    }
}

}  // namespace

TEST_CASE("functions have their demangled names, and addresses in them their offsets") {
    auto facts = victim_facts();
    Symbolizer symbolizer({{test_input("SYMBOLS_VICTIM"), "", 0}});
    CHECK(function_at(symbolizer, facts["plain_c_function"]) == "plain_c_function");
    CHECK(function_at(symbolizer, facts["outer"]) == "victim::outer(int&, int&)");
    CHECK(function_at(symbolizer, facts["caller"]) == "caller");
    const CodeSymbol& inside = symbolizer.symbol({0, facts["caller"] + 3});
    CHECK(inside.function == "caller");
    CHECK(inside.function_start == facts["caller"]);
    CHECK(symbolizer.notes().empty());
}

TEST_CASE("an instruction has its source line, and the chain of calls inlined there") {
    auto facts = victim_facts();
    Symbolizer symbolizer({{test_input("SYMBOLS_VICTIM"), "", 0}});
    const CodeSymbol& probe = symbolizer.symbol({0, facts["probe"]});
    CHECK(probe.function == "victim::outer(int&, int&)");
    CHECK(probe.file.ends_with("/symbols_victim.cc"));
    CHECK(probe.line == facts["probe_line"]);
    REQUIRE(probe.inlined.size() == 1);
    CHECK(probe.inlined[0].function == "victim::here(int&)");
    CHECK(probe.inlined[0].file.ends_with("/symbols_victim.cc"));
    CHECK(probe.inlined[0].line == facts["call_line"]);
    CHECK(symbolizer.symbol({0, facts["plain_c_function"]}).inlined.empty());
    CHECK(symbolizer.instruction_text({0, facts["probe"]}).starts_with("lea r"));
}

TEST_CASE("an instruction has its functions by linkage name, and lines that count from them") {
    auto facts = victim_facts();
    StringPool strings;
    auto opened = ModuleSymbols::open(test_input("SYMBOLS_VICTIM"), "", strings);
    REQUIRE(opened);
    ModuleSymbols& symbols = **opened;
    const auto probe = symbols.position(facts["probe"]);
    REQUIRE(probe);
    CHECK(probe->line == facts["probe_line"]);
    REQUIRE(probe->scopes.size() == 2);
    const FunctionScope &outer = probe->scopes[0], &here = probe->scopes[1];
    CHECK(outer.linkage_name == "_ZN6victim5outerERiS0_");
    CHECK(facts["call_line"] - outer.declaration_line == 2);
    CHECK(outer.call_line == 0);
    CHECK(here.linkage_name == "_ZN6victim4hereERi");
    CHECK(probe->line - here.declaration_line == 3);
    CHECK(here.call_line == facts["call_line"]);
    const auto plain = symbols.position(facts["plain_c_function"]);
    REQUIRE(plain);
    REQUIRE(plain->scopes.size() == 1);
    CHECK(plain->scopes[0].linkage_name == "plain_c_function");
    CHECK(plain->line - plain->scopes[0].declaration_line <= 3);
    CHECK(!symbols.position(0));
    CHECK(!symbols.position(UINT64_MAX));
    CHECK(symbols.is_entry(facts["outer"]));
    CHECK(!symbols.is_entry(facts["outer"] + 1));
}

TEST_CASE("lines of a range do not overlap, and are those of its instructions") {
    auto facts = victim_facts();
    Symbolizer symbolizer({{test_input("SYMBOLS_VICTIM"), "", 0}});
    StringPool strings;
    auto opened = ModuleSymbols::open(test_input("SYMBOLS_VICTIM"), "", strings);
    REQUIRE(opened);
    for (auto [start, end] : {std::pair{facts["outer"], facts["outer"] + 30},
                              std::pair{std::uint64_t{0}, UINT64_MAX}}) {
        const auto rows = (*opened)->lines(start, end);
        REQUIRE(!rows.empty());
        std::uint64_t behind = start;
        for (const SourceRow& row : rows) {
            CHECK(row.start >= behind);
            CHECK(row.end > row.start);
            CHECK(row.end <= end);
            CHECK(row.line == symbolizer.symbol({0, row.start}).line);
            behind = row.end;
        }
    }
    CHECK((*opened)->lines(facts["probe"], facts["probe"] + 1).front().line == facts["probe_line"]);
    CHECK((*opened)->lines(facts["probe"], facts["probe"]).empty());
}

TEST_CASE("a call through the linkage table is named after what it calls") {
    auto file = ElfFile::open(test_input("SYMBOLS_VICTIM"));
    REQUIRE(file);
    std::string found;
    Symbolizer symbolizer({{test_input("SYMBOLS_VICTIM"), "", 0}});
    for (const char* name : {".plt", ".plt.sec", ".plt.got"}) {
        auto section = (*file)->section(name);
        if (!section) continue;
        for (std::uint64_t at = 0; at < section->size_bytes; at += 8)
            found += function_at(symbolizer, section->address + at) + " ";
    }
    CHECK_MESSAGE(contains(found, "printf@plt"), found);
    CHECK_MESSAGE(contains(found, "dl_iterate_phdr@plt"), found);
}

TEST_CASE("a stripped program still shows where its functions begin") {
    auto facts = victim_facts();
    Symbolizer symbolizer({{test_input("SYMBOLS_VICTIM_STRIPPED"), "", 0}});
    for (const char* name : {"plain_c_function", "outer", "caller"}) {
        const CodeSymbol& symbol = symbolizer.symbol({0, facts[name] + 2});
        CHECK(symbol.function.empty());
        CHECK(symbol.function_start == facts[name]);
        CHECK(symbol.line == 0);
    }
    CHECK(symbolizer.instruction_text({0, facts["probe"]}).starts_with("lea r"));
    REQUIRE(symbolizer.notes().size() == 1);
    CHECK(contains(symbolizer.notes()[0], "stripped"));
}

TEST_CASE("a separate debug file beside the program is found, unless it is another one's") {
    auto facts = victim_facts();
    Symbolizer symbolizer({{test_input("SYMBOLS_VICTIM_LINKED"), "", 0}});
    CHECK(function_at(symbolizer, facts["outer"]) == "victim::outer(int&, int&)");
    CHECK(symbolizer.symbol({0, facts["probe"]}).line == facts["probe_line"]);

    TemporaryDirectory dir;
    std::string program = dir.path("program"), debug = dir.path("symbols_victim.debug");
    write_file(program, file_content(test_input("SYMBOLS_VICTIM_LINKED")));
    write_file(debug, file_content(test_input("SYMBOLS_VICTIM_DEBUG")) + "changed");
    Symbolizer fooled({{program, "", 0}});
    CHECK(fooled.symbol({0, facts["probe"]}).line == 0);
    CHECK(function_at(fooled, facts["outer"]).empty());
}

TEST_CASE("another build than the one profiled gives no names, and one note") {
    std::string path = test_input("SYMBOLS_VICTIM");
    auto facts = victim_facts();
    auto file = ElfFile::open(path);
    REQUIRE(file);
    REQUIRE(!(*file)->build_id().empty());
    Symbolizer same({{path, (*file)->build_id(), 0}});
    CHECK(function_at(same, facts["caller"]) == "caller");
    Symbolizer other({{path, "0123456789abcdef", 0}});
    CHECK(function_at(other, facts["caller"]).empty());
    CHECK(other.instruction_text({0, facts["caller"]}).empty());
    CHECK(function_at(other, facts["outer"]).empty());
    REQUIRE(other.notes().size() == 1);
    CHECK(contains(other.notes()[0], path));
    CHECK(contains(other.notes()[0], "another build"));
}

TEST_CASE("modules that are no programs give no names, and a note each") {
    TemporaryDirectory dir;
    write_file(dir.path("text"), "not an ELF file");
    write_file(dir.path("empty"), "");
    Symbolizer symbolizer({{dir.path("absent"), "", 0},
                           {dir.path("text"), "", 0},
                           {dir.path("empty"), "", 0},
                           {dir.path(), "", 0},
                           {"[stack]", "", 0},
                           {"[anon]", "", 0}});
    for (std::uint32_t module = 0; module < 8; ++module) {
        CHECK(symbolizer.symbol({module, 0x1000}) == CodeSymbol{});
        CHECK(symbolizer.symbol({module, 0x1001}) == CodeSymbol{});
        CHECK(symbolizer.instruction_text({module, 0x1000}).empty());
    }
    CHECK(symbolizer.notes().size() == 4);
}

TEST_CASE("modules are looked for under the target's own root") {
    auto facts = victim_facts();
    TemporaryDirectory root;
    write_file(root.path("program"), file_content(test_input("SYMBOLS_VICTIM")));
    Symbolizer symbolizer({{"/program", "", 0}}, {.root = root.path()});
    CHECK(function_at(symbolizer, facts["caller"]) == "caller");
}

TEST_CASE("a file that was kept open counts where its path is gone or leads elsewhere") {
    auto facts = victim_facts();
    TemporaryDirectory dir;
    std::vector<UniqueFd> files(1);
    files[0].reset(::open(test_input("SYMBOLS_VICTIM").c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(files[0]);
    SUBCASE("gone") {}
    SUBCASE("another") {
        write_file(dir.path("program"), "not an ELF file");
    }
    Symbolizer symbolizer({{dir.path("program"), "", 0}}, {.root = "", .files = files});
    CHECK(function_at(symbolizer, facts["caller"]) == "caller");
    CHECK(symbolizer.notes().empty());
}

TEST_CASE("what has the path of a file that was not to be had gives no names") {
    auto facts = victim_facts();
    const std::vector<UniqueFd> files(1);
    Symbolizer symbolizer({{test_input("SYMBOLS_VICTIM"), "", 0}}, {.root = "", .files = files});
    CHECK(function_at(symbolizer, facts["caller"]).empty());
    REQUIRE(symbolizer.notes().size() == 1);
    CHECK(contains(symbolizer.notes()[0], "gone or was replaced"));
}

TEST_CASE("damaged programs give wrong names or none, and no crash") {
    std::string whole = file_content(test_input("SYMBOLS_VICTIM"));
    TemporaryDirectory dir;
    std::string path = dir.path("damaged");
    std::size_t usable = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        std::mt19937 random(seed);
        std::string damaged = whole;
        if (seed % 8 == 0) damaged.resize(random() % damaged.size());
        // Headers are small and decide most, so every second seed changes only them.
        std::size_t headers = seed % 2 == 0 ? 1024 : damaged.size();
        for (auto left = 1 + random() % 16; left > 0 && !damaged.empty(); --left) {
            std::size_t at = random() % std::min(headers, damaged.size());
            damaged[seed % 4 < 2 ? at : damaged.size() - 1 - at] = static_cast<char>(random());
        }
        write_file(path, damaged);
        Symbolizer symbolizer({{path, "", 0}});
        ask_everywhere(symbolizer, 0x6000);
        ask_for_positions(path, 0x6000);
        usable += symbolizer.notes().empty();
    }
    CHECK(usable > 20);
    CHECK(usable < 380);
}

TEST_CASE("code of a just-in-time compiler has the names of its perf map") {
    TemporaryDirectory dir;
    write_file(dir.path("map"), "7f0000001000 20 jit::loop\n7f0000001020 10 other name\n");
    const std::array map = {UniqueFd(::open(dir.path("map").c_str(), O_RDONLY | O_CLOEXEC))};
    Symbolizer symbolizer({{"[anon]", "", 0}}, {.perf_maps = map});
    CHECK(symbolizer.symbol({0, 0x7f000000101f}).function == "jit::loop");
    CHECK(symbolizer.symbol({0, 0x7f0000001020}).function == "other name");
    CHECK(symbolizer.symbol({0, 0x7f0000001030}).function.empty());
    CHECK(symbolizer.notes().empty());
}

TEST_CASE("the kernel's own code in the program has its names") {
    auto image = vdso_image();
    REQUIRE(image);
    auto file = ElfFile::open(fmt::format("/proc/self/fd/{}", image->get()));
    REQUIRE(file);
    auto text = (*file)->section(".text");
    REQUIRE(text);
    Symbolizer symbolizer({{"[vdso]", "", 0}});
    std::string found;
    for (std::uint64_t at = 0; at < text->size_bytes; at += 16)
        found += function_at(symbolizer, text->address + at) + " ";
    CHECK_MESSAGE(contains(found, "clock_gettime"), found);
}

TEST_CASE("a perf map's later entries take the place of older ones") {
    auto functions = parse_perf_map(
        "1000 100 old\nnonsense\n1040 20 new\n0 0 empty\nffffffffffffffff 10 wraps\n10f0 20 "
        "last\n");
    FunctionTable table(std::move(functions), {});
    CHECK(table.find(0x1000)->name == "old");
    CHECK(table.find(0x1040)->name == "new");
    CHECK(table.find(0x1060)->name == "old");
    CHECK(table.find(0x10f0)->name == "last");
    CHECK(table.find(0x1110) == nullptr);
    CHECK(table.find(0xfff) == nullptr);
}

TEST_CASE("a long name in a perf map is kept once, however many entries cut it") {
    std::string text = "0 10000000 " + std::string(1'000'000, 'n') + "\n";
    for (int i = 1; i < 20'000; ++i) text += fmt::format("{:x} 8 short\n", 16 * i);
    const FunctionTable table(parse_perf_map(text), {});
    CHECK(table.find(0x10)->name == "short");
    CHECK(table.find(0x18)->name.size() == 1'000'000);
}

TEST_CASE("names are demangled, and what is no name is left alone") {
    CHECK(demangle("_ZN2ns1fEi") == "ns::f(int)");
    CHECK(demangle("_ZN2ns1fEi@plt") == "ns::f(int)@plt");
    CHECK(demangle("_ZN4core3fmt5write17h0123456789abcdefE") == "core::fmt::write");
    CHECK(demangle("main") == "main");
    CHECK(demangle("_Znonsense") == "_Znonsense");
    std::string endless = "_Z" + std::string(100'000, 'P') + "i";
    CHECK(demangle(endless) == endless);
}

TEST_CASE("names of both schemes of Rust and of D are demangled") {
    CHECK(demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
                   "3bar17h930b740aa94f1d3aE") == "<Test + 'static as foo::Bar<Test>>::bar");
    CHECK(demangle("_RNvC6_123foo3bar") == "123foo::bar");
    CHECK(demangle("_RNvC6_123foo3bar.llvm.9D1C9369") == "123foo::bar");
    CHECK(demangle("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_") ==
          "cc::spawn::{closure#0}::{closure#0}");
    CHECK(demangle("_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_"
                   "ECs1iopQbuBiw2_3std") ==
          "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>");
    CHECK(demangle("_D3std5stdio7writelnFAyaZv") == "std.stdio.writeln(immutable(char)[])");
    CHECK(demangle("_Dmain") == "D main");
    CHECK(demangle("_Rnonsense") == "_Rnonsense");
    CHECK(demangle("_Delete") == "_Delete");
}

// A reference to a place behind the first, in Rust's newer scheme: base 62, one less.
std::string rust_reference(std::size_t place) {
    constexpr std::string_view digits =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string text = "_";
    for (std::size_t left = place - 1;; left /= digits.size()) {
        text.insert(0, 1, digits[left % digits.size()]);
        if (left < digits.size()) break;
    }
    return "B" + text;
}

TEST_CASE("a short name that stands for a text without end is left alone") {
    // p<A,A>, p<p<A,A>,p<A,A>>, ...: each parameter is twice as long as the one before.
    std::string in_cpp = "_Z1f1A1pIS_S_E";
    for (char c : std::string("123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
        const std::string before = std::string("S") + c + "_";
        in_cpp += "S0_I" + before + before + "E";
    }
    CHECK(demangle(in_cpp) == in_cpp);
    // ((i32, i32), (i32, i32)), ...: references (B) lead to the tuple before, by its place.
    std::string in_rust = "_RINvC1a1b";
    std::string tuple = "TllE";
    for (int i = 0; i < 40; ++i) {
        const std::string reference = rust_reference(in_rust.size() - std::strlen("_R"));
        in_rust += tuple;
        tuple = "T" + reference + reference + "E";
        if (i == 2)
            CHECK(demangle(in_rust + "E") ==
                  "a::b::<(i32, i32), ((i32, i32), (i32, i32)), (((i32, i32), (i32, i32)), "
                  "((i32, i32), (i32, i32)))>");
    }
    CHECK(demangle(in_rust + "E") == in_rust + "E");
    // An array by arrays of a type of 3,000 letters: references (Q) lead to the type before.
    std::string in_d = "_D1aF" + std::string(16, 'H') + "S3000" + std::string(3000, 'a');
    for (int i = 0; i < 16; ++i) in_d += "Qbhi";
    CHECK(demangle(in_d + "Zv") == in_d + "Zv");
}

TEST_CASE("a short name that would be read without end, and print nothing, is left alone") {
    // An empty pack is looked for in p<p<...>, p<...>>.
    std::string in_cpp = "_Z1fDp1qI1A1pIS0_S0_E";
    for (char c : std::string("123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
        const std::string before = std::string("S") + c + "_";
        in_cpp += "S1_I" + before + before + "E";
    }
    CHECK(demangle(in_cpp + "E") == in_cpp + "E");
    for (const char* in_rust : {"_RMINtC1a1bFGzzzzzzzzzz_EuEu", "_RMINtC1a1bDGzzz_EuEu"})
        CHECK(demangle(in_rust) == in_rust);
    CHECK(demangle("_ZN1AC1IJiEEEDpOT_") == "A::A<int>(int&&)");
}

}  // namespace shadowprof::symbolizer_test
