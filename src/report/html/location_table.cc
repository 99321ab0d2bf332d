#include "report/html/location_table.h"

#include "base/text/text_format.h"
#include "report/html/json_table.h"

namespace shadowprof {

std::size_t LocationTable::place(CodeLocation location) {
    const auto [it, added] = place_numbers_.try_emplace(location, places_.size());
    if (added) places_.push_back(location);
    return it->second;
}

std::size_t LocationTable::function(CodeLocation location) {
    const auto start = symbols_.symbol(location).function_start;
    const auto [it, added] =
        function_numbers_.try_emplace({location.module, start}, functions_.size());
    if (added) functions_.push_back({location.module, start, location});
    return it->second;
}

std::size_t LocationTable::file(std::string_view path) {
    auto it = file_numbers_.find(path);
    if (it == file_numbers_.end()) {
        it = file_numbers_.emplace(path, files_.size()).first;
        files_.push_back(printable(path));
    }
    return it->second;
}

void LocationTable::write(JsonWriter& json) {
    json.key("places");
    begin_table(json, {"function", "offset", "address", "file", "line", "text"});
    for (const CodeLocation location : places_) {
        const CodeSymbol& symbol = symbols_.symbol(location);
        json.begin_array();
        json.value(function(location));
        // The offset from the function's start, or from address 0 without a function.
        json.value(hex_text(location.address - symbol.function_start.value_or(0)));
        json.value(hex_text(location.address));
        if (symbol.file.empty())
            json.null();
        else
            json.value(file(symbol.file));
        json.value(symbol.line);
        json.value(printable(symbols_.instruction_text(location)));
        json.end_array();
    }
    end_table(json);
    json.key("files");
    json.begin_array();
    for (const std::string& path : files_) json.value(path);
    json.end_array();
}

}  // namespace shadowprof
