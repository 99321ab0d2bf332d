#include "report/profile_file/byte_source.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <istream>
#include <iterator>

#include "base/files/byte_sink.h"
#include "report/compression/gzip.h"

namespace shadowprof::byte_source_test {
namespace {

UniqueFd file_with(std::string_view bytes) {
    UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
    REQUIRE(fd);
    REQUIRE(write_all(fd.get(), bytes));
    REQUIRE(::lseek(fd.get(), 0, SEEK_SET) == 0);
    return fd;
}

struct Read {
    std::string text;
    std::string error;
};

Read read(std::string_view bytes, std::uint64_t max_decompressed = max_decompressed_bytes) {
    ByteSource source(file_with(bytes), max_decompressed);
    std::istream stream(&source);
    Read result{std::string(std::istreambuf_iterator<char>(stream), {}), ""};
    if (source.error()) result.error = source.error()->message;
    CHECK(source.taken() == result.text.size());
    return result;
}

std::string long_text() {
    std::string text;
    for (int i = 0; text.size() < 300'000; ++i) text += std::to_string(i);
    return text;
}

}  // namespace

TEST_CASE("plain files come as they are, whatever their length") {
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("{}\n"), long_text()}) {
        CHECK(read(text).text == text);
        CHECK(read(text, 1).error == "");
    }
}

TEST_CASE("a compressed file is decompressed by its first bytes") {
    const std::string text = long_text();
    const Read all = read(*gzipped(text));
    CHECK(all.text == text);
    CHECK(all.error == "");
}

TEST_CASE("a pipe may give the first bytes one by one") {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    UniqueFd from(ends[0]), to(ends[1]);
    const std::string data = *gzipped("text");
    ByteSource source(std::move(from));
    REQUIRE(write_all(to.get(), data));
    to.reset();
    std::istream stream(&source);
    CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == "text");
}

TEST_CASE("a file that decompresses to very much is refused") {
    const std::string bomb = *gzipped(std::string(50'000'000, ' '));
    CHECK(bomb.size() < 100'000);
    const Read some = read(bomb, 1 << 20);
    CHECK(some.error ==
          "decompressed it has more than 1 MiB; if that is right, decompress it first");
    CHECK(some.text.size() <= 1 << 20);
}

TEST_CASE("compressed files that are cut short or damaged are refused") {
    const std::string data = *gzipped(long_text());
    CHECK(read(data.substr(0, data.size() - 1)).error == "its gzip data ends too early");
    CHECK(read(data.substr(0, 4)).error == "its gzip data ends too early");
    std::string damaged = data;
    damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
    CHECK_FALSE(read(damaged).error.empty());
    CHECK(read(data + "{}").error == "its gzip data is damaged");
}

}  // namespace shadowprof::byte_source_test
