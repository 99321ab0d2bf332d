#include "report/profile_file/save_profile.h"

#include <limits>

#include "report/compression/compression.h"
#include "report/lists/methods.h"
#include "report/profile_file/file_size_limit.h"

namespace shadowprof {
namespace {

constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();

// Passes at most `max_bytes` on.
class LimitedSink final : public ByteSink {
  public:
    LimitedSink(ByteSink& sink, std::uint64_t max_bytes) : sink_(sink), left_(max_bytes) {}

    Result<void> write(std::string_view bytes) override {
        is_exceeded_ = is_exceeded_ || bytes.size() > left_;
        if (is_exceeded_) return Error{ErrorCode::unsupported, 0, "the profile is too large"};
        left_ -= bytes.size();
        return sink_.write(bytes);
    }
    bool is_exceeded() const { return is_exceeded_; }

  private:
    ByteSink& sink_;
    std::uint64_t left_;
    bool is_exceeded_ = false;
};

enum class Fits : bool { no, yes };

// Writes at most `max_bytes` of text. What does not fit is incomplete.
Result<Fits> write_within(const Profile& profile, SymbolSource& symbols, SafeOutput& output,
                          std::uint64_t max_bytes) {
    const auto write = [&](ByteSink& sink) -> Result<Fits> {
        LimitedSink limited(sink, max_bytes);
        auto written = write_profile(profile, symbols, limited);
        if (limited.is_exceeded()) return Fits::no;
        TRY(std::move(written));
        return Fits::yes;
    };
    const Compression compression = compression_by_name(output.name());
    if (compression == Compression::none) return write(output);
    TRY_ASSIGN(const auto compressor, make_compressor(compression, output));
    TRY_ASSIGN(const Fits fits, write(*compressor));
    if (fits == Fits::yes) TRY(compressor->finish());
    return fits;
}

}  // namespace

Result<void> check_profile_name(const std::string& name) {
    auto supported = check_supported(compression_by_name(name));
    if (supported) return {};
    return std::move(supported).error().with_context(fmt::format("cannot write '{}'", name));
}

// Most profiles fit. So a file is written first, and cut and written anew if it is too large. What
// cannot be written anew is measured first.
Result<std::string> save_profile(Profile& profile, SymbolSource& symbols, SafeOutput& output,
                                 std::uint64_t max_bytes) {
    TRY(check_profile_name(output.name()));
    if (profile.methods.empty()) profile.methods = derive_methods(profile, symbols);
    auto fits = Fits::no;
    if (output.is_file()) {
        TRY_ASSIGN(fits, write_within(profile, symbols, output, max_bytes));
        if (fits == Fits::no) output.restart();
    }
    if (fits == Fits::no) {
        keep_file_size(profile, symbols, max_bytes);
        TRY(write_within(profile, symbols, output, unlimited));
    }
    return output.commit(static_cast<pid_t>(profile.run.pid));
}

}  // namespace shadowprof
