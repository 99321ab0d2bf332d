// One function for each format. Locations may have any names. An error says what the profile lacks
// and which option of `shadowprof run` collects it.
#pragma once

#include "base/files/byte_sink.h"
#include "report/export/export_input.h"

namespace shadowprof {

// Brendan Gregg's folded stacks: "main;work;step 1234", one stack a line. The number is the stack's
// weight.
Result<void> write_folded(const ExportInput& input, ByteSink& sink);
// RFC 4180, with a header line.
Result<void> write_csv(const ExportInput& input, ByteSink& sink);
// Callgrind's format, version 1 (valgrind's manual, "Callgrind Format Specification").
Result<void> write_callgrind(const ExportInput& input, ByteSink& sink);
// https://www.speedscope.app/file-format-schema.json
Result<void> write_speedscope(const ExportInput& input, ByteSink& sink);
// A gzipped perftools.profiles.Profile (github.com/google/pprof, proto/profile.proto).
Result<void> write_pprof(const ExportInput& input, ByteSink& sink);
// Pre-aggregated branches of one module for perf2bolt -pa of BOLT 16.
Result<void> write_bolt(const ExportInput& input, ByteSink& sink);
// An unsymbolized profile of one module for llvm-profgen.
Result<void> write_llvm_profgen(const ExportInput& input, ByteSink& sink);
// LLVM's sample profile of one module as text (clang's manual, "Sample Profile Text Format").
Result<void> write_llvm_sample(const ExportInput& input, ByteSink& sink);

}  // namespace shadowprof
