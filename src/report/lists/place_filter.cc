#include "report/lists/place_filter.h"

#include <algorithm>
#include <array>

#include "base/text/text_format.h"
#include "report/symbols/location_name.h"

namespace shadowprof {
namespace {

constexpr std::array<std::string_view, 6> library_folders = {
    "/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/"};

// "libc.so.6", "array.cpython-311-x86_64-linux-gnu.so", "ld-linux-x86-64.so.2".
bool is_library_name(std::string_view file) {
    return file.ends_with(".so") || file.find(".so.") != std::string_view::npos;
}

}  // namespace

bool is_system_library(std::string_view path) {
    if (path == "[vdso]" || path == "[vsyscall]") return true;
    constexpr std::string_view replaced = " (deleted)";  // as /proc names files
    if (path.ends_with(replaced)) path.remove_suffix(replaced.size());
    const bool is_among_them = std::ranges::any_of(
        library_folders, [&](std::string_view folder) { return path.starts_with(folder); });
    return is_among_them && is_library_name(base_name(path));
}

PlaceFilter::PlaceFilter(const PlaceRequest& request, const std::vector<Module>& modules)
    : modules_(modules), functions_(request.function) {
    const NameFilter names(request.module);
    for (const Module& module : modules)
        is_meant_.push_back(
            (names.matches(module.path) || names.matches(shown_module(module.path))) &&
            !(request.own_only && is_system_library(module.path)));
}

bool PlaceFilter::matches(SymbolSource& symbols, CodeLocation at) const {
    return at.module < is_meant_.size() && is_meant_[at.module] &&
           functions_.matches(modules_, symbols, at);
}

}  // namespace shadowprof
