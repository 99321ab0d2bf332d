#include "report/symbols/function_tables.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "report/symbols/elf/vdso_image.h"

namespace shadowprof::function_tables_test {

TEST_CASE("names stay where they are, whatever is added and wherever the store goes") {
    NameStore store;
    const std::string large(200'000, 'x');
    std::vector<std::pair<std::string_view, std::string>> names;
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = i % 5'000 == 7 ? large : fmt::format("function_{}", i);
        names.emplace_back(store.add(name), name);
    }
    CHECK(store.add("").empty());
    const NameStore moved = std::move(store);
    for (const auto& [view, name] : names) CHECK(view == name);
}

TEST_CASE("a file's functions are read once, until it changes") {
    auto image = vdso_image();
    REQUIRE(image);
    const int fd = image->get();
    FunctionTables tables;
    std::string name;
    const auto table_now = [&](int descriptor) {
        const auto file = ElfFile::open(fmt::format("/proc/self/fd/{}", descriptor));
        REQUIRE(file);
        return tables.of(**file);
    };
    const auto first = table_now(fd);
    first->for_each_piece([&](std::uint64_t, std::uint64_t, const FunctionRange& function) {
        if (function.name.ends_with("clock_gettime")) name = function.name;
    });
    CHECK(!name.empty());  // though the file that it was read from is closed
    CHECK(table_now(fd) == first);
    const UniqueFd other(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    CHECK(table_now(other.get()) == first);

    const char nothing = 0;
    const auto end = ::lseek(fd, 0, SEEK_END);
    REQUIRE(::pwrite(fd, &nothing, 1, end) == 1);
    CHECK(table_now(fd) != first);
}

TEST_CASE("a file that was prepared is opened once, and not if it has changed since") {
    const char* victim = std::getenv("SYMBOLS_VICTIM");
    REQUIRE(victim != nullptr);
    const std::string copy = fmt::format("{}.prepared.{}", victim, ::getpid());
    std::filesystem::copy_file(victim, copy);
    FunctionTables tables;
    const auto prepare = [&] {
        auto file = ElfFile::open(copy);
        REQUIRE(file);
        const ElfFile* const opened = file->get();
        tables.prepare(std::move(*file));
        return opened;
    };
    const ElfFile* const prepared = prepare();
    auto first = tables.open(copy), second = tables.open(copy);
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->get() == prepared);
    CHECK(second->get() != prepared);
    CHECK((*first)->debug_information().dwarf != nullptr);
    CHECK((*second)->debug_information().dwarf != nullptr);

    const ElfFile* const old = prepare();
    std::filesystem::resize_file(copy, std::filesystem::file_size(copy) + 1);
    auto changed = tables.open(copy);
    REQUIRE(changed);
    CHECK(changed->get() != old);
    // One that nobody asks for ends with the tables.
    static_cast<void>(prepare());
    std::filesystem::remove(copy);
    CHECK(!tables.open(copy).has_value());
}

}  // namespace shadowprof::function_tables_test
