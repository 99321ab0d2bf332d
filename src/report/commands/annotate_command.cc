#include "report/commands/annotate_command.h"

#include <algorithm>

#include "base/text/suggest.h"
#include "base/text/text_format.h"
#include "report/annotate/annotator.h"
#include "report/lists/hot_scripts.h"
#include "report/lists/name_filter.h"
#include "report/profile_file/profile_reader.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

bool is_of_script(const AnnotateRequest& request, const Profile& profile, Annotator& annotator) {
    const NameFilter filter(request.function);
    return std::ranges::any_of(
        hot_scripts(profile, StackWeight::instructions), [&](const HotScriptFunction& function) {
            return filter.matches(profile.modules, annotator.symbols(), function.at);
        });
}

Error no_such_function(const AnnotateRequest& request, const Profile& profile,
                       Annotator& annotator) {
    if (is_of_script(request, profile, annotator))
        return {ErrorCode::usage, 0,
                fmt::format("'{}' is a function of a script, which has no instructions to show; "
                            "'shadowprof report --by=script' shows what was executed for it",
                            printable(request.function))};
    std::vector<std::string> names;
    for (const HotFunction& hot : annotator.functions().list)
        names.push_back(function_name(profile.modules, annotator.symbols(), hot.at));
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view near = nearest(request.function, known);
    return {ErrorCode::usage, 0,
            near.empty()
                ? fmt::format("no function '{}' executed in the samples; 'shadowprof report "
                              "--by=function' lists those that did",
                              printable(request.function))
                : fmt::format("no function '{}' executed in the samples; did you mean '{}'?",
                              printable(request.function), near)};
}

Result<std::vector<CodeLocation>> functions_meant(const AnnotateRequest& request,
                                                  const Profile& profile, Annotator& annotator) {
    std::vector<CodeLocation> meant;
    const NameFilter filter(request.function);
    const std::size_t most = request.top != 0           ? request.top
                             : request.function.empty() ? 1
                                                        : SIZE_MAX;
    for (const HotFunction& hot : annotator.functions().list)
        if (meant.size() < most && filter.matches(profile.modules, annotator.symbols(), hot.at))
            meant.push_back(hot.at);
    if (!meant.empty()) return meant;
    if (!request.function.empty()) return no_such_function(request, profile, annotator);
    return Error{ErrorCode::not_found, 0,
                 "the profile has neither stacks nor edges: nothing says which functions executed"};
}

}  // namespace

Result<void> annotate_functions(const AnnotateRequest& request, const TextOptions& options,
                                std::FILE* out) {
    TRY_ASSIGN(ProfileFile file, read_profile(request.path));
    Annotator annotator(file.profile, file.symbols);
    TRY_ASSIGN(const auto meant, functions_meant(request, file.profile, annotator));
    TextPage page(options, out);
    SourceFiles sources;
    FunctionListing listing(file.profile, annotator.symbols(), sources, page);
    for (const CodeLocation& at : meant) listing.print(annotator.annotate(at), request.listing);
    if (std::fflush(out) != 0 || std::ferror(out) != 0)
        return errno_error("cannot write the listing");
    return {};
}

}  // namespace shadowprof
