#include "cli/options/callgrind_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text/text_format.h"
#include "cli/options/command_line.h"
#include "cli/options/option_table.h"
#include "cli/options/values.h"
#include "profile/kinds/cache/cache_parameters.h"

namespace shadowprof {
namespace {

using std::string_view;
using Rows = std::vector<OptionRow>;

// What callgrind's options of no effect here would do.
enum class Effect : std::uint8_t {
    none,    // on counts: they are about valgrind itself, its messages or its speed
    counts,  // what is counted, or how it is written
};
struct IgnoredOption {
    string_view name;
    Effect effect;
    string_view usual;  // the value that asks for what happens here
};
using enum Effect;
constexpr auto ignored_options = std::to_array<IgnoredOption>({
    {"--aspace-minaddr", none, ""},
    {"--avg-transtab-entry-size", none, ""},
    {"--child-silent-after-fork", none, ""},
    {"--compress-pos", none, ""},
    {"--default-suppressions", none, ""},
    {"--demangle", counts, "yes"},
    {"--error-exitcode", none, ""},
    {"--error-limit", none, ""},
    {"--error-markers", none, ""},
    {"--exit-on-first-error", none, ""},
    {"--fair-sched", none, ""},
    {"--gen-suppressions", none, ""},
    {"--keep-debuginfo", none, ""},
    {"--kernel-variant", none, ""},
    {"--main-stacksize", none, ""},
    {"--max-stackframe", none, ""},
    {"--max-threads", none, ""},
    {"--num-callers", none, ""},
    {"--num-transtab-sectors", none, ""},
    {"--read-inline-info", none, ""},
    {"--read-var-info", none, ""},
    {"--run-cxx-freeres", none, ""},
    {"--run-libc-freeres", none, ""},
    {"--show-below-main", none, ""},
    {"--show-emwarns", none, ""},
    {"--show-error-list", none, ""},
    {"--sigill-diagnostics", none, ""},
    {"--sim-hints", none, ""},
    {"--smc-check", none, ""},
    {"--soname-synonyms", none, ""},
    {"--suppressions", none, ""},
    {"--time-stamp", none, ""},
    {"--track-fds", none, ""},
    {"--valgrind-stacksize", none, ""},
    {"--vgdb", none, ""},
    {"--vgdb-error", none, ""},
    {"--vgdb-poll", none, ""},
    {"--vgdb-prefix", none, ""},
    {"--vgdb-stop-at", none, ""},
    {"--I1", counts, ""},
    {"--cacheuse", counts, "no"},
    {"--collect-bus", counts, "no"},
    {"--collect-systime", counts, "no"},
    {"--dump-after", counts, ""},
    {"--dump-before", counts, ""},
    {"--dump-every-bb", counts, "0"},
    {"--fn-skip", counts, ""},
    {"--separate-callers", counts, "0"},
    {"--separate-recs", counts, "1"},
    {"--separate-threads", counts, "no"},
    {"--simulate-hwpref", counts, "no"},
    {"--simulate-wb", counts, "no"},
    {"--skip-direct-rec", counts, "no"},
    {"--trace-children-skip", counts, ""},
    {"--trace-children-skip-by-arg", counts, ""},
    {"--xml", counts, "no"},
    {"--xml-fd", none, ""},
    {"--xml-file", none, ""},
    {"--zero-before", counts, ""},
});

// "--separate-callers2=main" is "--separate-callers".
const IgnoredOption* find_ignored(string_view word) {
    string_view name = word.substr(0, word.find('='));
    const auto find = [&] {
        return std::ranges::find(ignored_options, name, &IgnoredOption::name);
    };
    auto found = find();
    if (found == ignored_options.end()) {
        name = name.substr(0, name.find_last_not_of("0123456789") + 1);
        found = find();
    }
    return found == ignored_options.end() ? nullptr : &*found;
}

// Takes options without effect out of the words before the program, and warns of some.
std::vector<std::string> effective(std::span<const std::string> words,
                                   std::vector<std::string>& warnings) {
    std::vector<std::string> left;
    const auto program = std::ranges::find_if_not(words, looks_like_option);
    for (auto word = words.begin(); word != program; ++word) {
        const auto* ignored = *word == "--" ? nullptr : find_ignored(*word);
        if (ignored == nullptr) {
            left.push_back(*word);
            continue;
        }
        const auto equals = word->find('=');
        const auto value = equals == std::string::npos ? "" : word->substr(equals + 1);
        const bool is_usual = !ignored->usual.empty() && value == ignored->usual;
        if (ignored->effect == Effect::counts && !is_usual)
            warnings.push_back(fmt::format("{} has no effect here", printable(*word)));
    }
    left.insert(left.end(), program, words.end());
    return left;
}

OptionRow yes_no(const char* names, const char* help, bool& into) {
    return {.names = names,
            .value = "no|yes",
            .help = help,
            .words = {"no", "yes"},
            .choose = [&into](std::size_t choice) { into = choice == 1; }};
}

// "32768,8,64".
Result<CacheLevel> parse_cache(std::string name, string_view text) {
    CacheLevel level{.name = std::move(name)};
    const auto parts = split_list(text);
    bool known = parts && parts->size() == 3;
    for (std::size_t i = 0; known && i < 3; ++i) {
        const auto number = parse_u64((*parts)[i]);
        known = number && *number != 0;
        if (known)
            level.*std::array{&CacheLevel::size_bytes, &CacheLevel::ways,
                              &CacheLevel::line_bytes}[i] = *number;
    }
    if (known && is_possible(level)) return level;
    return Error{
        ErrorCode::usage, 0,
        "must be the size in bytes, the ways, and the bytes of a line, which is a power of "
        "two and of which with the ways the size is a multiple: 32768,8,64"};
}

// Replaces %q{NAME} by the value of the variable NAME. %p and %% are left to SafeOutput.
Result<std::string> with_variables(string_view pattern, const char* (*variable)(const char*)) {
    std::string text;
    while (true) {
        const auto at = pattern.find("%q{");
        text += pattern.substr(0, at);
        if (at == string_view::npos) return text;
        const auto end = pattern.find('}', at);
        if (end == string_view::npos)
            return Error{ErrorCode::usage, 0, "%q{ needs the name of a variable and }"};
        const std::string name(pattern.substr(at + 3, end - at - 3));
        const char* value = variable(name.c_str());
        if (value == nullptr)
            return Error{ErrorCode::usage, 0, fmt::format("the variable {} is not set", name)};
        for (const char c : string_view(value)) text.append(c == '%' ? 2 : 1, c);
        pattern.remove_prefix(end + 1);
    }
}

// What is parsed but is not of the request.
struct Given {
    std::optional<CacheLevel> first, last;
    bool caches = false, branches = false, version = false;
    bool instruments_at_start = true, collects_at_start = true;
};

Rows output_rows(CallgrindRequest& request, const char* (*variable)(const char*)) {
    const auto set_pattern = [variable](std::string& into) {
        return [&into, variable](string_view value) -> Result<void> {
            if (value.empty()) return Error{ErrorCode::usage, 0, "must be the name of a file"};
            TRY_ASSIGN(into, with_variables(value, variable));
            return {};
        };
    };
    return {
        {.names = "--callgrind-out-file",
         .value = "FILE",
         .help = "where to write the counts; %p is the id of the process, %q{NAME} the variable "
                 "NAME [callgrind.out.%p]",
         .set = set_pattern(request.output)},
        yes_no("--dump-instr", "counts of instructions, not only of lines [no]",
               request.details.instructions),
        yes_no("--dump-line", "lines of the source [yes]", request.details.lines),
        yes_no("--compress-strings", "number the names in the file [yes]",
               request.details.compresses_names),
        yes_no("--combine-dumps", "write what a program dumps to one file, in parts [no]",
               request.combines_parts),
        yes_no("--collect-jumps", "jumps between instructions or lines [no]",
               request.details.jumps),
        yes_no("--skip-plt", "charge the code of linkage tables (PLT) to those that call it [yes]",
               request.details.skips_linkage_tables),
        {.names = "--log-file",
         .value = "FILE",
         .help = "where to write messages and totals; %p and %q{NAME} as above",
         .set = set_pattern(request.log)},
        {.names = "--log-fd",
         .value = "N",
         .help = "the descriptor to write them to [2]",
         .set = [&](string_view value) -> Result<void> {
             TRY_ASSIGN(const auto number, parse_u64(value));
             if (number > 1'000'000)
                 return Error{ErrorCode::usage, 0,
                              "must be the number of an open file, at most 1000000"};
             request.log_descriptor = static_cast<int>(number);
             return {};
         }},
        {.names = "-q,--quiet",
         .help = "no messages and no totals",
         .set = set_flag(request.quiet)},
        {.names = "-v,--verbose",
         .help = "of no effect",
         .set = [](string_view) -> Result<void> { return {}; }},
    };
}

Rows counting_rows(CallgrindRequest& request, Given& given) {
    RunOptions& options = request.options;
    const auto set_cache = [](std::optional<CacheLevel>& into, const char* name) {
        return [&into, name](string_view value) -> Result<void> {
            TRY_ASSIGN(into, parse_cache(name, value));
            return {};
        };
    };
    return {
        yes_no("--instr-atstart", "count before CALLGRIND_START_INSTRUMENTATION [yes]",
               given.instruments_at_start),
        yes_no("--collect-atstart", "count before CALLGRIND_TOGGLE_COLLECT [yes]",
               given.collects_at_start),
        {.names = "--toggle-collect",
         .value = "FUNCTION",
         .help = "count only within functions of this name, which may have * and ? [everywhere]",
         .set = [&](auto value) { return add_counted_function(options.count_in, value); }},
        yes_no("--cache-sim", "data accesses, and which of them miss in modelled caches [no]",
               given.caches),
        yes_no("--branch-sim", "branches, and which of them a model mispredicts [no]",
               given.branches),
        {.names = "--D1",
         .value = "SIZE,WAYS,LINE",
         .help = "the first level of the modelled caches; implies --cache-sim [the host's]",
         .set = set_cache(given.first, "D1")},
        {.names = "--LL",
         .value = "SIZE,WAYS,LINE",
         .help = "the last level of the modelled caches; implies --cache-sim [the host's]",
         .set = set_cache(given.last, "LL")},
        yes_no("--trace-children", "also count in the programs that the program starts [no]",
               options.follow_forks),
    };
}

Rows rows_of(CallgrindRequest& request, Given& given, const char* (*variable)(const char*)) {
    Rows rows = output_rows(request, variable);
    for (OptionRow& row : counting_rows(request, given)) rows.push_back(std::move(row));
    rows.push_back({.names = "--tool",
                    .value = "NAME",
                    .help = "callgrind is the only one [callgrind]",
                    .words = {"callgrind"},
                    .choose = [](std::size_t) {}});
    rows.push_back(
        {.names = "--version", .help = "show the version", .set = set_flag(given.version)});
    return rows;
}

// Two levels, as callgrind has them. Without both, the caches are the host's.
Result<void> settle_caches(const Given& given, RunOptions& options) {
    if (!given.first && !given.last) return {};
    if (!given.first || !given.last)
        return Error{ErrorCode::usage, 0, "--D1 and --LL must be given together"};
    if (given.first->line_bytes != given.last->line_bytes)
        return Error{ErrorCode::usage, 0, "--D1 and --LL must have lines of the same size"};
    options.caches = CacheModel{.source = "options", .levels = {*given.first, *given.last}};
    return {};
}

Result<void> settle(const Given& given, RunOptions& options) {
    options.mode = SamplingMode::exact;
    options.counts_at_start = given.instruments_at_start;
    // As in callgrind, functions to count in take the place of the other requests.
    options.threads_count_at_start = given.collects_at_start || !options.count_in.empty();
    TRY(settle_caches(given, options));
    options.notes_unasked_kinds = false;
    options.profiles = ProfileKinds::of<EdgeList, CallCostList>();
    if (given.caches || options.caches) options.profiles = options.profiles.with<CacheList>();
    if (given.branches) options.profiles = options.profiles.with<BranchList>();
    return {};
}

}  // namespace

Result<CallgrindRequest> parse_callgrind(std::span<const std::string> words,
                                         const char* (*variable)(const char* name)) {
    constexpr auto options_first = CommandLine::Options::before_command;
    CallgrindRequest request;
    Given given;
    const auto used = effective(words, request.warnings);
    CommandLine line(
        {.name = "callgrind",
         .arguments = "[valgrind's options] PROGRAM [ARG...]",
         .description = "Counts the instructions of PROGRAM exactly, and writes them as valgrind's "
                        "callgrind does.",
         .epilogue =
             "Other options of valgrind and callgrind are accepted. Those that would change "
             "the counts are warned of."},
        rows_of(request, given, variable));
    TRY_ASSIGN(auto rest, line.parse_options(used, options_first));
    request.text = line.asked_text();
    if (given.version) request.text = fmt::format("shadowprof-{}\n", SHADOWPROF_VERSION);
    if (request.text) return request;
    TRY_ASSIGN(request.options.command, line.arguments(std::move(rest), options_first));
    if (request.options.command.empty())
        return Error{ErrorCode::usage, 0,
                     "no program to run; name one, as in 'shadowprof callgrind ls -l'"};
    TRY(settle(given, request.options));
    return request;
}

}  // namespace shadowprof
