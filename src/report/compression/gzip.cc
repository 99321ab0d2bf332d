#include "report/compression/gzip.h"

#define ZLIB_CONST  // declares the input as const
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace shadowprof {
namespace {

constexpr int window_bits = 15, gzip_header = 16;
constexpr int memory_level = 8;

// zlib counts in 32 bits.
uInt part_of(std::size_t bytes) {
    return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

void set_input(z_stream& stream, std::string_view in) {
    stream.next_in = reinterpret_cast<const Bytef*>(in.data());
    stream.avail_in = part_of(in.size());
}

class GzipCompressor final : public Compressor {
  public:
    explicit GzipCompressor(ByteSink& sink)
        : sink_(sink),
          is_ready_(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                                 window_bits + gzip_header, memory_level,
                                 Z_DEFAULT_STRATEGY) == Z_OK) {}
    GzipCompressor(const GzipCompressor&) = delete;
    GzipCompressor& operator=(const GzipCompressor&) = delete;
    ~GzipCompressor() override {
        if (is_ready_) deflateEnd(&stream_);
    }

    bool is_ready() const { return is_ready_; }

    Result<void> write(std::string_view bytes) override {
        while (!bytes.empty()) {
            set_input(stream_, bytes);
            const std::size_t part = stream_.avail_in;
            TRY(deflate_some(Z_NO_FLUSH));
            bytes.remove_prefix(part - stream_.avail_in);
        }
        return {};
    }
    Result<void> finish() override {
        set_input(stream_, {});
        while (!is_finished_) TRY(deflate_some(Z_FINISH));
        return {};
    }

  private:
    Result<void> deflate_some(int flush) {
        std::array<Bytef, 1 << 16> buffer;
        stream_.next_out = buffer.data();
        stream_.avail_out = static_cast<uInt>(buffer.size());
        const int state = deflate(&stream_, flush);
        if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
            return Error{ErrorCode::system, 0, "zlib: cannot compress"};
        is_finished_ = state == Z_STREAM_END;
        return sink_.write(
            {reinterpret_cast<const char*>(buffer.data()), buffer.size() - stream_.avail_out});
    }

    ByteSink& sink_;
    z_stream stream_ = {};
    const bool is_ready_;
    bool is_finished_ = false;
};

class GzipDecompressor final : public Decompressor {
  public:
    GzipDecompressor() : is_ready_(inflateInit2(&stream_, window_bits + gzip_header) == Z_OK) {}
    GzipDecompressor(const GzipDecompressor&) = delete;
    GzipDecompressor& operator=(const GzipDecompressor&) = delete;
    ~GzipDecompressor() override {
        if (is_ready_) inflateEnd(&stream_);
    }

    bool is_ready() const { return is_ready_; }
    bool is_complete() const override { return is_complete_; }

    Result<Progress> decompress(std::string_view in, std::span<char> out) override {
        // Another member begins.
        if (is_complete_ && !in.empty()) {
            inflateReset(&stream_);
            is_complete_ = false;
        }
        set_input(stream_, in);
        const std::size_t offered = stream_.avail_in, room = part_of(out.size());
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(room);
        const int state = inflate(&stream_, Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
            return Error{ErrorCode::invalid, 0, "its gzip data is damaged"};
        is_complete_ |= state == Z_STREAM_END;
        return Progress{offered - stream_.avail_in, room - stream_.avail_out};
    }

  private:
    z_stream stream_ = {};
    const bool is_ready_;
    bool is_complete_ = false;
};

template <typename Base, typename Codec>
Result<std::unique_ptr<Base>> if_ready(std::unique_ptr<Codec> codec) {
    if (!codec->is_ready()) return Error{ErrorCode::system, 0, "zlib: there is too little memory"};
    return std::unique_ptr<Base>(std::move(codec));
}

}  // namespace

Result<std::unique_ptr<Compressor>> gzip_compressor(ByteSink& sink) {
    return if_ready<Compressor>(std::make_unique<GzipCompressor>(sink));
}

Result<std::unique_ptr<Decompressor>> gzip_decompressor() {
    return if_ready<Decompressor>(std::make_unique<GzipDecompressor>());
}

Result<std::string> gzipped(std::string_view text) {
    StringSink sink;
    TRY_ASSIGN(const auto compressor, gzip_compressor(sink));
    TRY(compressor->write(text));
    TRY(compressor->finish());
    return sink.text();
}

}  // namespace shadowprof
