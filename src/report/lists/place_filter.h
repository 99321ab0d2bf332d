// Selects places by function and by file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/lists/name_filter.h"
#include "report/symbols/symbol_source.h"

namespace shadowprof {

// Whether the file is a shared library, or the loader, in one of the system's folders for
// libraries, or code that the kernel maps. A library elsewhere counts as the program's own.
bool is_system_library(std::string_view module_path);

struct PlaceRequest {
    std::string function;   // name or pattern; empty: all
    std::string module;     // path, shown_module(), or a pattern of either; empty: all
    bool own_only = false;  // leaves out what is_system_library()

    bool is_all() const { return function.empty() && module.empty() && !own_only; }
};

class PlaceFilter {
  public:
    // `modules` must outlive the filter.
    PlaceFilter(const PlaceRequest& request, const std::vector<Module>& modules);

    bool matches(SymbolSource& symbols, CodeLocation at) const;

  private:
    const std::vector<Module>& modules_;
    NameFilter functions_;
    std::vector<bool> is_meant_;  // by module
};

}  // namespace shadowprof
