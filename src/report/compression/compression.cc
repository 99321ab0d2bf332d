#include "report/compression/compression.h"

#include <algorithm>
#include <array>

#include "report/compression/gzip.h"
#include "report/compression/zstd.h"

namespace shadowprof {
namespace {

using namespace std::string_view_literals;

struct CompressionRow {
    std::string_view name;
    std::string_view suffix;    // of a file's name
    std::string_view magic;     // the first bytes of a file
    Result<void> (*support)();  // null: it is always there
    Result<std::unique_ptr<Compressor>> (*compressor)(ByteSink& sink);
    Result<std::unique_ptr<Decompressor>> (*decompressor)();
};
// By Compression, without `none`.
constexpr std::array compression_rows{
    CompressionRow{"gzip", ".gz"sv, "\x1f\x8b"sv, nullptr, gzip_compressor, gzip_decompressor},
    CompressionRow{"zstd", ".zst"sv, "\x28\xb5\x2f\xfd"sv, zstd_support, zstd_compressor,
                   zstd_decompressor}};

const CompressionRow& row_of(Compression compression) {
    return compression_rows.at(static_cast<std::size_t>(compression) - 1);
}

Compression find_row(auto matches) {
    const auto row = std::ranges::find_if(compression_rows, matches);
    return row == compression_rows.end()
               ? Compression::none
               : static_cast<Compression>(row - compression_rows.begin() + 1);
}

}  // namespace

Compression compression_by_name(std::string_view file) {
    return find_row([&](const CompressionRow& row) { return file.ends_with(row.suffix); });
}

Compression compression_by_magic(std::string_view first_bytes) {
    return find_row([&](const CompressionRow& row) { return first_bytes.starts_with(row.magic); });
}

std::string_view name(Compression compression) {
    return compression == Compression::none ? "plain text" : row_of(compression).name;
}

Result<void> check_supported(Compression compression) {
    if (compression == Compression::none) return {};
    const auto support = row_of(compression).support;
    return support == nullptr ? Result<void>{} : support();
}

Result<std::unique_ptr<Compressor>> make_compressor(Compression compression, ByteSink& sink) {
    return row_of(compression).compressor(sink);
}

Result<std::unique_ptr<Decompressor>> make_decompressor(Compression compression) {
    return row_of(compression).decompressor();
}

}  // namespace shadowprof
