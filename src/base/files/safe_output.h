// An output file that appears under its name only when it is complete.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/byte_sink.h"
#include "base/files/fd.h"

namespace shadowprof {

// Returns the name for process `pid`: %p becomes the pid, and %% a percent sign. Any other % stands
// for itself.
std::string expand_output_name(std::string_view pattern, pid_t pid);

// How the user named an output. Advice in error messages depends on it.
enum class NamedBy : std::uint8_t {
    option,   // by -o
    command,  // by other means: errors do not mention -o
};

// Whether an older file of the same name is kept.
enum class OlderFile : std::uint8_t { is_kept, is_replaced };

// Who may read a new file.
enum class Readers : std::uint8_t {
    by_mask,  // whom the user's mask allows
    owner,
};

// An output that is opened before there is anything to write, so that a name that cannot be written
// is known before the target starts. Bytes go to a temporary file beside the named one, which
// commit() renames. The destructor removes the temporary file of an output that was not committed.
// The temporary file is created by the first flush, so that a process killed in a long run leaves
// nothing.
//
// "-" is standard output. Devices, pipes and the like (/dev/null, /dev/stdout) are opened and
// written in place. For a symbolic link, the file that it points to is replaced, not the link.
class SafeOutput final : public ByteSink {
  public:
    // `pattern` may hold %p and %% in its last component, see expand_output_name(). Error messages
    // name the file and a remedy.
    static Result<SafeOutput> open(std::string pattern, NamedBy named_by = NamedBy::option,
                                   Readers readers = Readers::by_mask);

    SafeOutput(SafeOutput&& other) noexcept;
    SafeOutput& operator=(SafeOutput&&) = delete;
    ~SafeOutput() override;

    // The name as it was given, with %p.
    const std::string& name() const { return pattern_; }
    // Whether the output is a file of its own: not standard output, and not written in place.
    bool is_file() const { return static_cast<bool>(directory_); }

    // Writes are buffered. After an error all writes fail.
    Result<void> write(std::string_view bytes) override;
    // Forgets what was written. Needs: is_file().
    void restart();

    // Completes the output; call it once. Afterwards the file with its final name holds all that
    // was written and is on the disk. An older file of that name is kept as NAME.old, unless it is
    // to be replaced. On an error all files are as they were before. Returns the final name.
    Result<std::string> commit(pid_t pid, OlderFile older = OlderFile::is_kept);

  private:
    SafeOutput(std::string pattern, NamedBy named_by, Readers readers)
        : pattern_(std::move(pattern)), named_by_(named_by), readers_(readers) {}
    Result<void> open_standard_output();
    Result<void> open_in_place(const std::string& path);
    // Checks by creating a file that the directory can be written to.
    Result<void> open_directory(const std::string& path);
    Result<void> create_temporary();
    void remove_temporary();
    Result<void> flush();
    Result<void> install(const std::string& name, OlderFile older);
    Error error(int error_number, std::string_view what) const;

    std::string pattern_;
    NamedBy named_by_;
    Readers readers_;
    UniqueFd directory_;     // where the file goes; none if written in place
    std::string base_;       // pattern of the last component
    std::string temporary_;  // name in directory_; empty if there is none
    UniqueFd file_;          // none before the first flush, unless written in place
    std::string buffer_;
    bool failed_ = false;
};

}  // namespace shadowprof
