// Prints whole lists of a profile, sorted and filtered as the user asks for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/lists/place_filter.h"
#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"
#include "report/text/list_sink.h"
#include "report/text/text_page.h"

namespace shadowprof {

struct ListRequest {
    static constexpr std::size_t usual_top = 20;

    std::vector<std::string> by;  // names of lists
    bool findings = false;        // print findings instead of lists, also limited by `top`
    std::string sort;             // name of a key of all the lists; empty: each list's own
    PlaceRequest places;          // only entries at such places
    std::size_t top = usual_top;  // entries of each list; 0: all
    // The weight of functions, which choose_weight() has chosen.
    StackWeight weight = StackWeight::instructions;
};

// "function", "path", ...
std::vector<std::string_view> list_names();
// All keys that a list can be sorted by: "instructions", "name", ...
std::vector<std::string_view> sort_keys();
// Errors: ErrorCode::usage if there is no such list, or one of them has no such key.
Result<void> check(const ListRequest& request);

// Passes each list to `sink`. Needs check().
void for_each_list(const Profile& profile, SymbolSource& symbols, const ListRequest& request,
                   ListSink& sink);
// Prints each list with its title. A line says if a list is empty, and how many entries are left
// out. Needs check().
void print_lists(const Profile& profile, SymbolSource& symbols, const ListRequest& request,
                 TextPage& page);

}  // namespace shadowprof
