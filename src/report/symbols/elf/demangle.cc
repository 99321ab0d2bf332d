#include "report/symbols/elf/demangle.h"

#define HAVE_DECL_BASENAME 1  // libiberty.h declares another basename() otherwise
#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>

namespace shadowprof {
namespace {

constexpr std::size_t longest_mangled = 4096;
constexpr std::size_t longest_demangled = std::size_t{1} << 16;

constexpr int demangled_style = DMGL_PARAMS | DMGL_ANSI;

struct BoundedText {
    std::string text;
    std::jmp_buf when_full;
};

// The library goes on to the end of a name, which may be far. So a full text is left by longjmp().
// The library's frames have nothing to destroy but, in a name with letters beyond ASCII, a buffer
// of the length of an identifier, which is lost then.
void append(const char* part, std::size_t length, void* opaque) {
    auto& bounded = *static_cast<BoundedText*>(opaque);
    if (length > bounded.text.capacity() - bounded.text.size()) std::longjmp(bounded.when_full, 1);
    bounded.text.append(part, length);
}

// Calls append() for each part of a name. Returns 0 if it is none.
using Demangler = std::function<int(demangle_callbackref append, void* opaque)>;

bool fits(const Demangler& demangler, BoundedText& bounded) {
    if (setjmp(bounded.when_full) != 0) return false;
    return demangler(append, &bounded) != 0;
}

// Returns nothing if it is no name or becomes too long.
std::string bounded_text(const Demangler& demangler) {
    BoundedText bounded;
    bounded.text.reserve(longest_demangled);
    return fits(demangler, bounded) ? bounded.text : std::string();
}

// Parts of a name that have one or two parts in turn. Names of other kinds have none, or few.
constexpr std::array inner_components = {DEMANGLE_COMPONENT_QUAL_NAME,
                                         DEMANGLE_COMPONENT_LOCAL_NAME,
                                         DEMANGLE_COMPONENT_TYPED_NAME,
                                         DEMANGLE_COMPONENT_TEMPLATE,
                                         DEMANGLE_COMPONENT_VTABLE,
                                         DEMANGLE_COMPONENT_VTT,
                                         DEMANGLE_COMPONENT_TYPEINFO,
                                         DEMANGLE_COMPONENT_TYPEINFO_NAME,
                                         DEMANGLE_COMPONENT_THUNK,
                                         DEMANGLE_COMPONENT_VIRTUAL_THUNK,
                                         DEMANGLE_COMPONENT_GUARD,
                                         DEMANGLE_COMPONENT_REFTEMP,
                                         DEMANGLE_COMPONENT_RESTRICT,
                                         DEMANGLE_COMPONENT_VOLATILE,
                                         DEMANGLE_COMPONENT_CONST,
                                         DEMANGLE_COMPONENT_RESTRICT_THIS,
                                         DEMANGLE_COMPONENT_VOLATILE_THIS,
                                         DEMANGLE_COMPONENT_CONST_THIS,
                                         DEMANGLE_COMPONENT_REFERENCE_THIS,
                                         DEMANGLE_COMPONENT_RVALUE_REFERENCE_THIS,
                                         DEMANGLE_COMPONENT_VENDOR_TYPE_QUAL,
                                         DEMANGLE_COMPONENT_POINTER,
                                         DEMANGLE_COMPONENT_REFERENCE,
                                         DEMANGLE_COMPONENT_RVALUE_REFERENCE,
                                         DEMANGLE_COMPONENT_COMPLEX,
                                         DEMANGLE_COMPONENT_IMAGINARY,
                                         DEMANGLE_COMPONENT_FUNCTION_TYPE,
                                         DEMANGLE_COMPONENT_ARRAY_TYPE,
                                         DEMANGLE_COMPONENT_PTRMEM_TYPE,
                                         DEMANGLE_COMPONENT_VECTOR_TYPE,
                                         DEMANGLE_COMPONENT_ARGLIST,
                                         DEMANGLE_COMPONENT_TEMPLATE_ARGLIST,
                                         DEMANGLE_COMPONENT_INITIALIZER_LIST,
                                         DEMANGLE_COMPONENT_CAST,
                                         DEMANGLE_COMPONENT_CONVERSION,
                                         DEMANGLE_COMPONENT_NULLARY,
                                         DEMANGLE_COMPONENT_UNARY,
                                         DEMANGLE_COMPONENT_BINARY,
                                         DEMANGLE_COMPONENT_BINARY_ARGS,
                                         DEMANGLE_COMPONENT_TRINARY,
                                         DEMANGLE_COMPONENT_TRINARY_ARG1,
                                         DEMANGLE_COMPONENT_TRINARY_ARG2,
                                         DEMANGLE_COMPONENT_LITERAL,
                                         DEMANGLE_COMPONENT_LITERAL_NEG,
                                         DEMANGLE_COMPONENT_COMPOUND_NAME,
                                         DEMANGLE_COMPONENT_DECLTYPE,
                                         DEMANGLE_COMPONENT_PACK_EXPANSION,
                                         DEMANGLE_COMPONENT_TAGGED_NAME,
                                         DEMANGLE_COMPONENT_TRANSACTION_SAFE,
                                         DEMANGLE_COMPONENT_CLONE,
                                         DEMANGLE_COMPONENT_NOEXCEPT,
                                         DEMANGLE_COMPONENT_THROW_SPEC};

// Counts the parts of a C++ name, each as often as substitutions repeat it.
class UnfoldedSize {
  public:
    static constexpr std::uint64_t limit = 100'000;

