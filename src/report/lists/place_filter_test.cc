#include "report/lists/place_filter.h"

#include <doctest/doctest.h>

namespace shadowprof::place_filter_test {

TEST_CASE("libraries in the system's folders are no code of the program's own") {
    for (const char* path :
         {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2",
          "/usr/lib/libm.so (deleted)",
          "/usr/lib/python3/dist-packages/array.cpython-311-x86_64-linux-gnu.so", "[vdso]"})
        CHECK_MESSAGE(is_system_library(path), path);
    for (const char* path : {"/usr/bin/perl", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "[anon]",
                             "/opt/app/lib/libapp.so.1", "/home/me/libc.so.6", ""})
        CHECK_FALSE_MESSAGE(is_system_library(path), path);
}

TEST_CASE("places are chosen by file, by function, and by whose code it is") {
    const std::vector<Module> modules = {
        {"/opt/app", "", 0}, {"/usr/lib/libc.so.6", "", 0}, {"[anon]", "", 0}};
    RecordedSymbols symbols;
    for (std::uint32_t module = 0; module < modules.size(); ++module)
        symbols.add({module, 16}, {.function = "f", .function_start = 16}, "");
    const auto chosen = [&](const PlaceRequest& request) {
        const PlaceFilter filter(request, modules);
        std::string text;
        for (std::uint32_t module = 0; module < 4; ++module)
            text += filter.matches(symbols, {module, 16}) ? '+' : '-';
        return text;
    };
    CHECK(chosen({}) == "+++-");
    CHECK(chosen({.module = "libc.so.6"}) == "-+--");
    CHECK(chosen({.module = "libc*"}) == "-+--");
    CHECK(chosen({.module = "/opt/*"}) == "+---");
    CHECK(chosen({.module = "[jit]"}) == "--+-");
    CHECK(chosen({.module = "[anon]"}) == "--+-");
    CHECK(chosen({.own_only = true}) == "+-+-");
    CHECK(chosen({.function = "f", .module = "app", .own_only = true}) == "+---");
    CHECK(chosen({.function = "g"}) == "----");
}

}  // namespace shadowprof::place_filter_test
