#include "report/symbols/symbol_places.h"

#include <algorithm>

namespace shadowprof {
namespace {

class PlaceFinder {
  public:
    PlaceFinder(const ProbeSet& probes, const std::string& path, ModuleSymbols& symbols)
        : probes_(probes), path_(path), symbols_(symbols) {}

    void add_function(std::uint64_t start, std::uint64_t end, std::string_view name,
                      std::uint64_t entry) {
        if (entry == start && entry + 1 < end) {
            add_part(start, start + 1, name, true);
            ++start;
        }
        add_part(start, end, name, false);
    }
    std::vector<ModulePlaces> finish() { return std::move(places_); }

  private:
    // Adds a part of one function, which is the entry as a whole or not at all.
    void add_part(std::uint64_t start, std::uint64_t end, std::string_view name, bool entry) {
        Place place{.module = path_, .function = name, .file = {}, .line = 0, .entry = entry};
        place.has_line = false;
        if (const auto bits = probes_.place_bits(place)) return add(start, end, *bits);
        place.has_line = true;
        std::uint64_t next = start;
        for (const SourceRow& row : symbols_.lines(start, end)) {
            const auto from = std::max(row.start, next), to = std::min(row.end, end);
            if (from >= to) continue;
            place.file = {}, place.line = 0;
            add(next, from, probes_.place_bits(place).value_or(0));
            place.file = row.file, place.line = row.line;
            add(from, to, probes_.place_bits(place).value_or(0));
            next = to;
        }
        place.file = {}, place.line = 0;
        add(next, end, probes_.place_bits(place).value_or(0));
    }

    void add(std::uint64_t start, std::uint64_t end, std::uint64_t bits) {
        if (bits == 0 || start >= end) return;
        if (!places_.empty() && places_.back().end == start && places_.back().place_bits == bits)
            places_.back().end = end;
        else
            places_.push_back({start, end, bits});
    }

    const ProbeSet& probes_;
    const std::string& path_;
    ModuleSymbols& symbols_;
    std::vector<ModulePlaces> places_;
};

}  // namespace

std::vector<ModulePlaces> find_places(const ProbeSet& probes, const std::string& path,
                                      ModuleSymbols& symbols) {
    PlaceFinder finder(probes, path, symbols);
    std::uint64_t behind = 0;
    symbols.for_each_function(
        [&](std::uint64_t start, std::uint64_t end, std::string_view name, std::uint64_t entry) {
            finder.add_function(behind, start, {}, ~std::uint64_t{0});
            finder.add_function(start, end, name, entry);
            behind = end;
        });
    finder.add_function(behind, ~std::uint64_t{0}, {}, ~std::uint64_t{0});
    return finder.finish();
}

}  // namespace shadowprof
