#include "report/compression/zstd.h"

#ifdef SHADOWPROF_HAS_ZSTD
#include <zstd.h>

#include <array>
#endif

namespace shadowprof {

#ifdef SHADOWPROF_HAS_ZSTD

namespace {

template <auto Free>
struct FreeBy {
    void operator()(auto* context) const { Free(context); }
};

class ZstdCompressor final : public Compressor {
  public:
    explicit ZstdCompressor(ByteSink& sink) : sink_(sink), context_(ZSTD_createCCtx()) {}

    bool is_ready() const { return context_ != nullptr; }

    Result<void> write(std::string_view bytes) override {
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        while (in.pos != in.size) TRY(compress(in, ZSTD_e_continue));
        return {};
    }
    Result<void> finish() override {
        ZSTD_inBuffer in{};
        do TRY(compress(in, ZSTD_e_end));
        while (left_ != 0);
        return {};
    }

  private:
    Result<void> compress(ZSTD_inBuffer& in, ZSTD_EndDirective end) {
        std::array<char, 1 << 16> buffer;
        ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
        left_ = ZSTD_compressStream2(context_.get(), &out, &in, end);
        if (ZSTD_isError(left_) != 0)
            return Error{ErrorCode::system, 0,
                         fmt::format("zstd: cannot compress: {}", ZSTD_getErrorName(left_))};
        return sink_.write({buffer.data(), out.pos});
    }

    ByteSink& sink_;
    std::unique_ptr<ZSTD_CCtx, FreeBy<ZSTD_freeCCtx>> context_;
    std::size_t left_ = 0;  // bytes that are not written yet, at least
};

class ZstdDecompressor final : public Decompressor {
  public:
    ZstdDecompressor() : context_(ZSTD_createDCtx()) {}

    bool is_ready() const { return context_ != nullptr; }
    bool is_complete() const override { return is_complete_; }

    // libzstd refuses frames that need more than 128 MiB of memory.
    Result<Progress> decompress(std::string_view bytes, std::span<char> room) override {
        if (is_complete_ && bytes.empty()) return Progress{};
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        ZSTD_outBuffer out{room.data(), room.size(), 0};
        const std::size_t left = ZSTD_decompressStream(context_.get(), &out, &in);
        if (ZSTD_isError(left) != 0)
            return Error{ErrorCode::invalid, 0,
                         fmt::format("its zstd data is damaged: {}", ZSTD_getErrorName(left))};
        is_complete_ = left == 0;
        return Progress{in.pos, out.pos};
    }

  private:
    std::unique_ptr<ZSTD_DCtx, FreeBy<ZSTD_freeDCtx>> context_;
    bool is_complete_ = false;
};

template <typename Base, typename Codec>
Result<std::unique_ptr<Base>> if_made(std::unique_ptr<Codec> codec) {
    if (!codec->is_ready()) return Error{ErrorCode::system, 0, "zstd: there is too little memory"};
    return std::unique_ptr<Base>(std::move(codec));
}

}  // namespace

Result<void> zstd_support() {
    return {};
}

Result<std::unique_ptr<Compressor>> zstd_compressor(ByteSink& sink) {
    return if_made<Compressor>(std::make_unique<ZstdCompressor>(sink));
}

Result<std::unique_ptr<Decompressor>> zstd_decompressor() {
    return if_made<Decompressor>(std::make_unique<ZstdDecompressor>());
}

#else

Result<void> zstd_support() {
    return Error{ErrorCode::unsupported, 0,
                 "this shadowprof was built without zstd; use .json.gz, or build it with "
                 "libzstd-dev installed"};
}

Result<std::unique_ptr<Compressor>> zstd_compressor(ByteSink&) {
    return zstd_support().error();
}

Result<std::unique_ptr<Decompressor>> zstd_decompressor() {
    return zstd_support().error();
}

#endif

}  // namespace shadowprof
