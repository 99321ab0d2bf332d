// Prints an annotated function on a terminal.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string_view>

#include "report/annotate/annotation.h"
#include "report/symbols/source_file.h"
#include "report/symbols/symbol_source.h"
#include "report/text/text_page.h"

namespace shadowprof {

enum class ListingView {
    mixed,        // instructions below their source lines
    disassembly,  // instructions only
    source,       // source lines only
};
inline constexpr std::array<std::string_view, 3> listing_view_names = {"mixed", "disassembly",
                                                                       "source"};

struct ListingOptions {
    ListingView view = ListingView::mixed;
    bool all = false;  // include long runs of instructions or lines that were never executed
};

class FunctionListing {
  public:
    // All arguments must outlive this.
    FunctionListing(const Profile& profile, SymbolSource& symbols, SourceFiles& sources,
                    TextPage& page)
        : profile_(profile), symbols_(symbols), sources_(sources), page_(page) {}

    // Prints a head with the function's share, notes, and a line for each instruction or source
    // line. A line shows the number of executions, the share of the function's instructions and, if
    // there are times, of its time. Further facts follow: branch targets, values, latencies,
    // hazards.
    void print(const AnnotatedFunction& function, const ListingOptions& options);

  private:
    struct SourceLine;
    using SourceLines = std::map<std::uint32_t, SourceLine>;  // by line number
    void head(const AnnotatedFunction& function);
    void instructions(const AnnotatedFunction& function, const ListingOptions& options);
    void source_lines(const AnnotatedFunction& function, const ListingOptions& options);
    void source_file(const SourceLines& lines, std::span<const std::string_view> text,
                     const ListingOptions& options);
    void source_line(std::uint32_t number, const SourceLine& line, std::string_view text);
    void source_of(const AnnotatedFunction& function, const AnnotatedInstruction& instruction);
    void instruction(const AnnotatedInstruction& instruction);
    void folded(std::size_t left_out, std::string_view what);
    std::string counts(std::optional<std::uint64_t> executions, std::uint64_t instructions,
                       std::uint64_t time_ns) const;
    double hotter_share(std::uint64_t instructions, std::uint64_t time_ns) const;
    std::string heat(const std::string& text, double share) const;
    std::string facts(const AnnotatedInstruction& instruction);

    const Profile& profile_;
    SymbolSource& symbols_;
    SourceFiles& sources_;
    TextPage& page_;
    // Numbers of the current function.
    std::uint64_t executed_ = 0;  // executed instructions, from edges
    std::uint64_t time_ns_ = 0;   // 0: no column for time
};

// Facts about an instruction beside its count, the most important first.
std::vector<std::string> instruction_facts(const AnnotatedInstruction& instruction,
                                           const Profile& profile, SymbolSource& symbols);

}  // namespace shadowprof
