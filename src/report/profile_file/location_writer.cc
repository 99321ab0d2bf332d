#include "report/profile_file/location_writer.h"

namespace shadowprof {
namespace {

void line_or_null(JsonWriter& json, std::uint32_t line) {
    json.member("line", line != 0 ? std::optional(line) : std::nullopt);
}

void write_inlined(JsonWriter& json, const InlinedFrame& frame) {
    json.begin_object();
    json.text_or_null("function", frame.function);
    json.text_or_null("file", frame.file);
    line_or_null(json, frame.line);
    json.end_object();
}

}  // namespace

void write_location(JsonWriter& json, SymbolSource& symbols, CodeLocation location) {
    const CodeSymbol& symbol = symbols.symbol(location);
    std::optional<std::uint64_t> offset;
    if (symbol.function_start) offset = location.address - *symbol.function_start;
    json.begin_object();
    json.member("module", location.module);
    json.member("address", hex_text(location.address));
    json.text_or_null("function", symbol.function);
    json.member("offset", offset);
    json.text_or_null("file", symbol.file);
    line_or_null(json, symbol.line);
    json.array("inlined", symbol.inlined,
               [&](const InlinedFrame& frame) { write_inlined(json, frame); });
    json.text_or_null("text", symbols.instruction_text(location));
    json.end_object();
}

}  // namespace shadowprof
