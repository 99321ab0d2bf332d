// Translation of guest addresses to ELF virtual addresses.
#include "profile/code/module_table.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/text/text_format.h"
#include "profile/code/jit_dump_file.h"
#include "profile/code/mapped_file.h"

namespace shadowprof::module_table_test {
namespace {

MemoryMap own_map() {
    std::ifstream in("/proc/self/maps");
    std::stringstream text;
    text << in.rdbuf();
    auto map = MemoryMap::parse(text.str());
    REQUIRE(map.has_value());
    return *map;
}

GuestAddress address_of(const void* object) {
    return {reinterpret_cast<std::uintptr_t>(object)};
}

Mapping file_mapping(std::string name) {
    Mapping mapping;
    mapping.start = {0x7000000};
    mapping.end = {0x7100000};
    mapping.executable = true;
    mapping.file_offset = 0x3000;
    mapping.device = 1;
    mapping.inode = 77;
    mapping.name = std::move(name);
    return mapping;
}

// A file that is removed when the test ends.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& content) {
        const int fd = ::mkstemp(path_.data());
        REQUIRE(fd >= 0);
        REQUIRE(::write(fd, content.data(), content.size()) ==
                static_cast<ssize_t>(content.size()));
        ::close(fd);
    }
    ~TemporaryFile() { ::unlink(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_ = "/tmp/shadowprof-test-XXXXXX";
};

std::string own_file() {
    std::ifstream in("/proc/self/exe", std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
}

TEST_CASE("a function's location is its ELF address, wherever the file is loaded") {
    // Segments of this test program have other addresses than file offsets: lld and gold do that
    // for all segments, GNU ld for data.
    const MemoryMap map = own_map();
    ModuleTable table;
    MapResolver resolver(map, table);
    static const int constant = 7;
    static int variable = 8;
    const auto code = resolver.resolve(address_of(reinterpret_cast<const void*>(&file_mapping)));
    const auto read_only = resolver.resolve(address_of(&constant));
    const auto data = resolver.resolve(address_of(&variable));
    CHECK(code.module == read_only.module);
    CHECK(code.module == data.module);
    // The load bias, which is the same for the whole file.
    const auto bias = [](const void* p, CodeLocation l) { return address_of(p).value - l.address; };
    CHECK(bias(reinterpret_cast<const void*>(&file_mapping), code) == bias(&constant, read_only));
    CHECK(bias(reinterpret_cast<const void*>(&file_mapping), code) == bias(&variable, data));
    const Module module = table.modules().at(code.module);
    CHECK(module.path.find("profile_test") != std::string::npos);
    CHECK(module.size_bytes == own_file().size());
}

TEST_CASE("the build-id is read, in hexadecimal") {
    const MemoryMap map = own_map();
    ModuleTable table;
    MapResolver resolver(map, table);
    resolver.resolve(address_of(reinterpret_cast<const void*>(&std::abort)));
    const Module libc = table.modules().at(0);
    CAPTURE(libc.path);
    CHECK(libc.build_id.size() == 40);
    CHECK(libc.build_id.find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("offsets become addresses by the segment that holds them") {
    const ElfLayout layout({{0, 0x800, 0x400000, false},
                            {0x800, 0x1000, 0x401800, true},
                            {0x2000, 0x100, 0x700000, false}},
                           "");
    CHECK(layout.address_of(0x10) == 0x400010);
    CHECK(layout.address_of(0x7ff) == 0x4007ff);
    CHECK(layout.address_of(0x800) == 0x401800);
    CHECK(layout.address_of(0x1900) == 0x402900);  // behind the segment, in its last page
    CHECK(layout.address_of(0x2050) == 0x700050);
    CHECK(layout.address_of(0x2fff) == 0x700fff);
    CHECK_FALSE(layout.address_of(0x3000).has_value());
}

TEST_CASE("code without a file is another process's where that says so, files are the same") {
    const MemoryMap map = own_map();
    ModuleTable table;
    const CodeView other = CodeView::of(::getpid());
    const GuestAddress stack = address_of(&map),
                       code = address_of(reinterpret_cast<void*>(&own_map));
    const auto own = table.locate(map.find(stack), stack);
    const auto others = table.locate(map.find(stack), stack, &other);
    CHECK(own.module != others.module);
    CHECK(own.address == others.address);
    CHECK(table.modules().at(others.module).path == fmt::format("[anon {}]", ::getpid()));
    CHECK(table.locate(nullptr, stack, &other).module == others.module);
    CHECK(table.locate(map.find(code), code) == table.locate(map.find(code), code, &other));
    CHECK(process_of_anonymous_module("[anon 12]") == 12);
    for (const char* path : {"[anon]", "[anon ]", "[anon 12", "[anon 12] ", "[anon x]", "/a", ""})
        CHECK_MESSAGE(!process_of_anonymous_module(path), path);
}

TEST_CASE("code without a file is in [anon] at its own address") {
    ModuleTable table;
    Mapping jit;
    jit.start = {0x10000};
    jit.end = {0x20000};
    const auto in_jit = table.locate(&jit, {0x12345});
    CHECK(in_jit.address == 0x12345);
    CHECK(table.modules().at(in_jit.module).path == "[anon]");
    CHECK(table.locate(nullptr, {0x99}) == CodeLocation{in_jit.module, 0x99});
    const Mapping memfd = file_mapping("/memfd:jit-cache (deleted)");
    CHECK(table.locate(&memfd, {0x7000010}) == CodeLocation{in_jit.module, 0x7000010});
}

TEST_CASE("a jitdump is the one that the process has mapped as executable") {
    const auto found = [](std::vector<std::pair<const char*, bool>> files) -> std::string {
        std::vector<Mapping> mappings;
        for (const auto& [name, executable] : files) {
            mappings.push_back(file_mapping(fmt::format("/somewhere/{}", name)));
            mappings.back().executable = executable;
            mappings.back().start = {0x1000 * mappings.size()};
            mappings.back().end = {0x1000 * (mappings.size() + 1)};
        }
        const MemoryMap map(mappings);
        const Mapping* dump = find_jit_dump(map, 12);
        return dump ? std::string(base_name(dump->name)) : "none";
    };
    CHECK(found({{"jit-12.dump", true}}) == "jit-12.dump");
    CHECK(found({{"jit-12.dump (deleted)", true}}) == "jit-12.dump (deleted)");
    for (const char* name : {"jit-.dump", "jit-1x.dump", "jit-12.dumps", "a-jit-12.dump",
                             "jit-99999999999.dump", "jit--1.dump", "jit-.dump-12", ".dump"})
        CHECK_MESSAGE(found({{name, true}}) == "none", name);
    CHECK(found({{"jit-12.dump", false}}) == "none");
    // A child has those of its parents, too.
    CHECK(found({{"jit-11.dump", true}, {"jit-12.dump", true}, {"jit-13.dump", true}}) ==
          "jit-12.dump");
    CHECK(found({{"jit-3.dump", true}, {"jit-5.dump", true}, {"jit-4.dump", true}}) ==
          "jit-5.dump");
}

TEST_CASE("code without a file is told apart by the jitdump of its memory, which is kept") {
    const TemporaryFile first("names"), second("others");
    Mapping code;
    code.start = {0x10000};
    code.end = {0x20000};
    code.executable = true;
    const auto map_with = [&](const char* dump, std::uint64_t inode) {
        if (dump == nullptr) return MemoryMap({code});
        Mapping shown = file_mapping(dump);
        shown.inode = inode;
        return MemoryMap({code, shown});
    };
    ModuleTable table([&](const Mapping& mapping) -> Result<UniqueFd> {
        const auto& file = mapping.name == "/jit-1.dump" ? first : second;
        return UniqueFd(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
    });
    MemoryMap map = map_with(nullptr, 0);
    MapResolver resolver(map, table);
    const auto before = resolver.resolve({0x12345});
    map = map_with("/jit-1.dump", 1);
    CHECK(resolver.resolve({0x12345}) == before);
    resolver.begin_map();
    const auto with_first = resolver.resolve({0x12345});
    map = map_with("/jit-2.dump", 2);
    resolver.begin_map();
    const auto with_second = resolver.resolve({0x12345});
    map = map_with("/jit-1.dump", 1);
    resolver.begin_map();
    CHECK(resolver.resolve({0x12345}) == with_first);
    CHECK(before.module != with_first.module);
    CHECK(with_first.module != with_second.module);
    CHECK(with_first.address == 0x12345);

    const auto modules = table.modules();
    for (const auto at : {before, with_first, with_second})
        CHECK(modules.at(at.module).path == "[anon]");
    CHECK(modules.at(before.module).build_id.empty());
    CHECK(modules.at(with_first.module).build_id.size() == 40);
    CHECK(modules.at(with_first.module).build_id != modules.at(with_second.module).build_id);
    const auto files = table.take_files();
    CHECK_FALSE(files.at(before.module));
    CHECK(files.at(with_first.module));
    CHECK(files.at(with_second.module));
}

TEST_CASE("the vDSO counts from its start") {
    ModuleTable table;
    Mapping vdso;
    vdso.start = {0x7fff1000};
    vdso.end = {0x7fff3000};
    vdso.name = "[vdso]";
    const auto location = table.locate(&vdso, {0x7fff1a30});
    CHECK(location.address == 0xa30);
    CHECK(table.modules().at(location.module).path == "[vdso]");
}

TEST_CASE("a file that cannot be read keeps its name, at file offsets") {
    ModuleTable table;
    const Mapping mapping = file_mapping("/no/such/file");
    const auto location = table.locate(&mapping, {0x7000010});
    CHECK(location.address == 0x3010);
    CHECK(table.modules().at(location.module).path == "/no/such/file");
    CHECK(table.modules().at(location.module).size_bytes == 0);
}

TEST_CASE("a deleted or replaced file is not taken for the one that was mapped") {
    CHECK(open_mapped_file(file_mapping("/bin/true (deleted)")).error().code ==
          ErrorCode::not_found);
    const TemporaryFile file("x");
    const MemoryMap map = [&] {
        const int fd = ::open(file.path().c_str(), O_RDONLY);
        void* memory = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
        ::close(fd);
        MemoryMap with_file = own_map();
        ::munmap(memory, 4096);
        return with_file;
    }();
    Mapping mapped;
    for (const Mapping& m : map.mappings())
        if (m.name == file.path()) mapped = m;
    REQUIRE(mapped.inode != 0);
    CHECK(open_mapped_file(mapped).has_value());
    ++mapped.inode;
    // If stat shows another device than maps does, replacement cannot be detected.
    const auto opened = open_mapped_file(mapped);
    if (!opened) CHECK(opened.error().code == ErrorCode::not_found);
}

TEST_CASE("a deleted file that is still mapped is had from the process") {
    const std::string content(5000, 'x');
    void* memory = nullptr;
    std::string path;
    {
        const TemporaryFile file(content);
        path = file.path();
        const int fd = ::open(path.c_str(), O_RDONLY);
        memory = ::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
        ::close(fd);
        REQUIRE(memory != MAP_FAILED);
    }
    const MemoryMap map = own_map();
    const Mapping* mapping = map.find(address_of(memory));
    REQUIRE(mapping);
    CHECK(mapped_path(*mapping) == path);
    CHECK(mapping->name != path);
    auto opened = open_mapped_file(*mapping, FileView::of(::getpid()));
    // Without privileges, /proc does not open the file.
    if (opened) CHECK(::lseek(opened->get(), 0, SEEK_END) == 5000);
    CHECK((opened || opened.error().code == ErrorCode::not_found));

    ModuleTable table;
    table.scan_maps(::getpid());
    const auto location = table.locate(mapping, mapping->start);
    CHECK(table.modules().at(location.module).path == (opened ? path : path + " (deleted)"));
    CHECK(table.take_files().at(location.module).get() >= (opened ? 0 : -1));
    ::munmap(memory, 8192);
}

// Memory that shows a memfd with this content. The memfd stays open if `fd` is given.
const Mapping* mapped_memfd(const std::string& content, MemoryMap& map, UniqueFd* fd = nullptr) {
    UniqueFd memfd(::memfd_create("some code", MFD_CLOEXEC));
    if (!memfd) return nullptr;
    REQUIRE(::write(memfd.get(), content.data(), content.size()) ==
            static_cast<ssize_t>(content.size()));
    void* memory =
        ::mmap(nullptr, content.size(), PROT_READ | PROT_EXEC, MAP_SHARED, memfd.get(), 0);
    if (memory == MAP_FAILED) return nullptr;
    if (fd != nullptr) *fd = std::move(memfd);
    map = own_map();
    return map.find(address_of(memory));
}

TEST_CASE("a memfd is a file where it holds a program, else code without one") {
    MemoryMap map;
    UniqueFd kept;
    const Mapping* const program = mapped_memfd(own_file(), map, &kept);
    if (program == nullptr) return;  // not allowed here
    ModuleTable table;
    table.scan_maps(::getpid());
    CHECK_FALSE(table.has_no_file(*program));
    const auto at = MapResolver(map, table).resolve(program->start + 0x40);
    const Module module = table.modules().at(at.module);
    CHECK(module.path == "/memfd:some code");
    CHECK(module.size_bytes == own_file().size());
    CHECK(table.take_files().at(at.module));

    const Mapping* const code = mapped_memfd(std::string(100, '\x90'), map, &kept);
    REQUIRE(code);
    CHECK(table.has_no_file(*code));
    const auto in_code = MapResolver(map, table).resolve(code->start + 1);
    CHECK(table.modules().at(in_code.module).path == "[anon]");
    CHECK(in_code.address == code->start.value + 1);
    CHECK(table.closed_memfds().empty());
    // Without privileges, /proc does not open a file that nobody keeps.
    const Mapping* const closed = mapped_memfd(own_file(), map);
    REQUIRE(closed);
    CHECK(table.has_no_file(*closed) == !table.closed_memfds().empty());
}

TEST_CASE("a perf map is found where it is written, whenever that is") {
    const pid_t process = ::getpid();
    const std::string path = fmt::format("/tmp/perf-{}.map", process);
    for (const bool is_ours : {true, false}) {
        ::unlink(path.c_str());
        const PerfMapPlace place({process, is_ours}, PerfMapPlace::Folder::kept);
        CHECK(place.keeps_folder() == !is_ours);
        CHECK_FALSE(place.open());
        std::ofstream(path) << "1000 10 name\n";
        const UniqueFd map = place.open();
        std::array<char, 4> start{};
        CHECK(::read(map.get(), start.data(), start.size()) == 4);
        CHECK(std::string_view(start.data(), start.size()) == "1000");
        // A link may lead out of the folder.
        ::unlink(path.c_str());
        REQUIRE(::symlink("/etc/passwd", path.c_str()) == 0);
        CHECK_FALSE(place.open());
    }
    ::unlink(path.c_str());

    ModuleTable table;
    table.scan_maps(process);
    table.locate(nullptr, {0x1234});
    CHECK(table.open_perf_maps().size() == 1);
    CHECK_FALSE(table.open_perf_maps().front());
    std::ofstream(path) << "1000 10 name\n";
    CHECK(table.open_perf_maps().front());
    ::unlink(path.c_str());
}

TEST_CASE("a program is had from its process, whatever its path leads to") {
    const MemoryMap map = own_map();
    Mapping code = *map.find(address_of(reinterpret_cast<const void*>(&file_mapping)));
    code.name += " (deleted)";
    code.start = {0x1000};  // nothing is mapped there
    code.end = {0x2000};
    CHECK(open_mapped_file(code, FileView::of(::getpid())));
    ++code.inode;
    CHECK(!open_mapped_file(code, FileView::of(::getpid())));
}

TEST_CASE("only regular files are opened") {
    CHECK_FALSE(open_mapped_file(file_mapping("/dev/null")).has_value());
    CHECK_FALSE(open_mapped_file(file_mapping("/proc")).has_value());
}

TEST_CASE("files that are not ELF, or broken ELF, do no harm") {
    const std::string good = own_file().substr(0, 1 << 16);
    auto locate = [](const std::string& bytes) {
        const TemporaryFile file(bytes);
        ModuleTable table([&](const Mapping&) -> Result<UniqueFd> {
            return UniqueFd(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
        });
        const Mapping mapping = file_mapping("/lib/broken.so");
        return table.locate(&mapping, {0x7000010});
    };
    for (const std::string& bytes :
         {std::string(), std::string("#!/bin/sh\n"), good.substr(0, 20), good.substr(0, 100)})
        CHECK(locate(bytes).address == 0x3010);
    std::uint64_t state = 1;
    for (int round = 0; round < 300; ++round) {
        std::string bytes = good;
        for (int i = 0; i < 8; ++i) {
            state = state * 6364136223846793005 + 1442695040888963407;
            bytes[(state >> 33) % 1024] = static_cast<char>(state >> 56);
        }
        locate(bytes);
    }
}

TEST_CASE("one file mapped in several pieces, or by several processes, is one module") {
    ModuleTable table;
    Mapping text = file_mapping("/lib/x.so"), data = text, elsewhere = text;
    data.start = text.end;
    data.end = text.end + 0x1000;
    data.file_offset = 0x103000;
    elsewhere.start = {0x9000000};
    elsewhere.end = {0x9100000};
    const auto first = table.locate(&text, {0x7000010});
    CHECK(table.locate(&data, data.start).module == first.module);
    CHECK(table.locate(&elsewhere, {0x9000010}) == first);
    CHECK(table.modules().size() == 1);
}

}  // namespace
}  // namespace shadowprof::module_table_test
