// Python's frames, in a memory that has the structures of CPython 3.11 and 3.13.
#include "emu/watch/python_watch.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string_view>

namespace shadowprof {
namespace {

constexpr std::uint64_t eval_at = 0x10'0000, cold_at = 0x20'0000, runtime_at = 0x30'0000,
                        thread_at = 0x31'0000, code_type_at = 0x32'0000, heap_at = 0x40'0000,
                        stack_at = 0x50'0000;
constexpr std::uint64_t fs_base = 0x7000;

class FakeMemory final : public MemoryReader {
  public:
    bool read(GuestAddress from, std::span<std::byte> to) override {
        for (std::size_t i = 0; i < to.size(); ++i) {
            const auto page = pages_.find((from + i).page());
            if (page == pages_.end()) return false;
            to[i] = page->second[(from + i).value % page_bytes];
        }
        return true;
    }
    void write(std::uint64_t at, std::span<const std::byte> bytes) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            auto& page = pages_[GuestAddress{at + i}.page()];
            page.resize(page_bytes);
            page[(at + i) % page_bytes] = bytes[i];
        }
    }
    template <typename T>
    void put(std::uint64_t at, T value) {
        write(at, std::as_bytes(std::span(&value, 1)));
    }

  private:
    std::map<GuestAddress, std::vector<std::byte>> pages_;
};

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
    std::vector<std::byte> bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

struct Fixture {
    FakeMemory memory;
    CpuState cpu;
    std::uint64_t heap = heap_at;

    Fixture() {
        memory.put<std::uint64_t>(stack_at, 0);
        cpu[Gpr::rsp] = stack_at;
        cpu.fs_base = fs_base;
    }
    static PythonProgram program(std::uint64_t version) {
        return {{eval_at}, {eval_at + 0x40}, {runtime_at}, {code_type_at}, version};
    }
    // A string of characters of `width` bytes; its state has the bits `ascii`.
    std::uint64_t text(const PythonLayout& layout, std::u32string_view characters,
                       std::uint32_t width, bool ascii) {
        const auto at = heap;
        heap += 0x1000;
        memory.put<std::uint64_t>(at + layout.text_length, characters.size());
        memory.put<std::uint32_t>(at + layout.text_state,
                                  width << 2 | 1u << 5 | (ascii ? 1u << 6 : 0));
        auto to = at + (ascii ? layout.text_ascii : layout.text_other);
        for (const char32_t c : characters) {
            const auto value = static_cast<std::uint32_t>(c);
            memory.write(to, std::as_bytes(std::span(&value, 1)).first(width));
            to += width;
        }
        return at;
    }
    std::uint64_t code(const PythonLayout& layout, std::uint64_t file, std::uint64_t name,
                       std::uint32_t line) {
        const auto at = heap;
        heap += 0x1000;
        memory.put<std::uint64_t>(at + layout.object_type, code_type_at);
        memory.put(at + layout.code_file, file);
        memory.put(at + layout.code_name, name);
        memory.put(at + layout.code_first_line, line);
        return at;
    }
    std::uint64_t frame(const PythonLayout& layout, std::uint64_t code, std::uint64_t previous) {
        const auto at = heap;
        heap += 0x1000;
        memory.put(at + layout.frame_code, code);
        memory.put(at + layout.frame_previous, previous);
        if (layout.frame_owner) memory.put<std::uint8_t>(at + *layout.frame_owner, 0);
        return at;
    }
};

// lea rcx, [rsp+0x10]; mov [rdi+0x38], rcx; mov [rsp+0x18], rsi; nop; jne cold; mov [rsp+0x20],
// rsi; nop; ret
struct Python311 : Fixture {
    const PythonLayout& layout = *python_layout(0x030b07f0);
    PythonWatch watch{program(0x030b07f0), memory};

    Python311() {
        memory.write(eval_at, bytes_of({0x48, 0x8d, 0x4c, 0x24, 0x10, 0x48, 0x89, 0x4f, 0x38, 0x48,
                                        0x89, 0x74, 0x24, 0x18, 0x90, 0x0f, 0x85}));
        memory.put<std::uint32_t>(eval_at + 17, cold_at - (eval_at + 21));
        memory.write(eval_at + 21, bytes_of({0x48, 0x89, 0x74, 0x24, 0x20, 0x90, 0xc3}));
        // mov [rsp+0x18], rbx; nop; jmp back
        memory.write(cold_at, bytes_of({0x48, 0x89, 0x5c, 0x24, 0x18, 0x90, 0xe9}));
        memory.put<std::uint32_t>(cold_at + 7,
                                  static_cast<std::uint32_t>(eval_at + 21 - (cold_at + 11)));
    }
    void current(std::uint64_t frame) { memory.put(stack_at + 0x18, frame); }
};

