// The functions of scripts in calling contexts, by notes as the emulator makes them.
#include "profile/collect/script_frames.h"

#include <doctest/doctest.h>

#include <cstring>

namespace shadowprof {
namespace {

constexpr CodeLocation interpreter{90, 0x1000}, caller{90, 0x500}, helper{90, 0x9000};
constexpr CodeLocation behind_call_of_interpreter{90, 0x510}, behind_call_of_helper{90, 0x1200};

struct Fixture {
    ModuleTable modules;
    ScriptFunctions functions{modules};
    ScriptFrames frames{functions};
    StackTree tree;
    ContextId at = 0;

    // Notes the name of a function whose code is at `code`, as pairs of words.
    CodeLocation name(std::uint64_t code, std::string file, std::string name, std::uint32_t line) {
        const std::uint64_t bytes = file.size() << 32 | name.size();
        for (std::string text : {file, name}) {
            text.resize((text.size() + 15) / 16 * 16);
            for (std::size_t i = 0; i < text.size(); i += 16) {
                ProbeRecord note{.probe = script_text_note};
                std::memcpy(&note.value, text.data() + i, 8);
                std::memcpy(&note.key, text.data() + i + 8, 8);
                frames.name_function(note);
            }
        }
        frames.name_function(
            {.pc = {code}, .value = line, .key = bytes, .probe = script_function_note});
        return functions.add(file, line, name);
    }
    // The thread is in the interpreter, called by `caller`.
    void call_interpreter() {
        if (at == 0) at = tree.initial(std::span(&caller, 1));
        at = tree.call(at, {behind_call_of_interpreter, interpreter});
    }
    void enter(std::uint64_t code, std::uint64_t frame, std::uint64_t previous = 0,
               bool is_entry = false) {
        at = frames.enter(tree, at,
                          {.pc = {code},
                           .value = frame,
                           .key = previous,
                           .probe = script_frame_note,
                           .missed = is_entry});
    }
    void leave() { at = frames.leave(tree, at, {.probe = script_leave_note}); }
    std::vector<CodeLocation> stack() const { return tree.frames(at); }
};

constexpr CodeLocation call_of(CodeLocation behind) {
    return {behind.module, behind.address - 1};
}

TEST_CASE_FIXTURE(Fixture, "functions of scripts are called between interpreter and caller") {
    const auto f = name(1, "/x/a.py", "f", 3), g = name(2, "/x/a.py", "C.g", 7);
    CHECK(modules.modules()[f.module].path == "[python] /x/a.py");
    CHECK(f.module == g.module);
    CHECK(line_of_script_function(g.address) == 7);

    call_interpreter();
    const auto called = call_of(behind_call_of_interpreter);
    CHECK(stack() == std::vector{called, interpreter});
    enter(1, 0x100);
    CHECK(stack() == std::vector{called, f, interpreter});
    enter(2, 0x200);
    CHECK(stack() == std::vector{called, f, g, interpreter});
    SUBCASE("a function that returns") {
        enter(1, 0x100);
        CHECK(stack() == std::vector{called, f, interpreter});
    }
    SUBCASE("a frame that is announced twice") {
        enter(2, 0x200);
        CHECK(stack() == std::vector{called, f, g, interpreter});
    }
    SUBCASE("another function in the place of one that has returned") {
        enter(1, 0x200);
        CHECK(stack() == std::vector{called, f, f, interpreter});
    }
    SUBCASE("the interpreter is called from within") {
        at = tree.call(at, {behind_call_of_helper, helper});
        const auto in_helper = at;
        call_interpreter();
        enter(1, 0x300);
        const auto inner = call_of(behind_call_of_helper);
        CHECK(stack() == std::vector{called, f, g, inner, called, f, interpreter});
        leave();
        CHECK(stack() == std::vector{called, f, g, inner, called, interpreter});
        const auto returned = tree.return_to(at, behind_call_of_interpreter);
        CHECK_FALSE(returned.mismatch);
        CHECK(returned.context == in_helper);
        at = tree.return_to(in_helper, behind_call_of_helper).context;
        enter(1, 0x300);
        CHECK(stack() == std::vector{called, f, g, f, interpreter});
    }
    SUBCASE("an interpreter that was left without a note") {
        at = tree.call(at, {behind_call_of_helper, helper});
        call_interpreter();
        enter(1, 0x300);
        at = tree.return_to(at, behind_call_of_helper).context;
        CHECK(stack() == std::vector{called, f, g, interpreter});
        enter(1, 0x300);
        CHECK(stack() == std::vector{called, f, g, f, interpreter});
    }
    leave();
    CHECK(tree.calls(at) <= 3);
}

// Greenlets copy their stacks to and from the same place, so all have one native stack.
TEST_CASE_FIXTURE(Fixture, "frames that were called from another one take the others' place") {
    const auto f = name(1, "a.py", "f", 3), g = name(2, "a.py", "g", 7),
               w = name(3, "a.py", "w", 9);
    const auto called = call_of(behind_call_of_interpreter);
    call_interpreter();
    enter(1, 0x100, 0x10, true);
    enter(3, 0x110, 0x100);
    REQUIRE(stack() == std::vector{called, f, w, interpreter});
    SUBCASE("of a function that was called before") {
        enter(2, 0x200, 0x10, true);
        CHECK(stack() == std::vector{called, g, interpreter});
        enter(3, 0x210, 0x200);
        CHECK(stack() == std::vector{called, g, w, interpreter});
        enter(3, 0x110, 0x100);
        CHECK(stack() == std::vector{called, f, w, interpreter});
        enter(2, 0x200, 0x10, true);
        CHECK(stack() == std::vector{called, g, interpreter});
    }
    SUBCASE("of a coroutine that begins") {
        at = tree.call(at, {behind_call_of_helper, helper});
        call_interpreter();
        enter(2, 0x200, 0, true);
        CHECK(stack() == std::vector{g, interpreter});
        enter(3, 0x210, 0x200);
        CHECK(stack() == std::vector{g, w, interpreter});
    }
    SUBCASE("of a function that is noted late") {
        frames.add_to_stack(
            {.pc = {2}, .value = 0x200, .key = 0x10, .probe = script_stack_note, .missed = 1});
        enter(3, 0x210, 0x200);
        CHECK(stack() == std::vector{called, g, w, interpreter});
    }
    SUBCASE("of nothing that is known") {
        enter(3, 0x210, 0x200);
        CHECK(stack() == std::vector{called, f, w, w, interpreter});
    }
    SUBCASE("in an outer call of the interpreter") {
        at = tree.call(at, {behind_call_of_helper, helper});
        call_interpreter();
        enter(2, 0x200, 0x110, true);
        enter(3, 0x310, 0x110);
        CHECK(stack() ==
              std::vector{called, f, w, call_of(behind_call_of_helper), called, w, interpreter});
        enter(2, 0x200, 0x110, false);
        CHECK(stack() ==
              std::vector{called, f, w, call_of(behind_call_of_helper), called, g, interpreter});
    }
}

TEST_CASE_FIXTURE(Fixture, "frames that call each other in a circle do no harm") {
    call_interpreter();
    enter(1, 0x100, 0x200);
    enter(1, 0x200, 0x100);
    enter(1, 0x300, 0x400);
    enter(1, 0x400, 0x300);
    enter(1, 0x500, 0x100);
    CHECK(tree.calls(at) < StackTree::max_depth);
}

TEST_CASE_FIXTURE(Fixture, "a function without a name is a function") {
    call_interpreter();
    enter(77, 0x100);
    REQUIRE(stack().size() == 3);
    CHECK(modules.modules()[stack()[1].module].path == "[python] ");
}

TEST_CASE_FIXTURE(Fixture, "names of any length are cut and do no harm") {
    frames.name_function({.pc = {1}, .key = ~std::uint64_t{0}, .probe = script_function_note});
    for (int i = 0; i < 1000; ++i) frames.name_function({.probe = script_text_note});
    frames.name_function({.pc = {1}, .value = 1, .key = 900'000, .probe = script_function_note});
    CHECK(functions.functions().empty());
    const auto f = name(1, "/x/a.py", "f", 3);
    CHECK(functions.functions().back().name == "f");
    CHECK(line_of_script_function(f.address) == 3);
    // Another function of the same line is another one.
    CHECK(name(2, "/x/a.py", "<lambda>", 3) != f);
}

// A thread begins in two calls of the interpreter, of which the inner one executes two functions.
struct Beginning : Fixture {
    CodeLocation outer = name(1, "a.py", "f", 3), inner = name(2, "a.py", "g", 7);
    CodeLocation in_f{outer.module, outer.address + 1}, in_g{inner.module, inner.address + 1};
    std::vector<GuestAddress> addresses{{0x9010}, {0x1200}, {0x510}, {0x1300}, {0x510}, {0x20}};
    std::vector<CodeLocation> native{{90, 0x9010}, {90, 0x1200}, {90, 0x510},
                                     {90, 0x1300}, {90, 0x510},  {90, 0x20}};

    void note(std::uint64_t code, std::uint64_t frame, std::uint64_t previous, bool is_entry) {
        frames.add_to_stack({.pc = {code},
                             .value = frame,
                             .key = previous,
                             .probe = script_stack_note,
                             .missed = is_entry});
    }
    std::vector<CodeLocation> begin() {
        frames.begin_thread(0, addresses);
        frames.add_to_stack({.value = 0x1000, .key = 0x2000, .probe = script_interpreter_note});
        note(2, 0x300, 0x200, false);
        note(1, 0x200, 0x100, true);
        note(1, 0x100, 0, true);
        return frames.end_stack(0, native);
    }
};

TEST_CASE_FIXTURE(Beginning, "a thread begins in functions of scripts") {
    const auto stack = begin();
    CHECK(stack == std::vector{native[0], native[1], in_g, in_f, native[2], native[3], in_f,
                               native[4], native[5]});
    at = tree.initial(stack);
    CHECK(tree.calls(at) == 8);
    at = tree.return_to(at, native[1]).context;
    enter(1, 0x200);
    CHECK(stack.size() - 2 == tree.calls(at) + 1);
    CHECK(tree.frame(at).return_to == in_f);
    leave();
    CHECK(tree.frame(at).return_to == native[2]);
}

TEST_CASE_FIXTURE(Beginning, "an interpreter that has just been called has no function yet") {
    addresses[0] = {0x1000};
    addresses[1] = {0x9020};
    addresses.insert(addresses.begin() + 2, {0x1280});
    native.insert(native.begin() + 2, {90, 0x1280});
    CHECK(begin() == std::vector{native[0], native[1], native[2], in_g, in_f, native[3], native[4],
                                 in_f, native[5], native[6]});
}

TEST_CASE_FIXTURE(Beginning, "where the native stack is cut, the functions are outermost") {
    addresses.resize(1);
    native.resize(1);
    CHECK(begin() == std::vector{native[0], in_g, in_f, in_f});
}

}  // namespace
}  // namespace shadowprof
