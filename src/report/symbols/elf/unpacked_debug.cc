#include "report/symbols/elf/unpacked_debug.h"

#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "report/compression/compression.h"

namespace shadowprof {
namespace {

constexpr std::uint32_t compressed_by_zstd = 2;  // ELFCOMPRESS_ZSTD, which not every elf.h has
constexpr std::size_t largest_image = std::size_t{1} << 30;
constexpr std::size_t alignment = 16;

Error damaged(std::string_view reason) {
    return {ErrorCode::invalid, 0, fmt::format("its debug sections are damaged: {}", reason)};
}

template <typename T>
std::string_view bytes_of(const T& object) {
    return {reinterpret_cast<const char*>(&object), sizeof object};
}

std::string_view bytes_of_section(Elf_Scn* section) {
    const Elf_Data* const data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const char*>(data->d_buf), data->d_size};
}

Result<void> append_decompressed(std::string_view in, std::string& image) {
    auto decompressor = make_decompressor(Compression::zstd);
    if (!decompressor)
        return Error{
            ErrorCode::unsupported, 0,
            "its debug sections are compressed with zstd, and this shadowprof was built "
            "without it; compress them with zlib (objcopy --compress-debug-sections=zlib)"};
    std::vector<char> part(1 << 18);
    while (!in.empty() || !(*decompressor)->is_complete()) {
        auto progress = (*decompressor)->decompress(in, part);
        if (!progress) return damaged(progress.error().message);
        if (progress->taken == 0 && progress->made == 0) return damaged("they end too early");
        in.remove_prefix(progress->taken);
        if (image.size() + progress->made > largest_image)
            return Error{ErrorCode::invalid, 0,
                         "its debug sections are compressed with zstd, and larger than 1 GiB; "
                         "decompress them (objcopy --decompress-debug-sections)"};
        image.append(part.data(), progress->made);
    }
    return {};
}

// Makes an ELF file of the debug sections of another one. All sections keep their numbers.
class ImageMaker {
  public:
    explicit ImageMaker(Elf* elf) : elf_(elf) {}

    Result<std::string> make() {
        GElf_Ehdr header;
        std::size_t count = 0;
        if (gelf_getehdr(elf_, &header) == nullptr || gelf_getclass(elf_) != ELFCLASS64 ||
            elf_getshdrstrndx(elf_, &names_) != 0 || elf_getshdrnum(elf_, &count) != 0 ||
            count == 0 || count >= SHN_LORESERVE)
            return Error{ErrorCode::not_found, 0, "it has no sections"};
        image_.assign(sizeof header, '\0');
        headers_.resize(count);
        for (Elf_Scn* each = elf_nextscn(elf_, nullptr); each; each = elf_nextscn(elf_, each))
            TRY(add(each));
        if (!is_any_decompressed_)
            return Error{ErrorCode::not_found, 0, "no debug section is compressed with zstd"};
        align();
        header.e_phoff = header.e_phnum = 0;
        header.e_shoff = image_.size();
        for (const GElf_Shdr& each : headers_) image_ += bytes_of(each);
        image_.replace(0, sizeof header, bytes_of(header));
        return std::move(image_);
    }

  private:
    Result<void> add(Elf_Scn* section) {
        const std::size_t index = elf_ndxscn(section);
        GElf_Shdr header;
        if (index >= headers_.size() || gelf_getshdr(section, &header) == nullptr) return {};
        const char* const text = elf_strptr(elf_, names_, header.sh_name);
        const bool is_debug = text != nullptr && std::string_view(text).starts_with(".debug_");
        header.sh_link = header.sh_info = 0;
        align();
        header.sh_offset = image_.size();
        if (is_debug && header.sh_type == SHT_PROGBITS)
            TRY(add_debug(section, header));
        else if (index == names_)
            image_ += bytes_of_section(section);
        else
            header.sh_type = SHT_NOBITS;
        headers_[index] = header;
        return {};
    }

    // Other ways of compression stay, as elfutils knows them.
    Result<void> add_debug(Elf_Scn* section, GElf_Shdr& header) {
        std::string_view bytes = bytes_of_section(section);
        Elf64_Chdr compression{};
        if ((header.sh_flags & SHF_COMPRESSED) != 0 && bytes.size() >= sizeof compression)
            std::memcpy(&compression, bytes.data(), sizeof compression);
        if (compression.ch_type != compressed_by_zstd) {
            image_ += bytes;
            return {};
        }
        bytes.remove_prefix(sizeof compression);
        TRY(append_decompressed(bytes, image_));
        header.sh_size = image_.size() - header.sh_offset;
        header.sh_addralign = compression.ch_addralign;
        header.sh_flags &= ~GElf_Xword{SHF_COMPRESSED};
        if (header.sh_size != compression.ch_size) return damaged("a section has another size");
        is_any_decompressed_ = true;
        return {};
    }

    void align() { image_.resize((image_.size() + alignment - 1) / alignment * alignment); }

    Elf* elf_;
    std::size_t names_ = 0;
    std::string image_;
    std::vector<GElf_Shdr> headers_;
    bool is_any_decompressed_ = false;
};

}  // namespace

Result<std::unique_ptr<UnpackedDebug>> UnpackedDebug::read(Elf* elf) {
    TRY_ASSIGN(std::string image, ImageMaker(elf).make());
    std::unique_ptr<UnpackedDebug> unpacked(new UnpackedDebug(std::move(image)));
    TRY(unpacked->load());
    return unpacked;
}

Result<void> UnpackedDebug::load() {
    elf_ = elf_memory(image_.data(), image_.size());
    if (elf_ != nullptr) dwarf_ = dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
    if (dwarf_ == nullptr) return damaged(dwarf_errmsg(-1));
    return {};
}

UnpackedDebug::~UnpackedDebug() {
    if (dwarf_ != nullptr) dwarf_end(dwarf_);
    if (elf_ != nullptr) elf_end(elf_);
}

}  // namespace shadowprof
