// Writes a function: its instructions, what is known of them, and their source lines.
#include <algorithm>
#include <set>

#include "base/text/text_format.h"
#include "report/html/page_data.h"
#include "report/profile_file/profile_writer.h"

namespace shadowprof {
namespace {

// Longer runs of instructions that were never executed are summarized. Most functions are mostly
// such code, however little was sampled.
constexpr std::size_t longest_cold_run = 16;
constexpr std::size_t max_successors = 12, max_instruction_hazards = 8;
// Source lines shown around those with instructions.
constexpr std::uint32_t lines_around = 2;
// Two pieces of a file with at most this many lines between them are shown as one.
constexpr std::uint32_t longest_gap = 12;

class CodeWriter {
  public:
    CodeWriter(const PageData& page, const AnnotatedFunction& function, JsonWriter& json)
        : page_(page), function_(function), json_(json), shown_lines_(function.code.size()) {}

    void write() {
        json_.begin_object();
        json_.member("incomplete", printable(function_.incomplete));
        json_.key("code");
        begin_table(json_, {"address", "text", "executions", "file", "line", "gap", "facts"});
        const auto& code = function_.code;
        for (std::size_t i = 0; i < code.size();) {
            const std::size_t end = end_of_cold_run(i);
            if (end - i > longest_cold_run) {
                cold_run(i, end);
                i = end;
            } else {
                shown_lines_[i] = code[i].line != 0;
                instruction(code[i++]);
            }
        }
        end_table(json_);
        json_.key("source");
        // Otherwise the file names come from the profile, which must not decide which files are
        // read.
        if (page_.sources != nullptr && function_.lines_are_of_file)
            source();
        else
            json_.value("");
        json_.end_object();
    }

  private:
    std::size_t end_of_cold_run(std::size_t begin) const {
        const auto& code = function_.code;
        std::size_t end = begin;
        while (end < code.size() && code[end].is_cold() && (end == begin || !code[end].behind_gap))
            ++end;
        return end;
    }

    // A row with the first and the last address and the number of instructions.
    void cold_run(std::size_t begin, std::size_t end) {
        json_.begin_array();
        json_.value(hex_text(function_.code[begin].address));
        json_.value(hex_text(function_.code[end - 1].address));
        json_.value(end - begin);
        json_.end_array();
    }

    void instruction(const AnnotatedInstruction& instruction) {
        json_.begin_array();
        json_.value(hex_text(instruction.address));
        json_.value(printable(instruction.text));
        json_.value(instruction.executions);
        if (instruction.file.empty())
            json_.null();
        else
            json_.value(page_.places.file(instruction.file));
        json_.value(instruction.line);
        json_.value(instruction.behind_gap ? 1 : 0);
        if (has_facts(instruction)) facts(instruction);
        json_.end_array();
    }

    static bool has_facts(const AnnotatedInstruction& i) {
        return !i.successors.empty() || !i.values.empty() || !i.hazards.empty() ||
               i.latency != nullptr || i.addresses != nullptr || i.time_ns != 0;
    }

    void facts(const AnnotatedInstruction& instruction) {
        json_.begin_object();
        if (instruction.time_ns != 0) json_.member("time_ns", instruction.time_ns);
        if (!instruction.successors.empty()) branch(instruction);
        if (!instruction.values.empty()) {
            json_.key("values");
            json_.begin_array();
            for (const ValueProfile* value : instruction.values) write_value(page_, *value, json_);
            json_.end_array();
        }
        if (!instruction.hazards.empty()) hazards(instruction.hazards);
        if (instruction.latency != nullptr) {
            json_.key("load");
            write_load(page_, *instruction.latency, json_);
        }
        if (instruction.addresses != nullptr) {
            json_.key("moves");
            write_moves(instruction.addresses->moves, json_);
        }
        json_.end_object();
    }

    void branch(const AnnotatedInstruction& instruction) {
        const auto& successors = instruction.successors;
        if (instruction.is_conditional()) json_.member("taken", instruction.times_taken());
        json_.member("left", instruction.times_left());
        json_.member("targets", successors.size());
        json_.key("to");
        json_.begin_array();
        for (std::size_t i = 0; i < std::min(successors.size(), max_successors); ++i) {
            json_.begin_array();
            json_.value(page_.places.place(successors[i].to));
            json_.value(name(successors[i].kind));
            json_.value(successors[i].count);
            json_.end_array();
        }
        json_.end_array();
    }

    void hazards(const std::vector<const Hazard*>& hazards) {
        json_.key("hazards");
        json_.begin_array();
        for (std::size_t i = 0; i < std::min(hazards.size(), max_instruction_hazards); ++i) {
            const Hazard& hazard = *hazards[i];
            json_.begin_object();
            json_.member("kind", name(hazard.kind));
            if (is_pair(hazard.kind)) json_.member("first", page_.places.place(hazard.first));
            json_.member("count", hazard.count);
            json_.member("executions", hazard.executions);
            json_.end_object();
        }
        json_.end_array();
    }

    // Writes pieces [first line, [lines]] for each file, around the lines of instructions that are
    // not summarized.
    void source() {
        std::map<std::string_view, std::set<std::uint32_t>> named;
        for (std::size_t i = 0; i < function_.code.size(); ++i)
            if (shown_lines_[i]) named[function_.code[i].file].insert(function_.code[i].line);
        json_.begin_object();
        for (const auto& [path, numbers] : named) {
            const auto lines = page_.sources->lines(path);
            if (!lines) continue;
            json_.key(std::to_string(page_.places.file(path)));
            json_.begin_array();
            for (auto it = numbers.begin(); it != numbers.end();) {
                std::uint32_t first = *it, last = *it;
                while (++it != numbers.end() && *it - last <= longest_gap) last = *it;
                piece(*lines, first, last);
            }
            json_.end_array();
        }
        json_.end_object();
    }

    void piece(std::span<const std::string_view> lines, std::uint32_t first, std::uint32_t last) {
        const std::size_t begin = first > lines_around ? first - lines_around : 1;
        const std::size_t end =
            std::min<std::size_t>(std::size_t{last} + lines_around, lines.size());
        if (begin > end) return;
        json_.begin_array();
        json_.value(begin);
        json_.begin_array();
        for (std::size_t number = begin; number <= end; ++number) json_.value(lines[number - 1]);
        json_.end_array();
        json_.end_array();
    }

    const PageData& page_;
    const AnnotatedFunction& function_;
    JsonWriter& json_;
    std::vector<bool> shown_lines_;  // by instruction: whether its line of source is shown
};

}  // namespace

void write_code(const PageData& page, const AnnotatedFunction& function, JsonWriter& json) {
    CodeWriter(page, function, json).write();
}

}  // namespace shadowprof
