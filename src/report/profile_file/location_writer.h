// Writes what is known of a location, an element of a profile file's list "locations".
#pragma once

#include "report/profile_file/json_writer.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

void write_location(JsonWriter& json, SymbolSource& symbols, CodeLocation location);

}  // namespace shadowprof
