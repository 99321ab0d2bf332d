#include "report/profile_file/save_profile.h"

#include "report/compression/compression.h"

namespace shadowprof {

Result<void> check_profile_name(const std::string& name) {
    auto supported = check_supported(compression_by_name(name));
    if (supported) return {};
    return std::move(supported).error().with_context(fmt::format("cannot write '{}'", name));
}

Result<std::string> save_profile(const Profile& profile, SymbolSource& symbols,
                                 SafeOutput& output) {
    TRY(check_profile_name(output.name()));
    const Compression compression = compression_by_name(output.name());
    if (compression == Compression::none) {
        TRY(write_profile(profile, symbols, output));
    } else {
        TRY_ASSIGN(const auto compressor, make_compressor(compression, output));
        TRY(write_profile(profile, symbols, *compressor));
        TRY(compressor->finish());
    }
    return output.commit(static_cast<pid_t>(profile.run.pid));
}

}  // namespace shadowprof
