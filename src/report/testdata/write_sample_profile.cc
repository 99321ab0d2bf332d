// Writes the sample profile to standard output, for tests in other languages.
#include <cstdio>

#include "report/profile_file/profile_writer.h"
#include "report/testdata/sample_profile.h"

int main() {
    using namespace shadowprof;
    StringSink sink;
    auto symbols = sample_symbols();
    if (!write_profile(sample_profile_with_times(), symbols, sink)) return 1;
    return std::fwrite(sink.text().data(), 1, sink.text().size(), stdout) == sink.text().size() ? 0
                                                                                                : 1;
}
