#!/usr/bin/env python3
"""Puts deliberate faults into a copy of the translator, and requires that tests detect each.

The generated instruction tests must detect a fault, or the unit tests if those cannot.

usage: tests/mutations/run.py --work DIRECTORY [--only NAME] [--jobs N]
       tests/mutations/run.py --check    whether each fault has a place in the sources as they are
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTRUCTION_TEST = ["tests/instructions/instruction_test", "--failures", "1"]
UNIT_TEST = ["src/emu/emu_test", "--no-colors=true"]

# name: (file, text that the file must contain, its replacement)
MUTATIONS = {
    "flags of a shift by zero taken for overwritten": (
        "src/decoder/instruction.cc",
        "if (is_shift_or_rotate(zydis_.meta.category, mnemonic())) return 0;", ""),
    "flags that SETcc and CMOVcc read forgotten": (
        "src/decoder/instruction.cc",
        "return zydis_.cpu_flags ? zydis_.cpu_flags->tested & status_flags : 0;",
        "return zydis_.cpu_flags ? zydis_.cpu_flags->tested & ZYDIS_CPUFLAG_CF : 0;"),
    "result in R10 not written back": (
        "src/emu/translation/relocate.cc", "if (use.written && lives_in_context(use.number))",
        "if (use.written && lives_in_context(use.number) && use.number != 10)"),
    "upper part lost where 16 bits are written": (
        "src/decoder/instruction.cc", "operand.size >= 32 &&", "operand.size >= 16 &&"),
    "BSF of zero taken to write its destination": (
        "src/decoder/instruction.cc", "!may_keep_destination(mnemonic)", "true"),
    "wrong scratch register for a second address register": (
        "src/emu/translation/relocate.cc", "if (!entry.taken) {", "if (!entry.taken || entry.reg == 10) {"),
    "two results in one scratch register": (
        "src/emu/translation/relocate.cc", "if (is_result_only(use) && assigned_.has(use.number))", "if (false)"),
    "RIP-relative from the instruction's start": (
        "src/emu/translation/relocate.cc", "return (in_.next() + static_cast",
        "return (in_.address() + static_cast"),
    "EIP-relative taken for absolute": (
        "src/emu/translation/relocate.cc", "memory_->mem.base == ZYDIS_REGISTER_EIP", "false"),
    "8-bit displacement of EVEX not scaled": (
        "src/emu/translation/instruction_bytes.cc",
        "std::memcpy(displacement_.data(), &effective_displacement_, 4);",
        "const std::int32_t raw = static_cast<std::int8_t>(displacement_[0]);\n"
        "            std::memcpy(displacement_.data(), &raw, 4);"),
    "base RBP without displacement": (
        "src/emu/translation/instruction_bytes.cc", "if ((base & 7) == 5) {", "if (false) {"),
    "VEX.vvvv not inverted": (
        "src/emu/translation/instruction_bytes.cc", "((~number & 15) << 3)", "((number & 15) << 3)"),
    "REX.X kept for an address without index": (
        "src/emu/translation/instruction_bytes.cc",
        "modrm_ = static_cast<std::uint8_t>(modrm_ & 0x38);\n"
        "    set_extension(Extension::x, false);",
        "modrm_ = static_cast<std::uint8_t>(modrm_ & 0x38);\n"
        "    set_extension(Extension::x, true);"),
    "segment override missing beside a borrowed register": (
        "src/emu/translation/relocate.cc",
        "bytes_->drop_address_size_prefix();\n    if (!bytes_->segment()) bytes_->set_segment(0x65);",
        "bytes_->drop_address_size_prefix();"),
    "the guest's GS base forgotten in PUSH and JMP": (
        "src/emu/translation/relocate.cc",
        "fold_address(host::scratch_a);\n    if (adds_base()) add_base(host::scratch_a);",
        "fold_address(host::scratch_a);"),
    "RDI still shifted after a fault": (
        "src/emu/translation/special.cc", ".recovery = Recovery::rdi_shifted", ".recovery = Recovery::none"),
    "borrowed RBX not given back after a fault": (
        "src/emu/run/emulator.cc", "registers[REG_RBX] = borrowed;", ""),
    "instruction across two pages cut": (
        "src/emu/translation/translator.cc", "page < 2 && size < to.size()", "page < 1 && size < to.size()"),
    "RET n does not drop its arguments": (
        "src/emu/translation/operand_code.cc", "static_cast<std::int32_t>(8 + extra)",
        "static_cast<std::int32_t>(8 + 0 * extra)"),
    "POP to an RSP-based address does not see RSP moved": (
        "src/emu/translation/operand_code.cc",
        "if (!moves) return true;", "return true;"),
    "16-bit PUSH moves the stack by eight": (
        "src/emu/translation/narrow_stack.cc",
        "emit_word(store_opcode, host_reg, host::guest_rsp, -2, out);\n"
        "    out.lea(host::guest_rsp, host::guest_rsp, -2);",
        "emit_word(store_opcode, host_reg, host::guest_rsp, -2, out);\n"
        "    out.lea(host::guest_rsp, host::guest_rsp, -8);"),
    "ENTER does not probe its final stack pointer": (
        "src/emu/translation/special.cc",
        "out.guest_load(host::scratch_a, host::guest_rsp, final_rsp);\n"
        "    out.guest_store(host::guest_rsp, final_rsp, host::scratch_a);", ""),
    "RCX destroyed by the check of an indirect branch": (
        "src/emu/translation/translator_emit.cc",
        "out.position() - 4;\n    out.move(rcx, host::scratch_b);", "out.position() - 4;"),
    "upper half of a scalar's register recorded": (
        "src/emu/translation/translator_emit.cc", "width_bytes == 8 ? 0x13 : 0x11",
        "width_bytes == 8 ? 0x17 : 0x11"),
    "recorded vector register misnamed": (
        "src/emu/translation/translator_emit.cc", "const bool high = (number & 8) != 0;",
        "const bool high = (number & 4) != 0;"),
    "words of a record miscounted at a fault": (
        "src/emu/translation/translator_emit.cc",
        ".words_before = static_cast<std::uint16_t>(draft_.words)", ".words_before = 0"),
    "pointers of CMPS and SCAS taken for known": (
        "src/emu/watch/value_tracker.cc",
        "if (in.zydis().meta.category != ZYDIS_CATEGORY_STRINGOP) return;", "return;"),
    "conditional writes taken to clear the upper half": (
        "src/emu/watch/value_tracker.cc",
        "!(operand.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) && ", ""),
    "LOOP taken for its opposite": (
        "src/emu/translation/translator_emit.cc", "out.bytes({0x02, 0xeb, 0x05, 0xe9});",
        "out.bytes({0x00, 0xeb, 0x05, 0xe9});"),
    "XSAVE components of the guest's ZMM16 to ZMM31 lost": (
        "src/emu/translation/code_cache.cc",
        "out.move_imm(rax, CpuState::xsave_components);\n    out.move_imm(rdx, 0);\n"
        "    out.context_bytes({0x48, 0x0f, 0xae, 0x25}",
        "out.move_imm(rax, CpuState::xsave_components & 0x7f);\n    out.move_imm(rdx, 0);\n"
        "    out.context_bytes({0x48, 0x0f, 0xae, 0x25}"),
}

# Mutations for the unit tests: code that occurs only in programs that run for a while, and effects
# of several instructions.
UNIT_MUTATIONS = {
    "condition of a superblock's branch not inverted": (
        "src/emu/translation/translator_superblock.cc", "(*condition ^ !falls_through)", "*condition"),
    "early exit of a superblock names one block too many": (
        "src/emu/translation/translator_superblock.cc", "out.value(exit.executed);",
        "out.value(exit.executed + 1);"),
    "target of a superblock's return not compared": (
        "src/emu/translation/translator_emit.cc", "out.lea_sum(rcx, rcx, host::scratch_a);",
        "out.move_imm(rcx, 0);"),
    "call in a superblock pushes no return address": (
        "src/emu/translation/translator_superblock.cc",
        "            emit_push_return_address(draft_.end, out);\n", ""),
    "blocks before a fault in a superblock forgotten": (
        "src/emu/translation/translator_superblock.cc",
        "if (i > 0) {\n            block.before", "if (false) {\n            block.before"),
    "values before a fault in a superblock forgotten": (
        "src/emu/translation/translator_superblock.cc",
        "block.words_before = tables_[*block.before].value_words;", ""),
    "early exit of a superblock changes its lowest word": (
        "src/emu/translation/translator_superblock.cc",
        "out.value(std::int32_t{8} * tables_[exit.executed].value_words);",
        "out.value(std::int32_t{0});"),
    "a superblock's probe does not reach its end": (
        "src/emu/translation/translator_superblock.cc",
        "set_probe(tables_[shortest + static_cast<BlockId>(last)].value_words);",
        "set_probe(tables_[shortest].value_words);"),
    "what an instruction writes still taken for known": (
        "src/emu/translation/translator_emit.cc", "known_.forget_written(in);", ""),
    "what a block knew still known in the next": (
        "src/emu/translation/translator_emit.cc", "known_.begin();", ""),
    "a sum of 32 bits taken for one of 64": (
        "src/emu/watch/value_tracker.cc", "value->sum == 0 && value->source_bytes", "value->source_bytes"),
    "superblocks outlive their code": (
        "src/emu/translation/translator_superblock.cc",
        "if (code.empty() || code.back() != to) code.push_back(to);", "(void)code;"),
}


def misplaced(mutations):
    """Returns the faults whose text does not occur exactly once in its file."""
    counts = {name: (file, (ROOT / file).read_text().count(old))
              for name, (file, old, _) in mutations.items()}
    return [f"'{name}': its text stands {count} times in {file}"
            for name, (file, count) in counts.items() if count != 1]


def copy_tree(work):
    """Copies files that differ, so that a later run builds only what has changed."""
    tree = work / "tree"
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], check=True, stdout=subprocess.PIPE).stdout
    for name in listed.decode(errors="surrogateescape").split("\0"):
        source, copy = ROOT / name, tree / name
        if not source.is_file() or (copy.is_file() and copy.read_bytes() == source.read_bytes()):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    return tree


def build(work, jobs):
    return subprocess.run(["ninja", "-C", work / "build", f"-j{jobs}", INSTRUCTION_TEST[0], UNIT_TEST[0]],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run_test(work, test):
    started = time.monotonic()
    try:
        done = subprocess.run([work / "build" / test[0], *test[1:]], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=1800)
    except subprocess.TimeoutExpired:
        return True, "no end", 1800.0
    failed = ("FAILED", "TEST CASE:")
    first = next((line for line in done.stdout.splitlines() if line.startswith(failed)),
                 (done.stdout.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return done.returncode != 0, first, time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--work", type=pathlib.Path, help="for a copy and its build")
    task.add_argument("--check", action="store_true", help="only whether each fault has a place")
    parser.add_argument("--only", help="a part of a fault's name")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    chosen = {name: m for name, m in (MUTATIONS | UNIT_MUTATIONS).items()
              if (arguments.only or "") in name}
    if lost := misplaced(chosen):
        sys.exit("\n".join(lost))
    if arguments.check:
        return 0
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    tree = copy_tree(work)
    if not (work / "build").exists():
        subprocess.run(["meson", "setup", work / "build", tree], check=True,
                       stdout=subprocess.DEVNULL)
    sound = build(work, arguments.jobs)
    if sound.returncode != 0:
        sys.exit(sound.stdout)
    if run_test(work, INSTRUCTION_TEST)[0] or run_test(work, UNIT_TEST)[0]:
        sys.exit("the tests fail without a fault")
    print("| fault | caught | first failing case | seconds |\n|---|---|---|---|", flush=True)
    missed = 0
    for name, (file, old, new) in chosen.items():
        path = tree / file
        text = path.read_text()
        path.write_text(text.replace(old, new))
        built = build(work, arguments.jobs)
        if built.returncode != 0:
            print(f"| {name} | does not compile | | |", flush=True)
            print(built.stdout, file=sys.stderr)
            missed += 1
        else:
            test = UNIT_TEST if name in UNIT_MUTATIONS else INSTRUCTION_TEST
            caught, first, seconds = run_test(work, test)
            missed += not caught
            shown = first.split(" at trace")[0].replace("FAILED ", "").rstrip(":").replace("TEST CASE:  ", "")
            print(f"| {name} | {'yes' if caught else 'NO'} | `{shown}` | {seconds:.1f} |",
                  flush=True)
        path.write_text(text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
