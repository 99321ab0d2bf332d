#include "report/symbols/elf/debug_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/files/fd.h"

namespace shadowprof {
namespace {

// Computes the CRC-32 of the whole file, as in .gnu_debuglink. Returns false if the file cannot be
// read.
bool file_crc32(int fd, std::uint32_t& crc) {
    std::array<unsigned char, 65536> buffer;
    uLong sum = ::crc32(0, nullptr, 0);
    for (off_t offset = 0;;) {
        ssize_t got = ::pread(fd, buffer.data(), buffer.size(), offset);
        if (got < 0) return false;
        if (got == 0) break;
        sum = ::crc32(sum, buffer.data(), static_cast<uInt>(got));
        offset += got;
    }
    crc = static_cast<std::uint32_t>(sum);
    return true;
}

UniqueFd open_if_matching(const std::string& path, std::uint32_t wanted_crc) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status;
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    std::uint32_t crc = 0;
    if (!file_crc32(fd.get(), crc) || crc != wanted_crc) return {};
    return fd;
}

int find_by_debuglink(std::string_view file, std::string_view link, std::uint32_t crc,
                      char** found_path) {
    if (link.find('/') != std::string_view::npos) return -1;
    std::string directory(file.substr(0, file.rfind('/') + 1));
    const std::string candidates[] = {
        directory + ".debug/" + std::string(link),
        directory + std::string(link),
        "/usr/lib/debug/" + directory + std::string(link),
    };
    for (const std::string& path : candidates) {
        if (path == file) continue;
        if (UniqueFd fd = open_if_matching(path, crc)) {
            *found_path = ::strdup(path.c_str());
            return fd.release();
        }
    }
    return -1;
}

}  // namespace

Result<void> check_debug_search(DebugSearch search) {
    if (search == DebugSearch::this_host) return {};
    const char* const servers = std::getenv("DEBUGINFOD_URLS");
    if (servers == nullptr || *servers == '\0')
        return Error{ErrorCode::usage, 0,
                     "--debuginfod: no server is named; set DEBUGINFOD_URLS to their addresses"};
    // libdw loads it by this name, and says nothing if it is missing.
    constexpr auto library = "libdebuginfod.so.1";
    if (void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL)) {
        ::dlclose(loaded);
        return {};
    }
    return Error{
        ErrorCode::unsupported, 0,
        fmt::format("--debuginfod: {} cannot be loaded: elfutils' debuginfod library is not "
                    "installed, or this shadowprof is a static one",
                    library)};
}

void set_debug_search(Dwfl_Module* module, DebugSearch search) {
    void** userdata = nullptr;
    (void)dwfl_module_info(module, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    // Any pointer says so.
    *userdata = search == DebugSearch::servers_too ? static_cast<void*>(userdata) : nullptr;
}

int find_debug_file(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                    const char* file_name, const char* debuglink_file, GElf_Word debuglink_crc,
                    char** debuginfo_file_name) {
    int fd = dwfl_build_id_find_debuginfo(module, userdata, module_name, base, file_name,
                                          debuglink_file, debuglink_crc, debuginfo_file_name);
    // A link without a check sum leads to a dwz file, which only its build-id can identify.
    if (fd < 0 && debuglink_file != nullptr && debuglink_crc != 0 && file_name != nullptr)
        fd = find_by_debuglink(file_name, debuglink_file, debuglink_crc, debuginfo_file_name);
    // Without a file and a link it looks by build-id alone.
    if (fd < 0 && *userdata != nullptr)
        fd = dwfl_standard_find_debuginfo(module, userdata, module_name, base, nullptr, nullptr, 0,
                                          debuginfo_file_name);
    return fd;
}

}  // namespace shadowprof