TEST_CASE_FIXTURE(Python311, "stores to the interpreter's frame and its returns are watched") {
    CHECK_FALSE(watch.watches({0x999}));
    CHECK_FALSE(watch.watches({eval_at}));
    CHECK(watch.watches({eval_at + 14}));
    CHECK_FALSE(watch.watches({eval_at + 26}));
    CHECK(watch.watches({eval_at + 27}));
    CHECK(watch.watches({cold_at + 5}));
    CHECK_FALSE(watch.watches({cold_at}));
    CHECK_FALSE(watch.step({eval_at}, cpu));
    REQUIRE(watch.step({eval_at + 27}, cpu));
    CHECK_FALSE(watch.step({eval_at + 27}, cpu)->frame);
}

TEST_CASE_FIXTURE(Python311, "a frame that is set is read") {
    const auto name = text(layout, U"C.f", 1, true);
    const auto file = text(layout, U"/x/\u00e9.py", 1, false);
    const auto function = code(layout, file, name, 17);
    const auto outer = frame(layout, function, 0), inner = frame(layout, function, outer);
    memory.put<std::uint8_t>(outer + *layout.frame_is_entry, 1);
    REQUIRE(watch.watches({eval_at + 14}));
    CHECK_FALSE(watch.step({eval_at + 14}, cpu));
    current(inner);
    auto step = watch.step({eval_at + 14}, cpu);
    REQUIRE(step);
    REQUIRE(step->frame);
    CHECK(step->frame->frame.value == inner);
    CHECK(step->frame->code.value == function);
    CHECK(step->frame->previous.value == outer);
    CHECK_FALSE(step->frame->is_entry);
    current(outer);
    step = watch.step({cold_at + 5}, cpu);
    REQUIRE(step);
    REQUIRE(step->frame);
    CHECK(step->frame->previous.value == 0);
    CHECK(step->frame->is_entry);
    const auto named = watch.code({function});
    REQUIRE(named);
    CHECK(named->name == "C.f");
    CHECK(named->file == "/x/\xc3\xa9.py");
    CHECK(named->first_line == 17);

    // Another function has the same place.
    const auto before = watch.mark({function});
    CHECK(watch.mark({function}) == before);
    memory.put<std::uint32_t>(function + layout.code_first_line, 18);
    const auto other_line = watch.mark({function});
    CHECK(other_line != before);
    memory.put<std::uint64_t>(name + layout.text_hash, 99);
    CHECK(watch.mark({function}) != other_line);
}

TEST_CASE_FIXTURE(Python311, "where another coroutine goes on, its callers are read") {
    const auto function = code(layout, 0, 0, 1);
    const auto a = frame(layout, function, 0), in_a = frame(layout, function, a),
               b = frame(layout, function, 0), in_b = frame(layout, function, b);
    REQUIRE(watch.watches({eval_at + 14}));
    const auto callers = [&](std::uint64_t frame) {
        current(frame);
        const auto step = watch.step({eval_at + 14}, cpu);
        REQUIRE(step);
        return step->callers;
    };
    CHECK(callers(a).empty());
    CHECK(callers(in_a).empty());
    CHECK(callers(a).empty());
    CHECK(callers(in_a).empty());
    const auto other = callers(in_b);
    REQUIRE(other.size() == 1);
    CHECK(other[0].frame.value == b);
    CHECK(callers(b).empty());
    // The interpreter is left, and a function that it was called from goes on.
    memory.put(b + layout.frame_previous, in_a);
    CHECK(callers(b).empty());
    CHECK(watch.step({eval_at + 27}, cpu));
    CHECK(callers(frame(layout, function, in_a)).empty());
}

TEST_CASE_FIXTURE(Python311, "texts of all widths are UTF-8, and are cut") {
    const auto name_of = [&](std::u32string_view characters, std::uint32_t width) {
        const auto at = text(layout, characters, width, false);
        const auto named = watch.code({code(layout, at, at, 1)});
        return named ? named->name : "none";
    };
    CHECK(name_of(U"\u4e2d\u0416", 2) == "\xe4\xb8\xad\xd0\x96");
    CHECK(name_of(U"\U0001f40d", 4) == "\xf0\x9f\x90\x8d");
    CHECK(name_of(U"\xd800", 2) == "?");
    CHECK(name_of(std::u32string(500, U'\u0416'), 2).size() == PythonCode::max_text_bytes);
    CHECK(name_of(U"x", 3) == "none");
    CHECK_FALSE(watch.code({0x999}));
}

