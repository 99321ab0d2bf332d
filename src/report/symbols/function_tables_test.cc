#include "report/symbols/function_tables.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

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

}  // namespace shadowprof::function_tables_test
