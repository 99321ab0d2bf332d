// libFuzzer: arbitrary text as a profile. A text that is accepted is shown, exported in every
// format, merged and compared with itself, and written, which must result in a profile again.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "profile/merge/merge.h"
#include "report/accuracy/accuracy_report.h"
#include "report/export/export.h"
#include "report/profile_file/profile_reader.h"
#include "report/profile_file/profile_writer.h"
#include "report/symbols/merged_symbols.h"
#include "report/text/summary.h"

using namespace shadowprof;
using Json = nlohmann::json;

// libFuzzer's own byte-wise mutator.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

[[noreturn]] void fail(std::string_view what, std::string_view why) {
    fmt::print(stderr, "{}: {}\n", what, why);
    std::abort();
}

class NullSink final : public ByteSink {
  public:
    Result<void> write(std::string_view) override { return {}; }
};

void must_say_why(const Error& error) {
    if (error.message.empty()) fail("an error", "has no message");
}

void show(ProfileFile& file) {
    struct Close {
        void operator()(std::FILE* out) const { std::fclose(out); }
    };
    const std::unique_ptr<std::FILE, Close> null(std::fopen("/dev/null", "w"));
    print_summary(file.profile, file.symbols, {}, null.get());
}

void export_all(ProfileFile& file) {
    NullSink sink;
    for (const ExportFormat& format : export_formats()) {
        ExportInput input{.profile = file.profile, .symbols = file.symbols};
        if (format.one_module) {
            const auto module = choose_module(file.profile, "");
            if (!module) continue;
            input.module = *module;
        }
        const auto done = format.write(input, sink);
        if (!done) must_say_why(done.error());
    }
    for (std::string_view table : csv_tables()) {
        const ExportInput input{.profile = file.profile, .symbols = file.symbols, .table = table};
        const auto done = find_export_format("csv")->write(input, sink);
        if (!done) must_say_why(done.error());
    }
}

void compare(const ProfileFile& file) {
    const auto accuracy = measure_accuracy(file.profile, file.profile, 5);
    if (!accuracy) return must_say_why(accuracy.error());
    MergedSymbols symbols;
    symbols.add(file.profile.modules, file.symbols);
    symbols.number_as(accuracy->modules);
    const AccuracySide side{"profile", file.profile};
    NullSink sink;
    accuracy_text(*accuracy, {side, side, side}, symbols);
    if (!write_accuracy(*accuracy, {side, side, side}, symbols, sink))
        fail("accuracy", "not written");
}

void write_again(const Profile& profile, SymbolSource& symbols, std::string_view what) {
    StringSink sink;
    if (!write_profile(profile, symbols, sink)) fail(what, "not written");
    const auto again = parse_profile(sink.text());
    if (!again) fail(what, again.error().message);
}

void merge(const ProfileFile& file) {
    Profile sum = file.profile;
    merge_into(sum, file.profile);
    MergedSymbols symbols;
    symbols.add(file.profile.modules, file.symbols);
    symbols.number_as(sum.modules);
    write_again(sum, symbols, "a sum");
}

std::vector<Json*> all_values(Json& root) {
    std::vector<Json*> values{&root};
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i]->is_structured())
            for (Json& child : *values[i]) values.push_back(&child);
    return values;
}

const Json& any_of(const std::vector<Json>& list, std::mt19937& random) {
    return list[random() % list.size()];
}

// Returns another value, mostly of the same type, because another type is refused at once.
Json other_value(const Json& value, std::mt19937& random) {
    static const std::vector<Json> counts{0,
                                          1,
                                          2,
                                          5,
                                          7,
                                          64,
                                          255,
                                          4096,
                                          std::uint64_t{1} << 31,
                                          std::uint64_t{1} << 32,
                                          std::uint64_t{1} << 56,
                                          INT64_MAX,
                                          UINT64_MAX};
    static const std::vector<Json> numbers{0.0, -0.0, 0.5, 1, -1, 1e-308, -1e308, 1e308, INT64_MIN};
    static const std::vector<Json> addresses{"0x0",
                                             "0x1",
                                             "0x1000",
                                             "0xffffffffffffffff",
                                             "-0x1",
                                             "0x",
                                             "0x8000000000000000",
                                             "0x10000000000000000"};
    static const std::vector<Json> texts{"",    "[anon]", "[vdso]",         "/bin/true", "main",
                                         "u64", "f32x4",  "\u001b[2J\n;\"", "taken"};
    static const std::vector<Json> others{true, nullptr, Json::array(), Json::object(), 3, "x"};
    if (random() % 8 == 0) return any_of(others, random);
    if (value.is_number_unsigned()) return any_of(counts, random);
    if (value.is_number()) return any_of(numbers, random);
    if (value.is_boolean()) return !value.get<bool>();
    if (!value.is_string()) return any_of(others, random);
    return any_of(value.get_ref<const std::string&>().starts_with("0x") ? addresses : texts,
                  random);
}

void change(Json& root, std::mt19937& random) {
    const auto values = all_values(root);
    Json& chosen = *values[random() % values.size()];
    if (chosen.is_array() && !chosen.empty()) {
        const auto at = chosen.begin() + static_cast<std::ptrdiff_t>(random() % chosen.size());
        if (random() % 3 == 0)
            chosen.erase(at);
        else
            chosen.insert(at, Json(*at));
    } else if (!chosen.is_structured()) {
        chosen = other_value(chosen, random);
    } else if (random() % 16 == 0 && !chosen.empty()) {
        chosen.erase(
            std::next(chosen.begin(), static_cast<std::ptrdiff_t>(random() % chosen.size())));
    } else if (random() % 16 == 0) {
        chosen = Json(*values[random() % values.size()]);
    }
}

}  // namespace

// Mostly changes values, because changes of bytes rarely leave a valid profile.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    std::mt19937 random(seed);
    Json root = Json::parse(data, data + size, nullptr, false);
    if (root.is_discarded() || random() % 8 == 0) return LLVMFuzzerMutate(data, size, most);
    for (auto left = 1 + random() % 4; left > 0; --left) change(root, random);
    const std::string text = root.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
    std::copy(text.begin(), text.end(), data);
    return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto file = parse_profile({reinterpret_cast<const char*>(data), size});
    if (!file) {
        must_say_why(file.error());
        return 0;
    }
    show(*file);
    export_all(*file);
    compare(*file);
    merge(*file);
    write_again(file->profile, file->symbols, "a profile");
    return 0;
}