TEST_CASE_FIXTURE(Python311, "a thread's frames are found by its thread-local storage") {
    const auto function = code(layout, 0, 0, 1);
    const auto outer = frame(layout, function, 0), inner = frame(layout, function, outer);
    CHECK(watch.frames(cpu).empty());
    memory.put(runtime_at + layout.runtime_interpreters, heap);
    memory.put(heap + layout.interpreter_threads, thread_at);
    memory.put(thread_at + layout.thread_next, thread_at + 0x1000);
    memory.put<std::uint64_t>(thread_at + layout.thread_id, 1);
    memory.put(thread_at + 0x1000 + layout.thread_id, fs_base);
    memory.put(thread_at + 0x1000 + *layout.thread_cframe, stack_at + 0x10);
    current(inner);
    const auto frames = watch.frames(cpu);
    REQUIRE(frames.size() == 2);
    CHECK(frames[0].frame.value == inner);
    CHECK(frames[1].frame.value == outer);
    // A list without end.
    memory.put(outer + layout.frame_previous, inner);
    CHECK(watch.frames(cpu).size() == PythonWatch::max_frames);
    memory.put(thread_at + 0x1000 + layout.thread_id, fs_base + 1);
    memory.put(thread_at + 0x1000 + layout.thread_next, thread_at);
    CHECK(watch.frames(cpu).empty());
}

// mov [rdi+0x48], rsi; nop; mov [rsp+0x48], rsi; nop; ret
struct Python313 : Fixture {
    const PythonLayout& layout = *python_layout(0x030d00f0);
    PythonWatch watch{program(0x030d00f0), memory};

    Python313() {
        memory.write(eval_at, bytes_of({0x48, 0x89, 0x77, 0x48, 0x90, 0x48, 0x89, 0x74, 0x24, 0x48,
                                        0x90, 0xc3}));
        memory.put(runtime_at + layout.runtime_interpreters, heap);
        memory.put(heap + layout.interpreter_threads, thread_at);
        memory.put(thread_at + layout.thread_id, fs_base);
        heap += 0x4000;
    }
    std::optional<PythonWatch::Step> set(std::uint64_t frame) {
        memory.put(thread_at + layout.current_frame, frame);
        return watch.step({eval_at + 4}, cpu);
    }
};

TEST_CASE_FIXTURE(Python313, "the frame is a member of the thread's state") {
    CHECK(watch.watches({eval_at + 4}));
    CHECK_FALSE(watch.watches({eval_at + 10}));
    const auto function = code(layout, 0, 0, 1);
    const auto outer = frame(layout, function, 0), entry = frame(layout, 0, outer),
               inner = frame(layout, function, entry);
    memory.put<std::uint8_t>(entry + *layout.frame_owner, python_owner_interpreter);
    REQUIRE(set(outer));
    CHECK_FALSE(set(outer));
    const auto entered = set(inner);
    REQUIRE(entered);
    REQUIRE(entered->frame);
    CHECK(entered->frame->is_entry);
    CHECK(entered->frame->previous.value == outer);
    // The interpreter is left: by its own frame, then with that of its caller.
    const auto left = set(entry);
    REQUIRE(left);
    CHECK_FALSE(left->frame);
    CHECK_FALSE(set(outer));
    const auto again = set(inner);
    REQUIRE(again);
    CHECK(again->callers.empty());

    // Another coroutine goes on.
    const auto other = frame(layout, function, 0);
    const auto called = set(frame(layout, function, other));
    REQUIRE(called);
    REQUIRE(called->callers.size() == 1);
    CHECK(called->callers[0].frame.value == other);

    // Another sample begins in the same frames.
    memory.put(thread_at + layout.current_frame, outer);
    CHECK(watch.frames(cpu).size() == 1);
    REQUIRE(set(inner));
    CHECK_FALSE(set(inner));
}

TEST_CASE_FIXTURE(Python313, "what is no code of a function is no frame") {
    CHECK(watch.watches({eval_at + 4}));
    const auto function = code(layout, 0, 0, 1);
    const auto only = frame(layout, function, 0);
    memory.put<std::uint64_t>(function + layout.object_type, code_type_at + 8);
    CHECK_FALSE(set(only));
    CHECK(watch.frames(cpu).empty());
}

TEST_CASE("other versions are not known") {
    CHECK_FALSE(python_layout(0x030a00f0));
    CHECK_FALSE(python_layout(0x030e00f0));
    CHECK_FALSE(python_layout(0));
}

}  // namespace
}  // namespace shadowprof
