#include "report/profile_file/rescued_profile.h"

#include <sys/random.h>

#include <cstdlib>

#include "base/files/safe_output.h"
#include "report/compression/compression.h"
#include "report/profile_file/save_profile.h"

namespace shadowprof {
namespace {

std::string_view ending(Compression compression) {
    switch (compression) {
        case Compression::none:
            return ".json";
        case Compression::gzip:
            return ".json.gz";
        case Compression::zstd:
            return ".json.zst";
    }
    return ".json";
}

Result<std::string> unforeseeable_name(std::string_view wanted) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return errno_error("getrandom");
    return fmt::format("shadowprof-{:016x}{}", number, ending(compression_by_name(wanted)));
}

// Percent signs in the folder's name would be taken for those of a pattern.
std::string escaped(std::string_view folder) {
    std::string pattern;
    for (const char c : folder) pattern.append(c == '%' ? 2 : 1, c);
    return pattern;
}

}  // namespace

std::vector<std::string> temporary_folders() {
    std::vector<std::string> folders = {"/tmp", "/var/tmp"};
    const char* chosen = std::getenv("TMPDIR");
    if (chosen != nullptr && *chosen != '\0') folders.insert(folders.begin(), chosen);
    return folders;
}

Result<std::string> rescue_profile(Profile& profile, SymbolSource& symbols, std::string_view wanted,
                                   std::uint64_t max_bytes, std::span<const std::string> folders) {
    const auto save_in = [&](const std::string& folder) -> Result<std::string> {
        TRY_ASSIGN(const std::string name, unforeseeable_name(wanted));
        TRY_ASSIGN(auto output, SafeOutput::open(escaped(folder) + '/' + name, NamedBy::command,
                                                 Readers::owner));
        return save_profile(profile, symbols, output, max_bytes);
    };
    Result<std::string> saved = Error{ErrorCode::not_found, 0, "there is no folder"};
    for (const std::string& folder : folders)
        if (saved = save_in(folder); saved) break;
    return saved;
}

}  // namespace shadowprof
