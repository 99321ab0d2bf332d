#include "report/report_command.h"

#include "report/profile_reader.h"

namespace shadowprof {

Result<void> report_profile(const std::string& path, const SummaryOptions& options,
                            std::FILE* out) {
    TRY_ASSIGN(ProfileFile file, read_profile(path));
    print_summary(file.profile, file.symbols, options, out);
    if (std::fflush(out) != 0 || std::ferror(out) != 0)
        return errno_error("cannot write the report");
    return {};
}

}  // namespace shadowprof
