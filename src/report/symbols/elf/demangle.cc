#include "report/symbols/elf/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace shadowprof {
namespace {

constexpr std::size_t longest_mangled = 4096;
constexpr std::size_t longest_demangled = std::size_t{1} << 16;

constexpr int demangled_style = DMGL_PARAMS | DMGL_ANSI;

using CallbackDemangler = int (*)(const char* mangled, int options, demangle_callbackref callback,
                                  void* opaque);

struct BoundedText {
    std::string text;
    std::jmp_buf when_full;
};

// The library goes on to the end of a name, which may be far. So a full text is left by longjmp():
// no frame between here and fits() has anything to destroy.
void append(const char* part, std::size_t length, void* opaque) {
    auto& bounded = *static_cast<BoundedText*>(opaque);
    if (length > bounded.text.capacity() - bounded.text.size()) std::longjmp(bounded.when_full, 1);
    bounded.text.append(part, length);
}

bool fits(CallbackDemangler demangler, const std::string& mangled, BoundedText& bounded) {
    if (setjmp(bounded.when_full) != 0) return false;
    return demangler(mangled.c_str(), demangled_style, append, &bounded) != 0;
}

// Returns nothing if `mangled` is no such name or becomes too long.
std::string demangle_bounded(CallbackDemangler demangler, const std::string& mangled) {
    BoundedText bounded;
    bounded.text.reserve(longest_demangled);
    return fits(demangler, mangled, bounded) ? bounded.text : std::string();
}

// The library has no callback for D. Text is repeated where a reference (Q) leads back, at most as
// many times as the number of references allows.
std::string demangle_d(const std::string& mangled) {
    constexpr auto most_references = 20;
    if (std::count(mangled.begin(), mangled.end(), 'Q') > most_references) return {};
    const std::unique_ptr<char, decltype(&std::free)> text(
        dlang_demangle(mangled.c_str(), demangled_style), &std::free);
    return text ? text.get() : "";
}

std::string demangle_known(const std::string& mangled) {
    if (mangled.starts_with("_D")) return demangle_d(mangled);
    if (!mangled.starts_with("_R") && !mangled.starts_with("_Z")) return {};
    // Rust's older scheme looks like C++ with a hash.
    std::string text = demangle_bounded(rust_demangle_callback, mangled);
    if (text.empty()) text = demangle_bounded(cplus_demangle_v3_callback, mangled);
    return text;
}

}  // namespace

std::string demangle(const std::string& linkage_name) {
    if (linkage_name.size() > longest_mangled) return linkage_name;
    // The suffix of name@plt was added by us.
    const std::size_t suffix = std::min(linkage_name.find('@'), linkage_name.size());
    std::string text = demangle_known(linkage_name.substr(0, suffix));
    if (text.empty()) return linkage_name;
    return text + linkage_name.substr(suffix);
}

}  // namespace shadowprof
