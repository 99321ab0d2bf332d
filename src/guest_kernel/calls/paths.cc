#include "guest_kernel/calls/paths.h"

#include <algorithm>
#include <array>

#include "guest_kernel/state/state.h"

namespace shadowprof {
namespace {

std::string without_empty_components(std::string_view path) {
    std::string clean;
    while (!path.empty()) {
        auto component = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(path.size(), component.size() + 1));
        if (component.empty() || component == ".") continue;
        clean += '/';
        clean += component;
    }
    return clean.empty() ? "/" : clean;
}

PathRef join(const PathRef& directory, const std::string& path, bool follow) {
    if (directory.path.empty()) return {directory.base, path, follow};
    return {directory.base, directory.path + "/" + path, follow};
}

}  // namespace

std::string path_key(const PathRef& ref, std::string_view working_directory) {
    if (ref.path.starts_with('/')) return without_empty_components(ref.path);
    if (ref.base != AT_FDCWD)
        return fmt::format("fd:{}{}", ref.base, without_empty_components(ref.path));
    return without_empty_components(fmt::format("{}/{}", working_directory, ref.path));
}

Emulated<std::string> load_path(SyscallCall& call, GuestAddress from) {
    std::string path;
    std::array<char, 256> chunk;
    while (path.size() < SampleFacts::max_path_bytes) {
        // Not beyond the page: the next one may not be mapped.
        GuestAddress at = from + path.size();
        std::size_t size = std::min<std::size_t>(chunk.size(), page_bytes - (at - at.page()));
        auto bytes = std::span(chunk).first(size);
        if (!call.space.read(at, std::as_writable_bytes(bytes))) return failure(EFAULT);
        auto end = std::find(bytes.begin(), bytes.end(), '\0');
        path.append(bytes.begin(), end);
        if (end != bytes.end() && path.size() < SampleFacts::max_path_bytes) return path;
    }
    return failure(ENAMETOOLONG);
}

Emulated<SamplePath> sample_path(SyscallCall& call, int directory, GuestAddress address,
                                 bool follow) {
    TRY_ASSIGN(std::string path, load_path(call, address));
    if (path.empty()) return failure(ENOENT);
    PathRef base = call.sample.working_directory;
    if (path.front() != '/' && directory != AT_FDCWD) {
        TRY_ASSIGN(Descriptor * descriptor, call.sample.descriptors.find(directory));
        if (descriptor->file->kind() != FileKind::directory) return failure(ENOTDIR);
        base = descriptor->file->directory;
    }
    if (path.front() == '/') base = {};
    TRY_ASSIGN(const SampleFacts* facts, call.sample.facts());
    PathRef ref = join(base, path, follow);
    std::string key = path_key(ref, facts->working_directory.data());
    return SamplePath{std::move(ref), std::move(key)};
}

SamplePath parent_of(const SamplePath& path) {
    auto above = [](std::string text, const char* if_none) -> std::string {
        while (text.size() > 1 && text.ends_with('/')) text.pop_back();
        auto slash = text.rfind('/');
        if (slash == std::string::npos) return if_none;
        return slash == 0 ? "/" : text.substr(0, slash);
    };
    return {{path.ref.base, above(path.ref.path, "."), true}, above(path.key, "/")};
}

Emulated<FoundFile> find_file(SyscallCall& call, const SamplePath& path) {
    auto entry = call.sample.names.find(path.key);
    switch (entry.state) {
        case PathOverlay::State::removed:
            return failure(ENOENT);
        case PathOverlay::State::unknown:
            return ends(SampleEnd::unsafe_syscall, "the name changed in the sample");
        case PathOverlay::State::present:
            if (entry.node->attributes_changed)
                return ends(SampleEnd::unsafe_syscall,
                            "the file's attributes changed in the sample");
            return FoundFile{entry.node->current_status(), entry.node};
        case PathOverlay::State::untouched:
            break;
    }
    TRY_ASSIGN(FileStatus real, emulated(call.sample.outside.stat_path(path.ref)));
    TRY_ASSIGN(FileStatus status, call.sample.files.current_status(real));
    return FoundFile{status, nullptr};
}

}  // namespace shadowprof
