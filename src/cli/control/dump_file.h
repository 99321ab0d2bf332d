// Files for profiles that are written during a run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "shadow/request/dump_request.h"

namespace shadowprof {

class DumpFile {
  public:
    virtual ~DumpFile() = default;
    // To be called once. An error leaves the file system as it was.
    virtual Result<void> write(RunOutcome outcome) = 0;
};
// Opens the file `name`. Errors name the file, the reason and what to do.
using OpenDumpFile = std::function<Result<std::unique_ptr<DumpFile>>(const std::string& name)>;

class DumpFileReceiver final : public DumpReceiver {
  public:
    using OnDone = std::function<void(const Result<void>&)>;

    DumpFileReceiver(std::string name, OpenDumpFile open, OnDone on_done)
        : name_(std::move(name)), open_(std::move(open)), on_done_(std::move(on_done)) {}

    Result<void> open() override {
        TRY_ASSIGN(file_, open_(name_));
        return {};
    }
    Result<void> write(RunOutcome outcome) override { return file_->write(std::move(outcome)); }
    void on_done(const Result<void>& done) override { on_done_(done); }

  private:
    const std::string name_;
    const OpenDumpFile open_;
    const OnDone on_done_;
    std::unique_ptr<DumpFile> file_;
};

}  // namespace shadowprof
