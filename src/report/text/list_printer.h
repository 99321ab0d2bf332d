// Prints lists of a profile, for summaries and full reports.
#pragma once

#include <span>

#include "report/lists/callers.h"
#include "report/lists/hot_lists.h"
#include "report/lists/hot_scripts.h"
#include "report/lists/kind_table.h"
#include "report/text/facts_text.h"
#include "report/text/text_page.h"

namespace shadowprof {

// Each function prints a title and a line or two for each entry, or nothing if there are no
// entries. Shares are of the whole profile. All arguments must outlive this.
class ListPrinter {
  public:
    ListPrinter(const Profile& profile, SymbolSource& symbols, TextPage& page)
        : profile_(profile), symbols_(symbols), page_(page) {}

    // Prints up to `most` lines; the last one says how many more processes there are.
    void processes(std::size_t most);
    void functions(std::span<const HotFunction> list, FunctionWeight unit);
    void scripts(std::span<const HotScriptFunction> list, StackWeight weight);
    void paths(std::span<const HotPath> list);
    void branches(std::span<const HotBranch> list);
    void values(std::span<const ValueProfile* const> list, std::string_view title);
    // Prints up to `callers` callers of each.
    void caller_dependent(std::span<const CallerDependence> list, std::size_t callers,
                          std::string_view title);
    void hazards(std::span<const Hazard* const> list);
    void addresses(std::span<const AddressPattern* const> list, std::string_view title);
    void streams(std::span<const DataStream* const> list);
    void loads(std::span<const LoadLatency* const> list);
    void calls(std::span<const CallPair* const> list);
    void callers(std::span<const CallerOfFunction> list);
    // Prints up to `most` entries of the probe; 0: all.
    void probe(const ProbeProfile& probe, std::size_t most);
    void methods(std::span<const Method* const> list);
    // Prints some rows of `table`.
    void table(std::span<const RecordRow> list, const KindTable& table);

  private:
    std::string margin(double share, const std::optional<double>& error) const {
        return margin_text(share, error, !profile_.sampling.exact);
    }
    // The width of the column for the errors of `list`.
    template <typename List>
    std::size_t margin_width(const List& list) const {
        std::size_t width = 0;
        for (const auto& each : list)
            width = std::max(width, margin(each.share, each.error).size());
        return width;
    }
    void process(const ProcessInfo& process, double all);
    std::string name(CodeLocation location);
    // The name, cut to the column's width.
    std::string name_in(CodeLocation location, std::size_t width);
    std::string source(CodeLocation location);
    // The place in the source, for lines that have room for it only on wide terminals.
    std::string source_if_wide(CodeLocation location);
    // Appends the instruction to `left` if there is room for a useful part of it, followed by
    // `facts`.
    std::string with_instruction(std::string left, CodeLocation at, const std::string& facts,
                                 const std::string& right);
    void path(const HotPath& path, std::size_t margins);
    static bool tells_who(const RecordCell& cell);
    std::string places_text(std::span<const CodeLocation> places, std::size_t width);
    std::string cell_text(const RecordCell& cell, std::size_t width);
    std::string functions_of(const DataStream& stream);

    const Profile& profile_;
    SymbolSource& symbols_;
    TextPage& page_;
};

}  // namespace shadowprof
