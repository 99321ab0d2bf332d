// Places in code, functions and files, each once. The page's lists refer to them by number.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "report/profile_file/json_writer.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

class LocationTable {
  public:
    // A function, by its first instruction. Without a start: all code of the module in unknown
    // functions.
    struct Function {
        std::uint32_t module = 0;
        std::optional<std::uint64_t> start;
        CodeLocation somewhere;  // a place in it

        CodeLocation at() const { return {module, start.value_or(somewhere.address)}; }
    };

    // Both must outlive this.
    LocationTable(const std::vector<Module>& modules, SymbolSource& symbols)
        : modules_(modules), symbols_(symbols) {}

    std::size_t place(CodeLocation location);
    std::size_t function(CodeLocation location);
    std::size_t file(std::string_view path);
    const std::vector<Function>& functions() const { return functions_; }

    // Writes the members "places" and "files" of the current object. None may be added after that.
    void write(JsonWriter& json);

  private:
    const std::vector<Module>& modules_;
    SymbolSource& symbols_;
    std::unordered_map<CodeLocation, std::size_t, CodeLocationHash> place_numbers_;
    std::map<std::pair<std::uint32_t, std::optional<std::uint64_t>>, std::size_t> function_numbers_;
    std::map<std::string, std::size_t, std::less<>> file_numbers_;
    std::vector<CodeLocation> places_;
    std::vector<Function> functions_;
    std::vector<std::string> files_;
};

}  // namespace shadowprof
