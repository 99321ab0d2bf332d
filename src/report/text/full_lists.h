// Whole lists of a profile, sorted and filtered as a user asks for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/lists/stack_weight.h"
#include "report/symbols/symbol_source.h"
#include "report/text/text_page.h"

namespace shadowprof {

struct ListRequest {
    static constexpr std::size_t usual_top = 20;

    std::vector<std::string> by;  // names of lists
    bool findings = false;        // findings instead of lists; `top` is of them, too
    std::string sort;             // name of a key that all of them have; empty: each its own
    std::string filter;           // entries in functions of this name or pattern alone
    std::size_t top = usual_top;  // so many of each; 0: all
    // What functions are weighed by. Needs check_weight().
    StackWeight weight = StackWeight::instructions;
};

// "function", "path", ...
std::vector<std::string_view> list_names();
// ErrorCode::usage if there is no such list, or no such key of one of them.
Result<void> check(const ListRequest& request);

// Needs check(). Prints each list with its title; a line says so where one is empty, and how many
// entries are left out.
void print_lists(const Profile& profile, SymbolSource& symbols, const ListRequest& request,
                 TextPage& page);

}  // namespace shadowprof
