#include <map>
#include <tuple>

#include "base/text/text_format.h"
#include "profile/kinds/values/value_number.h"
#include "profile/kinds/values/value_text.h"
#include "report/compression/gzip.h"
#include "report/export/protobuf.h"
#include "report/export/writers.h"
#include "report/lists/frames.h"

namespace shadowprof {
namespace {

// Field numbers of proto/profile.proto.
namespace in_profile {
enum : std::uint32_t {
    sample_type = 1,
    sample = 2,
    mapping = 3,
    location = 4,
    function = 5,
    string_table = 6,
    comment = 13,
    default_sample_type = 14,
};
}
namespace in_value_type {
enum : std::uint32_t { type = 1, unit = 2 };
}
namespace in_sample {
enum : std::uint32_t { location_id = 1, value = 2, label = 3 };
}
namespace in_label {
enum : std::uint32_t { key = 1, str = 2, num = 3 };
}
namespace in_mapping {
enum : std::uint32_t {
    id = 1,
    memory_start = 2,
    memory_limit = 3,
    filename = 5,
    build_id = 6,
    has_functions = 7,
    has_filenames = 8,
    has_line_numbers = 9,
    has_inline_frames = 10,
};
}
namespace in_location {
enum : std::uint32_t { id = 1, mapping_id = 2, address = 3, line = 4 };
}
namespace in_line {
enum : std::uint32_t { function_id = 1, line = 2 };
}
namespace in_function {
enum : std::uint32_t { id = 1, name = 2, system_name = 3, filename = 4 };
}

// Indices into sample_types.
enum SampleType : std::size_t { instructions, processor_time, recorded_values };
struct TypeName {
    std::string_view type, unit;
};
constexpr TypeName sample_types[] = {
    {"instructions", "count"}, {"cpu", "nanoseconds"}, {"recorded_values", "count"}};

class PprofBuilder {
  public:
    explicit PprofBuilder(const ExportInput& input) : input_(input) { (void)text(""); }

    std::string build() {
        for (const TypeName& name : sample_types) {
            ProtobufMessage type;
            type.number(in_value_type::type, text(name.type));
            type.number(in_value_type::unit, text(name.unit));
            out_.message(in_profile::sample_type, type);
        }
        for (std::size_t i = 0; i < input_.profile.modules.size(); ++i) add_mapping(i);
        for (const Stack& stack : input_.profile.stacks) add_stack(stack);
        for (const ValueProfile& values : input_.profile.values) add_values(values);
        out_.number(in_profile::comment,
                    text(fmt::format("shadowprof {}, mode {}", SHADOWPROF_VERSION,
                                     input_.profile.sampling.mode)));
        const auto shown = input_.weight == StackWeight::time ? processor_time : instructions;
        out_.number(in_profile::default_sample_type, text(sample_types[shown].type));
        for (const std::string& each : strings_) out_.string(in_profile::string_table, each);
        return out_.bytes();
    }

  private:
    // Returns a string's number in the string table; 0 is the empty string.
    std::uint64_t text(std::string_view string) {
        const std::string clean = printable(string);
        const auto [it, added] = string_numbers_.try_emplace(clean, strings_.size());
        if (added) strings_.push_back(clean);
        return it->second;
    }

    // Addresses are those of the file itself, so that one mapping contains all of them.
    void add_mapping(std::size_t index) {
        const Module& module = input_.profile.modules[index];
        ProtobufMessage mapping;
        mapping.number(in_mapping::id, index + 1);
        mapping.number(in_mapping::memory_limit, ~std::uint64_t{0});
        mapping.number(in_mapping::filename, text(module.path));
        mapping.number(in_mapping::build_id, text(module.build_id));
        mapping.flag(in_mapping::has_functions, true);
        mapping.flag(in_mapping::has_filenames, true);
        mapping.flag(in_mapping::has_line_numbers, true);
        mapping.flag(in_mapping::has_inline_frames, true);
        out_.message(in_profile::mapping, mapping);
    }

