#include "report/export/sample_bodies.h"

#include <algorithm>
#include <limits>

#include "report/lists/instruction_counts.h"
#include "report/symbols/elf/plt.h"

namespace shadowprof {
namespace {

constexpr std::uint64_t max_executions = std::numeric_limits<std::uint64_t>::max();

void add(std::uint64_t& sum, std::uint64_t count) {
    sum = sum > max_executions - count ? max_executions : sum + count;
}

// LLVM's encoding of discriminators (DebugInfoMetadata.h): a number is a 0 bit and five bits, or
// twelve bits including a mark. A single 1 bit is 0.
std::uint32_t prefix_decoded(std::uint32_t bits) {
    if ((bits & 1) != 0) return 0;
    bits >>= 1;
    return (bits & 0x20) != 0 ? ((bits >> 1) & 0xfe0) | (bits & 0x1f) : bits & 0x1f;
}

std::uint32_t next_component(std::uint32_t bits) {
    if ((bits & 1) != 0) return bits >> 1;
    return bits >> ((bits & 0x40) != 0 ? 14 : 7);
}

// The number of copies of the block that unrolling made. Each copy counts a part of the executions.
std::uint32_t duplication_factor(std::uint32_t discriminator) {
    return std::max(prefix_decoded(next_component(discriminator)), 1U);
}

LineInFunction line_in(const FunctionScope& function, std::uint32_t line,
                       std::uint32_t discriminator) {
    return {(line - function.declaration_line) & 0xffff, prefix_decoded(discriminator)};
}

// Whether a line of the format can begin with the name.
bool is_writable(std::string_view name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return !name.empty() && (letter(name[0]) || name[0] == '_' || name[0] == '.') &&
           std::all_of(name.begin(), name.end(),
                       [](char c) { return c > ' ' && c < 0x7f && c != ':'; });
}

bool is_usable(const SourcePosition& position) {
    return std::all_of(position.scopes.begin(), position.scopes.end(), [](const auto& scope) {
        return is_writable(scope.linkage_name) && scope.declaration_line != 0;
    });
}

class BodyCollector {
  public:
    BodyCollector(const ExportInput& input, const ElfFile& file, ModuleSymbols& symbols)
        : input_(input), module_(input.module.value()), file_(file), symbols_(symbols) {}

    SampleBodies take() {
        const auto code = [&](std::uint64_t address, std::span<std::byte> to) {
            return file_.read(address, to);
        };
        for (const InstructionCount& each :
             count_instructions(input_.profile, module_, code, input_.symbols))
            add_instruction(each);
        for (const Edge& edge : input_.profile.edges)
            if (edge.to.module == module_) add_entry(edge);
        return std::move(bodies_);
    }

  private:
    std::optional<SourcePosition> position(std::uint64_t address) {
        auto position = symbols_.position(address);
        return position && is_usable(*position) ? position : std::nullopt;
    }

    // Calls visit(body) for the function and each inlined function, down to the innermost one,
    // whose body is returned.
    template <typename Visit>
    SampleBody& descend(const SourcePosition& position, Visit visit) {
        const FunctionScope* around = nullptr;
        SampleBody* body = nullptr;
        for (const FunctionScope& scope : position.scopes) {
            body = body == nullptr
                       ? &bodies_[scope.linkage_name]
                       : &body->inlined[line_in(*around, scope.call_line, scope.call_discriminator)]
                                       [scope.linkage_name];
            visit(*body);
            around = &scope;
        }
        return *body;
    }

    static LineInFunction innermost_line(const SourcePosition& position) {
        return line_in(position.scopes.back(), position.line, position.discriminator);
    }

    void add_instruction(const InstructionCount& counted) {
        const auto at = position(counted.address);
        if (!at) return;
        SampleBody& body =
            descend(*at, [&](SampleBody& each) { add(each.instructions, counted.executions); });
        const std::uint64_t factor = duplication_factor(at->discriminator);
        const std::uint64_t executions = counted.executions > max_executions / factor
                                             ? max_executions
                                             : counted.executions * factor;
        SampleLine& line = body.lines[innermost_line(*at)];
        line.executions = std::max(line.executions, executions);
    }

    void add_entry(const Edge& edge) {
        if (edge.kind == EdgeKind::fall_through || edge.kind == EdgeKind::ret) return;
        if (!symbols_.is_entry(edge.to.address)) return;
        const auto from = edge.from.module == module_ ? position(edge.from.address) : std::nullopt;
        const auto to = position(edge.to.address);
        std::string_view callee = symbols_.linkage_name(edge.to.address);
        if (to) {
            callee = to->scopes.front().linkage_name;
            // A loop to the first instruction, or a branch to another part of the function.
            if (from && edge.kind != EdgeKind::call && from->scopes.front().linkage_name == callee)
                return;
            add(bodies_[callee].entries, edge.count);
        } else if (callee.ends_with(plt_suffix)) {
            callee.remove_suffix(plt_suffix.size());
        }
        if (from && is_writable(callee)) add_call(*from, callee, edge.count);
    }

    void add_call(const SourcePosition& from, std::string_view callee, std::uint64_t count) {
        SampleLine& line = descend(from, [](SampleBody&) {}).lines[innermost_line(from)];
        add(line.calls[callee], count);
    }

    const ExportInput& input_;
    const std::uint32_t module_;
    const ElfFile& file_;
    ModuleSymbols& symbols_;
    SampleBodies bodies_;
};

}  // namespace

SampleBodies sample_bodies(const ExportInput& input, const ElfFile& file, ModuleSymbols& symbols) {
    return BodyCollector(input, file, symbols).take();
}

}  // namespace shadowprof
