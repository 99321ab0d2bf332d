#include "report/export/gzip.h"

#define ZLIB_CONST  // declares the input as const
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace shadowprof {
namespace {

struct Deflate {
    z_stream stream = {};
    bool ready = false;

    Deflate() {
        constexpr int window_bits = 15, gzip_header = 16, memory_level = 8;
        ready = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits + gzip_header,
                             memory_level, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    Deflate(const Deflate&) = delete;
    Deflate& operator=(const Deflate&) = delete;
    ~Deflate() {
        if (ready) deflateEnd(&stream);
    }
};

}  // namespace

Result<std::string> gzipped(std::string_view text) {
    Deflate deflater;
    if (!deflater.ready) return Error{ErrorCode::system, 0, "zlib: cannot begin to compress"};
    z_stream& stream = deflater.stream;
    std::string out;
    std::array<Bytef, 1 << 16> buffer;
    for (int state = Z_OK; state != Z_STREAM_END;) {
        const auto part =
            static_cast<uInt>(std::min<std::size_t>(text.size(), std::numeric_limits<uInt>::max()));
        stream.next_in = reinterpret_cast<const Bytef*>(text.data());
        stream.avail_in = part;
        stream.next_out = buffer.data();
        stream.avail_out = static_cast<uInt>(buffer.size());
        state = deflate(&stream, part == text.size() ? Z_FINISH : Z_NO_FLUSH);
        if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
            return Error{ErrorCode::system, 0, "zlib: cannot compress"};
        text.remove_prefix(part - stream.avail_in);
        out.append(reinterpret_cast<const char*>(buffer.data()), buffer.size() - stream.avail_out);
    }
    return out;
}

}  // namespace shadowprof
