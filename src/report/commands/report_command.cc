#include "report/commands/report_command.h"

#include "report/findings/finder.h"
#include "report/findings/findings_text.h"
#include "report/profile_file/profile_reader.h"
#include "report/text/lists_json.h"
#include "report/text/summary.h"

namespace shadowprof {

Result<void> report_profile(const std::string& path, const ReportRequest& request,
                            const TextOptions& options, std::FILE* out,
                            const ReadListener& on_read) {
    TRY_ASSIGN(ProfileFile file, read_profile(path, on_read));
    ListRequest lists = request.lists;
    TRY_ASSIGN(lists.weight, choose_weight(file.profile, request.weight));
    if (lists.findings) {
        TextPage page(options, out);
        Annotator annotator(file.profile, file.symbols);
        print_findings(find_findings(file.profile, annotator), file.profile, annotator.symbols(),
                       lists.top, page);
    } else if (lists.by.empty()) {
        print_summary(file.profile, file.symbols, {lists.weight, request.is_verbose}, options, out);
    } else {
        TextPage page(options, out);
        print_lists(file.profile, file.symbols, lists, page);
    }
    if (std::fflush(out) != 0 || std::ferror(out) != 0)
        return errno_error("cannot write the report");
    return {};
}

Result<void> report_json(const std::string& path, const ReportRequest& request, int out,
                         const ReadListener& on_read) {
    TRY_ASSIGN(ProfileFile file, read_profile(path, on_read));
    ListRequest lists = request.lists;
    TRY_ASSIGN(lists.weight, choose_weight(file.profile, request.weight));
    StringSink sink;
    TRY(write_lists_json(file.profile, file.symbols, lists, sink));
    if (auto written = write_all(out, sink.text()); !written)
        return std::move(written).error().with_context("cannot write the report");
    return {};
}

}  // namespace shadowprof
