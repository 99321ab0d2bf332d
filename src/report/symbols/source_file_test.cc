#include "report/symbols/source_file.h"

#include <sys/stat.h>

#include "report/testdata/files.h"

namespace shadowprof::source_file_test {

TEST_CASE("Lines come without their ends, whatever these are") {
    TemporaryDirectory directory;
    const auto path = directory.path("a.c");
    write_file(path, "one\r\ntwo\n\nfour \xff");
    SourceFiles files;
    const auto lines = files.lines(path);
    REQUIRE(lines);
    REQUIRE(lines->size() == 4);
    CHECK((*lines)[0] == "one");
    CHECK((*lines)[1] == "two");
    CHECK((*lines)[2].empty());
    CHECK((*lines)[3] == "four \xff");
    CHECK(files.line(path, 2) == "two");
    CHECK(!files.line(path, 0));
    CHECK(!files.line(path, 5));
}

TEST_CASE("An end of the last line begins no line") {
    TemporaryDirectory directory;
    write_file(directory.path("a.c"), "one\n");
    write_file(directory.path("empty.c"), "");
    SourceFiles files;
    CHECK(files.lines(directory.path("a.c"))->size() == 1);
    CHECK(files.lines(directory.path("empty.c"))->empty());
}

TEST_CASE("What is no regular file of text is not read, and holds nobody up") {
    TemporaryDirectory directory;
    REQUIRE(::mkfifo(directory.path("pipe").c_str(), 0600) == 0);
    write_file(directory.path("binary"), std::string("a\0b\n", 4));
    SourceFiles files;
    for (const char* name : {"pipe", "binary", "missing", "."})
        CHECK_MESSAGE(!files.lines(directory.path(name)), name);
    CHECK(!files.lines("/dev/zero"));
    CHECK(!files.lines("-"));
    CHECK(!files.lines("relative.c"));
    CHECK(!files.lines(""));
}

TEST_CASE("Files that are too large are not read") {
    TemporaryDirectory directory;
    write_file(directory.path("large.c"), std::string(SourceFiles::max_file_bytes + 1, '\n'));
    SourceFiles files;
    CHECK(!files.lines(directory.path("large.c")));
}

TEST_CASE("A file is read once") {
    TemporaryDirectory directory;
    const auto path = directory.path("a.c");
    write_file(path, "before\n");
    SourceFiles files;
    CHECK(files.line(path, 1) == "before");
    write_file(path, "behind\n");
    CHECK(files.line(path, 1) == "before");
}

}  // namespace shadowprof::source_file_test
