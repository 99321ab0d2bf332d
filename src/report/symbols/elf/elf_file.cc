#include "report/symbols/elf/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace shadowprof {
namespace {

int find_no_elf(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) {
    return -1;
}

constexpr Dwfl_Callbacks callbacks = {
    .find_elf = find_no_elf,  // the program's file is always given
    .find_debuginfo = find_debug_file,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

Error dwfl_error(std::string_view what) {
    return {ErrorCode::invalid, 0, fmt::format("{}: {}", what, dwfl_errmsg(-1))};
}

struct OpenedFile {
    UniqueFd fd;
    FileVersion version;
};

Result<OpenedFile> open_regular(const std::string& path) {
    // Non-blocking, as opening a pipe must not hang.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) return errno_error("open");
    struct stat status;
    if (::fstat(fd.get(), &status) != 0) return errno_error("fstat");
    if (!S_ISREG(status.st_mode)) return Error{ErrorCode::invalid, 0, "not a regular file"};
    const FileVersion version{
        path.starts_with("/proc/self/fd/") ? std::string() : path, status.st_dev, status.st_ino,
        static_cast<std::uint64_t>(status.st_size),
        std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec};
    return OpenedFile{std::move(fd), version};
}

bool is_x86_64_code(Elf* elf) {
    GElf_Ehdr header;
    if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 ||
        gelf_getehdr(elf, &header) == nullptr)
        return false;
    return header.e_machine == EM_X86_64 && (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

ElfSection to_section(Elf_Scn* scn, const GElf_Shdr& header) {
    ElfSection section{header.sh_addr, header.sh_size, header.sh_entsize, {}};
    if (header.sh_type == SHT_NOBITS) return section;
    if (Elf_Data* data = elf_rawdata(scn, nullptr); data != nullptr && data->d_buf != nullptr)
        section.bytes = {static_cast<const std::byte*>(data->d_buf), data->d_size};
    return section;
}

}  // namespace

Result<std::unique_ptr<ElfFile>> ElfFile::open(const std::string& path, DebugSearch search) {
    std::unique_ptr<ElfFile> file(new ElfFile);
    TRY(file->load(path, search));
    return file;
}

Result<FileVersion> ElfFile::version_of(const std::string& path) {
    TRY_ASSIGN(const auto opened, open_regular(path));
    return opened.version;
}

const ElfFile::DebugInformation& ElfFile::debug_information() {
    if (!debug_) {
        debug_ = DebugInformation{};
        debug_->dwarf = dwfl_module_getdwarf(module_, &debug_->bias);
        if (debug_->dwarf == nullptr) unpack_debug(*debug_);
    }
    return *debug_;
}

// Looks in the file itself, then in the debug file that was found for it. Their addresses are the
// same.
void ElfFile::unpack_debug(DebugInformation& debug) {
    auto unpacked = UnpackedDebug::read(elf_);
    const char* path = nullptr;
    (void)dwfl_module_info(module_, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &path);
    if (!unpacked && unpacked.error().code == ErrorCode::not_found && path != nullptr) {
        auto opened = open_regular(path);
        if (!opened) return;
        Elf* const elf = elf_begin(opened->fd.get(), ELF_C_READ_MMAP, nullptr);
        unpacked = UnpackedDebug::read(elf);
        elf_end(elf);
    }
    if (unpacked) {
        unpacked_ = std::move(*unpacked);
        debug = {unpacked_->dwarf(), 0, {}};
    } else if (unpacked.error().code != ErrorCode::not_found) {
        debug.not_read = unpacked.error().message;
    }
}

Result<void> ElfFile::load(const std::string& path, DebugSearch search) {
    TRY_ASSIGN(auto opened, open_regular(path));
    fd_ = std::move(opened.fd);
    version_ = std::move(opened.version);
    UniqueFd for_dwfl(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    if (!for_dwfl) return errno_error("dup");
    dwfl_.reset(dwfl_begin(&callbacks));
    if (!dwfl_) return dwfl_error("libdwfl");
    dwfl_report_begin(dwfl_.get());
    // Base 0 plus the file's own addresses puts the module at its ELF virtual addresses.
    module_ = dwfl_report_elf(dwfl_.get(), path.c_str(), path.c_str(), for_dwfl.get(), 0, true);
    if (module_ == nullptr) return dwfl_error("not usable as ELF");
    (void)for_dwfl.release();  // dwfl_report_elf now owns it
    set_debug_search(module_, search);
    if (dwfl_report_end(dwfl_.get(), nullptr, nullptr) != 0) return dwfl_error("libdwfl");
    GElf_Addr bias = 0;
    elf_ = dwfl_module_getelf(module_, &bias);
    if (elf_ == nullptr) return dwfl_error("not usable as ELF");
    if (!is_x86_64_code(elf_) || bias != 0)
        return Error{ErrorCode::invalid, 0, "not an x86-64 program or shared object"};
    read_segments();
    return {};
}

void ElfFile::read_segments() {
    std::size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) return;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr header;
        if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) return;
        if (header.p_type == PT_LOAD)
            segments_.push_back(
                {header.p_vaddr, header.p_offset, header.p_filesz, (header.p_flags & PF_X) != 0});
    }
}

std::string ElfFile::build_id() const {
    const unsigned char* bits = nullptr;
    GElf_Addr address = 0;
    int length = dwfl_module_build_id(module_, &bits, &address);
    std::string text;
    for (int i = 0; i < length; ++i) text += fmt::format("{:02x}", bits[i]);
    return text;
}

std::optional<ElfSection> ElfFile::section(std::string_view name) const {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0) return std::nullopt;
    for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn; scn = elf_nextscn(elf_, scn)) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
        const char* candidate = elf_strptr(elf_, names, header.sh_name);
        if (candidate != nullptr && name == candidate) return to_section(scn, header);
    }
    return std::nullopt;
}

std::vector<ElfSection> ElfFile::executable_sections() const {
    std::vector<ElfSection> sections;
    for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn; scn = elf_nextscn(elf_, scn)) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) == nullptr) continue;
        constexpr GElf_Xword wanted = SHF_ALLOC | SHF_EXECINSTR;
        if ((header.sh_flags & wanted) == wanted) sections.push_back(to_section(scn, header));
    }
    return sections;
}

bool ElfFile::is_constant(std::uint64_t address) const {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0) return false;
    for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn; scn = elf_nextscn(elf_, scn)) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) == nullptr || (header.sh_flags & SHF_ALLOC) == 0 ||
            address < header.sh_addr || address - header.sh_addr >= header.sh_size)
            continue;
        if ((header.sh_flags & SHF_WRITE) == 0) return true;
        const char* text = elf_strptr(elf_, names, header.sh_name);
        const std::string_view name = text != nullptr ? text : "";
        return name == ".got" || name == ".got.plt" || name == ".data.rel.ro";
    }
    return false;
}

std::size_t ElfFile::read(std::uint64_t address, std::span<std::byte> to) const {
    for (const ElfSegment& segment : segments_) {
        std::uint64_t skip = address - segment.address;
        if (address < segment.address || skip >= segment.file_bytes) continue;
        std::size_t wanted = std::min<std::uint64_t>(to.size(), segment.file_bytes - skip);
        ssize_t got =
            ::pread(fd_.get(), to.data(), wanted, static_cast<off_t>(segment.offset + skip));
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    return 0;
}

}  // namespace shadowprof
