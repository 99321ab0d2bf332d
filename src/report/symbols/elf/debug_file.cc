#include "report/symbols/elf/debug_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/files/fd.h"

namespace shadowprof {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc32_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t c = i;
        for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? c >> 1 ^ 0xedb88320 : c >> 1;
        table[i] = c;
    }
    return table;
}
constexpr auto crc32_table = make_crc32_table();

// Computes the CRC-32 of the whole file, as in .gnu_debuglink. Returns false if the file cannot be
// read.
bool file_crc32(int fd, std::uint32_t& crc) {
    std::array<unsigned char, 65536> buffer;
    crc = ~std::uint32_t{0};
    for (off_t offset = 0;;) {
        ssize_t got = ::pread(fd, buffer.data(), buffer.size(), offset);
        if (got < 0) return false;
        if (got == 0) break;
        for (ssize_t i = 0; i < got; ++i)
            crc = crc32_table[(crc ^ buffer[static_cast<std::size_t>(i)]) & 0xff] ^ crc >> 8;
        offset += got;
    }
    crc = ~crc;
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

int find_debug_file(Dwfl_Module* module, void** userdata, const char* module_name, Dwarf_Addr base,
                    const char* file_name, const char* debuglink_file, GElf_Word debuglink_crc,
                    char** debuginfo_file_name) {
    int fd = dwfl_build_id_find_debuginfo(module, userdata, module_name, base, file_name,
                                          debuglink_file, debuglink_crc, debuginfo_file_name);
    // A link without a check sum leads to a dwz file, which only its build-id can identify.
    if (fd >= 0 || debuglink_file == nullptr || debuglink_crc == 0 || file_name == nullptr)
        return fd;
    return find_by_debuglink(file_name, debuglink_file, debuglink_crc, debuginfo_file_name);
}

}  // namespace shadowprof
