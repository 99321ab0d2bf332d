// The modules of a run, and which ELF virtual address a byte of a mapped file has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/files/fd.h"
#include "base/memory_map.h"
#include "base/result.h"
#include "profile/code/anonymous_module.h"
#include "profile/code/elf_layout.h"
#include "profile/code/mapped_file.h"
#include "profile/profile.h"

namespace shadowprof {

inline constexpr std::string_view vdso_module = "[vdso]";

// What code is called where it is not that of the first process.
struct CodeView {
    FileView files;
    std::string anonymous;  // the pseudo-module of its code without a file

    static CodeView of(pid_t process);
};

// Opens the file behind a mapping for reading.
using MappedFileOpener = std::function<Result<UniqueFd>(const Mapping&)>;

// Grows, never changes: an index that was given keeps its meaning. May be used by several threads.
class ModuleTable {
  public:
    explicit ModuleTable(MappedFileOpener opener = default_opener());

    // From now on files are those that this process has mapped.
    void look_through(pid_t process);

    // Where `address` lies. A byte of a file is at its ELF virtual address, at its file offset if
    // the file cannot be read as ELF or no segment shows the byte; in "[vdso]" at its distance from
    // the mapping's start; anywhere else, `mapping` null included, at `address` in "[anon]".
    // Needs: `mapping` contains `address`, or is null. `view`: of another process than the first.
    CodeLocation locate(const Mapping* mapping, GuestAddress address,
                        const CodeView* view = nullptr);

    std::vector<Module> modules() const;
    // By what name the file that was mapped can be opened, as long as this exists: its own where it
    // was not kept open.
    std::string path_to(std::uint32_t module) const;
    // The files of the modules, by index: none for pseudo-modules and what could not be opened, nor
    // for those behind the first few hundred. Their names may lead elsewhere by now, or nowhere.
    std::vector<UniqueFd> take_files();
    // The same, while they are still needed here.
    std::vector<UniqueFd> copy_files() const;

  private:
    struct Entry {
        Module module;
        ElfLayout layout;
        UniqueFd file;
    };
    using FileKey = std::tuple<std::string, std::uint64_t, std::uint64_t>;  // path, device, inode

    static MappedFileOpener default_opener();
    std::uint32_t file_module(const Mapping& mapping, const CodeView* view);
    std::uint32_t pseudo_module(std::string_view name);
    std::uint32_t add(Entry entry);

    mutable std::mutex mutex_;
    MappedFileOpener opener_;
    std::vector<Entry> entries_;
    std::map<FileKey, std::uint32_t> by_file_;
};

// Gives addresses of one moment's layout their location. Not for several threads at once.
class AddressResolver {
  public:
    virtual ~AddressResolver() = default;
    virtual CodeLocation resolve(GuestAddress address) = 0;
};

// From a process's memory map, which must outlive it, as must the table and the view, if there is
// one.
class MapResolver final : public AddressResolver {
  public:
    MapResolver(const MemoryMap& map, ModuleTable& modules, const CodeView* view = nullptr)
        : map_(map), modules_(modules), view_(view) {}

    CodeLocation resolve(GuestAddress address) override {
        return modules_.locate(map_.find(address), address, view_);
    }

  private:
    const MemoryMap& map_;
    ModuleTable& modules_;
    const CodeView* view_;
};

}  // namespace shadowprof
