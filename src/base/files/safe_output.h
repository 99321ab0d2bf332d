// A file that is complete or not there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/byte_sink.h"
#include "base/files/fd.h"

namespace shadowprof {

// The name for process `pid`: %p becomes the pid, %% a percent sign; any other % stands for itself.
std::string expand_output_name(std::string_view pattern, pid_t pid);

// Where the user has named an output, for what to do about errors.
enum class NamedBy : std::uint8_t {
    option,   // -o
    command,  // or by what follows from other names
};

// An output that is opened before there is anything to write, so that a name that cannot be
// written is known before the target starts. What is written goes to a temporary file beside the
// named one; nothing has the name until commit(). The destructor of an output that was not
// committed removes the temporary. There is none before the first write: who is killed in a long
// run leaves nothing.
//
// "-" is standard output. Names of devices, pipes and the like (/dev/null, /dev/stdout) are opened
// and written in place. A symbolic link is followed: the file that it names is replaced, not it.
class SafeOutput final : public ByteSink {
  public:
    // `pattern` may hold %p and %% in its last component, see expand_output_name(). Errors name the
    // file and what to do.
    static Result<SafeOutput> open(std::string pattern, NamedBy named_by = NamedBy::option);

    SafeOutput(SafeOutput&& other) noexcept;
    SafeOutput& operator=(SafeOutput&&) = delete;
    ~SafeOutput() override;

    // A file of its own: not standard output, and not written in place.
    bool is_file() const { return static_cast<bool>(directory_); }

    // Buffered. After an error everything fails.
    Result<void> write(std::string_view bytes) override;

    // Ends the output: after it, the file with its final name holds all that was written and is on
    // the disk, and an older file of that name is kept as NAME.old. On an error all files are as
    // they were before. Call it once. Returns the final name.
    Result<std::string> commit(pid_t pid);

  private:
    SafeOutput(std::string pattern, NamedBy named_by)
        : pattern_(std::move(pattern)), named_by_(named_by) {}
    Result<void> open_standard_output();
    Result<void> open_in_place(const std::string& path);
    // Files can be created in it: one was.
    Result<void> open_directory(const std::string& path);
    Result<void> create_temporary();
    void remove_temporary();
    Result<void> flush();
    Result<void> install(const std::string& name);
    Error error(int error_number, std::string_view what) const;

    std::string pattern_;
    NamedBy named_by_;
    UniqueFd directory_;     // of the file; none if written in place
    std::string base_;       // pattern of the last component
    std::string temporary_;  // name in directory_; empty if there is none (any more)
    UniqueFd file_;          // none before the first flush, but in place
    std::string buffer_;
    bool failed_ = false;
};

}  // namespace shadowprof
