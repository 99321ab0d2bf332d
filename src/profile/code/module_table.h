// The modules of a run, and the ELF virtual address of each byte of a mapped file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
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
#include "profile/code/perf_map_file.h"
#include "profile/profile.h"

namespace shadowprof {

inline constexpr std::string_view vdso_module = "[vdso]";

// How the code of a process other than the first is named.
struct CodeView {
    FileView files;
    std::string anonymous;  // the pseudo-module of the process's code without a file

    static CodeView of(pid_t process);
};

// Opens the file behind a mapping for reading.
using MappedFileOpener = std::function<Result<UniqueFd>(const Mapping&)>;

// Modules are added and never change, so an index keeps its meaning. Thread-safe.
class ModuleTable {
  public:
    explicit ModuleTable(MappedFileOpener opener = default_opener());

    // From now on opens files as this process has mapped them.
    void scan_maps(pid_t process);

    // Returns the location of `address`. The address of a byte of a file is its ELF virtual
    // address, or its file offset if the file cannot be read as ELF or no segment shows the byte.
    // An address in "[vdso]" is the distance from the mapping's start. Any other `address`, also
    // with a null `mapping`, is in "[anon]" as it is. Needs: `mapping` contains `address` or is
    // null; `view` is given for processes other than the first.
    CodeLocation locate(const Mapping* mapping, GuestAddress address,
                        const CodeView* view = nullptr);
    // Whether the memory shows no file that names its code: what a just-in-time compiler made, or
    // shared memory. A memfd may hold either that or a program or library.
    bool has_no_file(const Mapping& mapping, const CodeView* view = nullptr);

    // The pseudo-module of code without a file in that memory. If the process has a jitdump, it is
    // one of that file alone, since the process may come to have another one: by exec, or after a
    // fork. Its build-id is then what tells the dump apart.
    std::uint32_t code_without_file(const MemoryMap& map, const CodeView* view = nullptr);

    // The pseudo-module of a script (script_functions.h).
    std::uint32_t script(std::string_view name);
    // The pseudo-module of system calls (kernel_calls.h); nothing if it was not added.
    std::optional<std::uint32_t> kernel() const;
    std::uint32_t add_kernel();

    std::vector<Module> modules() const;
    // A name by which the mapped file can be opened as long as this table exists. It is the file's
    // own name if the file was not kept open.
    std::string path_to(std::uint32_t module) const;
    // The files of the modules, by index. Files that could not be opened and all files beyond the
    // first few hundred have none, and pseudo-modules at most a jitdump. The files' names may lead
    // elsewhere by now, or nowhere.
    std::vector<UniqueFd> take_files();
    // Copies of the files, for while they are still needed here.
    std::vector<UniqueFd> copy_files() const;
    // The perf maps of code without a file as they are now, by index of its pseudo-module. Modules
    // of other kinds, and processes without a map, have none. The processes may be gone.
    std::vector<UniqueFd> open_perf_maps() const;
    // The names of memfds that were executed and could not be opened.
    std::set<std::string> closed_memfds() const;

  private:
    struct Entry {
        Module module;
        ElfLayout layout;
        UniqueFd file;
    };
    using FileKey = std::tuple<std::string, std::uint64_t, std::uint64_t>;  // path, device, inode

    static MappedFileOpener default_opener();
    std::optional<std::uint32_t> file_module(const Mapping& mapping, const CodeView* view);
    std::uint32_t code_without_names(const CodeView* view);
    Result<UniqueFd> open(const Mapping& mapping, const CodeView* view) const;
    bool has_room_for_file() const;
    std::uint32_t pseudo_module(std::string_view name);
    std::uint32_t add(Entry entry);

    mutable std::mutex mutex_;
    MappedFileOpener opener_;
    pid_t first_process_ = 0;
    std::vector<Entry> entries_;
    std::map<FileKey, std::optional<std::uint32_t>> by_file_;     // nothing: no module of its own
    std::map<std::string, PerfMapPlace, std::less<>> perf_maps_;  // by name of pseudo-module
    std::set<std::string> closed_memfds_;
};

// Locates addresses in the memory layout of one moment. Not thread-safe.
class AddressResolver {
  public:
    virtual ~AddressResolver() = default;
    virtual CodeLocation resolve(GuestAddress address) = 0;
};

// Locates by a process's memory map. The map, the table and the view (if any) must outlive it.
class MapResolver final : public AddressResolver {
  public:
    MapResolver(const MemoryMap& map, ModuleTable& modules, const CodeView* view = nullptr)
        : map_(map), modules_(modules), view_(view) {}

    // Must be called when the map is another one.
    void begin_map() { without_file_ = unknown; }

    CodeLocation resolve(GuestAddress address) override {
        const Mapping* mapping = map_.find(address);
        if (!mapping || !modules_.has_no_file(*mapping, view_))
            return modules_.locate(mapping, address, view_);
        if (without_file_ == unknown) without_file_ = modules_.code_without_file(map_, view_);
        return {without_file_, address.value};
    }

  private:
    static constexpr auto unknown = std::numeric_limits<std::uint32_t>::max();

    const MemoryMap& map_;
    ModuleTable& modules_;
    const CodeView* view_;
    std::uint32_t without_file_ = unknown;  // module of code without a file in this map
};

}  // namespace shadowprof
