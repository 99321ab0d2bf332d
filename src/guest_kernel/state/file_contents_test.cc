#include "guest_kernel/state/file_contents.h"

#include <doctest/doctest.h>

#include <random>

namespace shadowprof::guest_file_contents_test {
namespace {

std::vector<std::byte> bytes_of(std::size_t size, unsigned value) {
    return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

// Reads as FileStore does: gaps come from the base file, whose byte n is 0x80 | n.
std::vector<std::byte> read_all(const FileContents& contents, std::uint64_t offset,
                                std::size_t size) {
    std::vector<std::byte> to(size, std::byte{0x55});
    for (const auto& gap : contents.read(offset, to))
        for (std::uint64_t i = 0; i < gap.size_bytes; ++i)
            to[gap.offset + i - offset] = static_cast<std::byte>(0x80 | ((gap.offset + i) & 0x7f));
    return to;
}

}  // namespace

TEST_CASE("what was written is read back over the base file") {
    FileContents contents(100);
    contents.write(10, bytes_of(5, 1));
    CHECK(contents.size_bytes() == 100);
    std::vector<std::byte> to(20);
    auto gaps = contents.read(5, to);
    REQUIRE(gaps.size() == 2);
    CHECK(gaps[0] == FileContents::Range{5, 5});
    CHECK(gaps[1] == FileContents::Range{15, 10});
    CHECK(to[5] == std::byte{1});
}

TEST_CASE("bytes that a truncation cut off do not come back") {
    FileContents contents(100);
    contents.write(90, bytes_of(20, 1));
    contents.resize(50);
    contents.resize(120);
    std::vector<std::byte> to(70);
    CHECK(contents.read(50, to).empty());
    CHECK(to == bytes_of(70, 0));
    CHECK(contents.stored_bytes() == 0);
}

TEST_CASE("random writes, truncations and reads agree with a plain array") {
    std::mt19937 random(1);
    auto pick = [&](std::size_t below) { return random() % below; };
    for (int round = 0; round < 200; ++round) {
        FileContents contents(64);
        std::vector<std::byte> model;
        for (unsigned i = 0; i < 64; ++i) model.push_back(static_cast<std::byte>(0x80 | i));
        for (unsigned step = 1; step < 60; ++step) {
            if (pick(8) == 0) {
                std::size_t size = pick(160);
                contents.resize(size);
                model.resize(size);
            } else {
                std::size_t offset = pick(150), size = pick(40);
                contents.write(offset, bytes_of(size, step));
                if (size > 0 && model.size() < offset + size) model.resize(offset + size);
                for (std::size_t i = 0; i < size; ++i)
                    model[offset + i] = static_cast<std::byte>(step);
            }
            REQUIRE(contents.size_bytes() == model.size());
            REQUIRE(read_all(contents, 0, model.size()) == model);
            std::size_t from = pick(model.size() + 1), size = pick(model.size() - from + 1);
            auto first = model.begin() + static_cast<std::ptrdiff_t>(from);
            REQUIRE(read_all(contents, from, size) ==
                    std::vector(first, first + static_cast<std::ptrdiff_t>(size)));
        }
    }
}

TEST_CASE("stored bytes count what is kept, not what was written") {
    FileContents contents(0);
    for (int i = 0; i < 10; ++i) contents.write(0, bytes_of(100, 1));
    contents.write(200, bytes_of(50, 1));
    contents.write(150, bytes_of(75, 1));
    CHECK(contents.stored_bytes() == 200);
    CHECK(contents.size_bytes() == 250);
}

}  // namespace shadowprof::guest_file_contents_test