    std::uint64_t function_id(const ExportFrame& frame) {
        const auto [it, added] = functions_.try_emplace({frame.function, std::string(frame.file)},
                                                        functions_.size() + 1);
        if (added) {
            ProtobufMessage function;
            function.number(in_function::id, it->second);
            function.number(in_function::name, text(frame.function));
            function.number(in_function::system_name, text(frame.function));
            function.number(in_function::filename, text(frame.file));
            out_.message(in_profile::function, function);
        }
        return it->second;
    }

    // `function_alone` is for the last frame of a stack, of which only the function is known.
    std::uint64_t location_id(CodeLocation at, bool function_alone) {
        const auto [it, added] =
            locations_.try_emplace({at, function_alone}, locations_.size() + 1);
        if (!added) return it->second;
        const auto& modules = input_.profile.modules;
        const auto frames = function_alone
                                ? std::vector{function_frame(modules, input_.symbols, at)}
                                : frames_at(modules, input_.symbols, at);
        ProtobufMessage location;
        location.number(in_location::id, it->second);
        location.number(in_location::mapping_id, at.module + 1);
        location.number(in_location::address, at.address);
        // The innermost inlined function comes first.
        for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
            ProtobufMessage line;
            line.number(in_line::function_id, function_id(*frame));
            line.number(in_line::line, frame->line);
            location.message(in_location::line, line);
        }
        out_.message(in_profile::location, location);
        return it->second;
    }

    using Amounts = std::array<std::uint64_t, std::size(sample_types)>;

    void add_stack(const Stack& stack) {
        if (stack.frames.empty() || (stack.instructions == 0 && stack.time_ns == 0)) return;
        std::vector<std::uint64_t> leaf_first;
        for (std::size_t i = stack.frames.size(); i-- > 0;)
            leaf_first.push_back(location_id(stack.frames[i], i + 1 == stack.frames.size()));
        ProtobufMessage sample;
        sample.packed(in_sample::location_id, leaf_first);
        Amounts amounts{};
        amounts[instructions] = stack.instructions;
        amounts[processor_time] = stack.time_ns;
        sample.packed(in_sample::value, amounts);
        out_.message(in_profile::sample, sample);
    }

    // A value becomes a label: a number if it is one integer, else text.
    void add_values(const ValueProfile& values) {
        const std::uint64_t location = location_id(values.at, false);
        for (const TopValue& top : values.top) {
            ProtobufMessage operand, value, sample;
            operand.number(in_label::key, text("operand"));
            operand.number(in_label::str, text(values.operand));
            value.number(in_label::key, text("value"));
            if (is_integer(values))
                value.number(in_label::num, number_of(top.value));
            else
                value.number(in_label::str, text(value_text(top.value, values.type)));
            sample.packed(in_sample::location_id, std::array{location});
            Amounts amounts{};
            amounts[recorded_values] = top.count;
            sample.packed(in_sample::value, amounts);
            sample.message(in_sample::label, operand);
            sample.message(in_sample::label, value);
            out_.message(in_profile::sample, sample);
        }
    }

    static bool is_integer(const ValueProfile& values) {
        const auto [kind, lane_bytes] = canonical(values.type, values.width_bytes);
        return kind == ValueType::Kind::integer && lane_bytes == values.width_bytes;
    }

    const ExportInput& input_;
    ProtobufMessage out_;
    std::map<std::string, std::uint64_t> string_numbers_;
    std::vector<std::string> strings_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> functions_;  // by name and file
    std::map<std::pair<CodeLocation, bool>, std::uint64_t> locations_;
};

}  // namespace

Result<void> write_pprof(const ExportInput& input, ByteSink& sink) {
    if (input.profile.stacks.empty()) return no_stacks();
    TRY_ASSIGN(const std::string compressed, gzipped(PprofBuilder(input).build()));
    return sink.write(compressed);
}

}  // namespace shadowprof
