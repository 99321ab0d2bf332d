// Writes the parts of the page's data. Each part is a JSON document in an element of its own, which
// the page parses when it first shows it.
#pragma once

#include "report/annotate/annotator.h"
#include "report/html/json_table.h"
#include "report/html/location_table.h"
#include "report/symbols/source_file.h"

namespace shadowprof {

struct PageData {
    const Profile& profile;
    Annotator& annotator;
    LocationTable& places;
    SourceFiles* sources = nullptr;  // null: no source text
    StackWeight weight = StackWeight::instructions;
    // What the page can weigh functions and stacks by instead, and the functions by that.
    struct OtherWeight {
        StackWeight weight = StackWeight::instructions;
        HotFunctions functions;
    };
    std::optional<OtherWeight> other = std::nullopt;
};

// The parts. Each function writes one object.
void write_overview(const PageData& page, JsonWriter& json);
void write_flame(const PageData& page, JsonWriter& json);
// By the other weight, which must be known.
void write_other_flame(const PageData& page, JsonWriter& json);
// Needs a timeline.
void write_timeline(const PageData& page, JsonWriter& json);
void write_paths(const PageData& page, JsonWriter& json);
void write_branches(const PageData& page, JsonWriter& json);
void write_calls(const PageData& page, JsonWriter& json);
void write_values(const PageData& page, JsonWriter& json);
void write_loads(const PageData& page, JsonWriter& json);
void write_hazards(const PageData& page, JsonWriter& json);
void write_addresses(const PageData& page, JsonWriter& json);
void write_streams(const PageData& page, JsonWriter& json);
void write_probes(const PageData& page, JsonWriter& json);
void write_syscalls(const PageData& page, JsonWriter& json);
// The kinds without a part of their own (kind_table.h).
void write_kind_tables(const PageData& page, JsonWriter& json);
// See src/report/findings/.
void write_findings(const PageData& page, JsonWriter& json);
// All places that earlier parts named.
void write_places(const PageData& page, JsonWriter& json);
// All functions that earlier parts named, also by places.
void write_functions(const PageData& page, const std::vector<std::size_t>& with_code,
                     JsonWriter& json);
// A function with all that is known of its instructions.
void write_code(const PageData& page, const AnnotatedFunction& function, JsonWriter& json);

// A row without names, as there are many: the script's valueOf() has the members.
void write_value(const PageData& page, const ValueProfile& value, JsonWriter& json);
// Objects in several parts.
void write_load(const PageData& page, const LoadLatency& load, JsonWriter& json);
void write_moves(const AddressMoves& moves, JsonWriter& json);

}  // namespace shadowprof