    // `limit` if there are as many or more.
    std::uint64_t of(const demangle_component* component) {
        if (component == nullptr ||
            std::ranges::find(inner_components, component->type) == inner_components.end())
            return 1;
        if (const auto known = known_.find(component); known != known_.end()) return known->second;
        const std::uint64_t size =
            std::min(limit, 1 + of(component->u.s_binary.left) + of(component->u.s_binary.right));
        return known_[component] = size;
    }

  private:
    std::unordered_map<const demangle_component*, std::uint64_t> known_;
};

// Where parameter packs are expanded, the library looks through all that substitutions repeat, and
// prints nothing meanwhile.
std::string demangle_cpp(const std::string& mangled) {
    void* memory = nullptr;
    demangle_component* const name =
        cplus_demangle_v3_components(mangled.c_str(), demangled_style, &memory);
    const std::unique_ptr<void, decltype(&std::free)> owner(memory, &std::free);
    if (name == nullptr || UnfoldedSize().of(name) == UnfoldedSize::limit) return {};
    return bounded_text([&](demangle_callbackref append, void* opaque) {
        return cplus_demangle_print_callback(demangled_style, name, append, opaque);
    });
}

// Whether Rust's newer scheme may introduce thousands of lifetimes, which the library goes through
// even where it prints nothing: "FG", the number in base 62, "_".
bool has_many_lifetimes(std::string_view mangled) {
    constexpr std::size_t usual_digits = 2;
    for (std::size_t at = 1; at < mangled.size(); ++at) {
        if (mangled[at] != 'G' || (mangled[at - 1] != 'F' && mangled[at - 1] != 'D')) continue;
        const auto rest = mangled.substr(at + 1);
        const auto end = std::ranges::find_if_not(
            rest, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
        const auto digits = static_cast<std::size_t>(end - rest.begin());
        if (digits > usual_digits && end != rest.end() && *end == '_') return true;
    }
    return false;
}

std::string demangle_rust(const std::string& mangled) {
    if (mangled.starts_with("_R") && has_many_lifetimes(mangled)) return {};
    return bounded_text([&](demangle_callbackref append, void* opaque) {
        return rust_demangle_callback(mangled.c_str(), demangled_style, append, opaque);
    });
}

// The library has no callback for D. Each reference (Q) can at most double the text.
std::string demangle_d(const std::string& mangled) {
    constexpr std::uint64_t longest = std::uint64_t{1} << 22;
    const auto references = std::ranges::count(mangled, 'Q');
    if (references >= 22 || std::uint64_t{mangled.size()} << references > longest) return {};
    const std::unique_ptr<char, decltype(&std::free)> text(
        dlang_demangle(mangled.c_str(), demangled_style), &std::free);
    std::string name = text ? text.get() : "";
    return name.size() <= longest_demangled ? name : std::string();
}

std::string demangle_known(const std::string& mangled) {
    if (mangled.starts_with("_D")) return demangle_d(mangled);
    if (mangled.starts_with("_R")) return demangle_rust(mangled);
    if (!mangled.starts_with("_Z")) return {};
    // Rust's older scheme looks like C++ with a hash.
    std::string text = demangle_rust(mangled);
    return text.empty() ? demangle_cpp(mangled) : text;
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
