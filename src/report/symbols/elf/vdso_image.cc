#include "report/symbols/elf/vdso_image.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <string_view>

#include "base/files/byte_sink.h"

namespace shadowprof {

Result<UniqueFd> vdso_image() {
    const auto* image = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
    if (image == nullptr) return Error{ErrorCode::not_found, 0, "this kernel has no vDSO"};
    // The section headers end the image.
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
    std::size_t size_bytes = header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
    UniqueFd fd(::memfd_create("vdso", MFD_CLOEXEC));
    if (!fd) return errno_error("memfd_create");
    TRY(write_all(fd.get(), std::string_view(image, size_bytes)));
    return fd;
}

}  // namespace shadowprof
