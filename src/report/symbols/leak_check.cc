#include "report/symbols/leak_check.h"

#include <gelf.h>

#include <algorithm>
#include <string_view>

#include "report/symbols/elf/exported_symbols.h"

namespace shadowprof {
namespace {

// Whether the file asks for a library whose name begins so.
bool needs_library(Elf* elf, std::string_view name) {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC) continue;
        Elf_Data* entries = elf_getdata(section, nullptr);
        GElf_Dyn entry;
        for (int i = 0; entries && gelf_getdyn(entries, i, &entry) != nullptr; ++i) {
            if (entry.d_tag != DT_NEEDED) continue;
            const char* text = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
            if (text && std::string_view(text).starts_with(name)) return true;
        }
    }
    return false;
}

// It is in a library that a program is linked with and need not call, or in the program itself.
bool has_leak_sanitizer(const Module& module) {
    if (!module.path.starts_with('/')) return false;
    const auto file = ElfFile::open(module.path);
    if (!file) return false;
    Elf* elf = (*file)->elf();
    return needs_library(elf, "liblsan.so") || needs_library(elf, "libasan.so") ||
           ExportedSymbols(**file).find("__lsan_do_leak_check");
}

bool has_failed(const Profile& profile) {
    return profile.run.exit_status.value_or(0) != 0 ||
           std::ranges::any_of(profile.processes, [](const ProcessInfo& process) {
               return process.exit_status.value_or(0) != 0;
           });
}

}  // namespace

std::optional<std::string> note_of_leak_check(const Profile& profile) {
    if (!has_failed(profile) || std::ranges::none_of(profile.modules, has_leak_sanitizer))
        return std::nullopt;
    return "LeakSanitizer looks for leaks at a program's end by tracing it, which fails while "
           "shadowprof traces it, and ends the program with an error. If that was the error here: "
           "leave the check out by LSAN_OPTIONS=detect_leaks=0, or look for leaks without "
           "shadowprof";
}

}  // namespace shadowprof
