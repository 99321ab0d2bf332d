#include "report/compression/compression.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "report/compression/gzip.h"

namespace shadowprof::compression_test {
namespace {

std::vector<Compression> supported() {
    std::vector<Compression> list;
    for (const Compression compression : {Compression::gzip, Compression::zstd})
        if (check_supported(compression)) list.push_back(compression);
    return list;
}

std::string text_of(std::size_t bytes) {
    std::string text;
    for (std::uint32_t x = 1; text.size() < bytes; x = x * 1664525 + 1013904223)
        text += std::to_string(x >> (x & 31));
    return text;
}

std::string compressed(Compression compression, std::string_view text) {
    StringSink sink;
    const auto compressor = make_compressor(compression, sink);
    REQUIRE(compressor);
    const auto half = text.size() / 2;
    REQUIRE((*compressor)->write(text.substr(0, half)));
    REQUIRE((*compressor)->write(text.substr(half)));
    REQUIRE((*compressor)->finish());
    return sink.text();
}

// Gives `data` in parts. Returns nothing if it is damaged or not complete.
std::optional<std::string> decompressed(Compression compression, std::string_view data,
                                        std::size_t part) {
    const auto decompressor = make_decompressor(compression);
    REQUIRE(decompressor);
    std::string text;
    std::array<char, 1000> out;
    for (std::size_t given = 0;;) {
        const auto done = (*decompressor)->decompress(data.substr(0, given), out);
        if (!done) return std::nullopt;
        text.append(out.data(), done->made);
        data.remove_prefix(done->taken);
        given -= done->taken;
        if (done->made != 0 || done->taken != 0) continue;
        if (given == data.size()) break;
        given += std::min(part, data.size() - given);
    }
    return (*decompressor)->is_complete() ? std::optional(text) : std::nullopt;
}

}  // namespace

TEST_CASE("names and first bytes tell how a file is compressed") {
    CHECK(compression_by_name("a.json.gz") == Compression::gzip);
    CHECK(compression_by_name("a.json.zst") == Compression::zstd);
    CHECK(compression_by_name("a.gz.json") == Compression::none);
    CHECK(compression_by_magic("{\"a\"") == Compression::none);
    CHECK(compression_by_magic("") == Compression::none);
    for (const Compression compression : supported()) {
        const std::string data = compressed(compression, "text");
        CHECK(compression_by_magic(data) == compression);
        CHECK(compression_by_magic(data.substr(0, compression_magic_bytes)) == compression);
    }
}

TEST_CASE("what was compressed comes back, in parts of any size") {
    for (const Compression compression : supported())
        for (const std::size_t bytes : {0u, 1u, 999u, 1000u, 1'000'000u}) {
            const std::string text = text_of(bytes);
            const std::string data = compressed(compression, text);
            CHECK((decompressed(compression, data, 100'000) == text));
            if (bytes < 10'000) CHECK((decompressed(compression, data, 1) == text));
        }
}

TEST_CASE("files that were put behind each other are one") {
    for (const Compression compression : supported()) {
        const std::string data = compressed(compression, "one ") + compressed(compression, "two");
        CHECK((decompressed(compression, data, 7) == "one two"));
    }
}

TEST_CASE("data that was cut short is never complete") {
    for (const Compression compression : supported()) {
        const std::string data = compressed(compression, text_of(2000));
        for (std::size_t length = 0; length < data.size(); ++length)
            CHECK_FALSE(decompressed(compression, data.substr(0, length), 100).has_value());
    }
}

TEST_CASE("damaged data is refused or decompressed to something, without harm") {
    for (const Compression compression : supported()) {
        const std::string data = compressed(compression, text_of(2000));
        for (std::size_t at = 0; at < data.size(); ++at)
            for (const int bit : {0, 3, 7}) {
                std::string damaged = data;
                damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
                (void)decompressed(compression, damaged, 100);
            }
    }
}

TEST_CASE("gzip checks its sum") {
    std::string data = *gzipped(text_of(2000));
    data[data.size() - 6] = static_cast<char>(data[data.size() - 6] ^ 1);
    CHECK_FALSE(decompressed(Compression::gzip, data, 100).has_value());
}

}  // namespace shadowprof::compression_test
