#include "report/symbols/elf/demangle.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace shadowprof {
namespace {

// Longer names are not demangled: a hostile name can expand to many times its length.
constexpr std::size_t longest_mangled = 4096;

// Rust's older scheme looks like C++ with a hash as the last part: ::h0123456789abcdef.
void drop_rust_hash(std::string& name) {
    constexpr std::size_t hash_length = 19;
    if (name.size() <= hash_length) return;
    std::string_view tail = std::string_view(name).substr(name.size() - hash_length);
    if (!tail.starts_with("::h")) return;
    for (char c : tail.substr(3))
        if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return;
    name.resize(name.size() - hash_length);
}

}  // namespace

std::string demangle(const std::string& linkage_name) {
    if (!linkage_name.starts_with("_Z") || linkage_name.size() > longest_mangled)
        return linkage_name;
    // The suffix of name@plt was added by us.
    std::size_t suffix = linkage_name.find('@');
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(linkage_name.substr(0, suffix).c_str(), nullptr, nullptr, &status),
        &std::free);
    if (status != 0 || text == nullptr) return linkage_name;
    std::string name(text.get());
    drop_rust_hash(name);
    if (suffix != std::string::npos) name += linkage_name.substr(suffix);
    return name;
}

}  // namespace shadowprof
