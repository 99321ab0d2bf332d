// Where CPython keeps the Python code that its threads execute. All offsets are in bytes, of builds
// without debugging support for 64 bits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/guest_address.h"

namespace shadowprof {

// A CPython in a program. Its interpreter is one function, within which Python functions call each
// other.
struct PythonProgram {
    GuestAddress eval_start, eval_end;  // _PyEval_EvalFrameDefault
    GuestAddress runtime;               // _PyRuntime
    GuestAddress code_type;             // PyCode_Type
    std::uint64_t version = 0;          // Py_Version

    friend bool operator==(const PythonProgram&, const PythonProgram&) = default;
};

// The members that are read of each structure, by the names in CPython's headers.
struct PythonLayout {
    std::uint32_t version = 0;  // major << 8 | minor
    // _PyRuntimeState::interpreters.head, PyInterpreterState::next and threads.head.
    std::uint32_t runtime_interpreters = 0, interpreter_next = 0, interpreter_threads = 0;
    std::uint32_t thread_next = 0, thread_id = 0;  // PyThreadState
    // The frame that executes is _PyCFrame::current_frame of PyThreadState::cframe. That is a local
    // variable of the interpreter. Without, it is PyThreadState::current_frame.
    std::optional<std::uint32_t> thread_cframe = {};
    std::uint32_t current_frame = 0;
    std::uint32_t frame_code = 0, frame_previous = 0;  // _PyInterpreterFrame
    // Whether the interpreter was called for a frame: is_entry of the frame says so, or the owner
    // of the frame before it, which then is none of a function.
    std::optional<std::uint32_t> frame_is_entry = {}, frame_owner = {};
    std::uint32_t code_first_line = 0, code_file = 0, code_name = 0;  // PyCodeObject
    std::uint32_t object_type = 8;                                    // PyObject: ob_type
    // PyASCIIObject: length, hash and state. The characters lie behind it, or behind a
    // PyCompactUnicodeObject.
    std::uint32_t text_length = 0, text_hash = 0, text_state = 0, text_ascii = 0, text_other = 0;
};

// FRAME_OWNED_BY_CSTACK: PythonLayout::frame_owner of frames that belong to no function.
inline constexpr std::uint8_t python_owner_interpreter = 3;

// From the headers of CPython 3.11.7, 3.12.1 and 3.13.0 (bench/python-layout prints them).
inline constexpr std::array python_layouts{PythonLayout{.version = 0x030b,
                                                        .runtime_interpreters = 40,
                                                        .interpreter_next = 0,
                                                        .interpreter_threads = 16,
                                                        .thread_next = 8,
                                                        .thread_id = 152,
                                                        .thread_cframe = 56,
                                                        .current_frame = 8,
                                                        .frame_code = 32,
                                                        .frame_previous = 48,
                                                        .frame_is_entry = 68,
                                                        .code_first_line = 72,
                                                        .code_file = 112,
                                                        .code_name = 128,
                                                        .text_length = 16,
                                                        .text_hash = 24,
                                                        .text_state = 32,
                                                        .text_ascii = 48,
                                                        .text_other = 72},
                                           PythonLayout{.version = 0x030c,
                                                        .runtime_interpreters = 40,
                                                        .interpreter_next = 0,
                                                        .interpreter_threads = 72,
                                                        .thread_next = 8,
                                                        .thread_id = 136,
                                                        .thread_cframe = 56,
                                                        .current_frame = 0,
                                                        .frame_code = 0,
                                                        .frame_previous = 8,
                                                        .frame_owner = 70,
                                                        .code_first_line = 68,
                                                        .code_file = 112,
                                                        .code_name = 128,
                                                        .text_length = 16,
                                                        .text_hash = 24,
                                                        .text_state = 32,
                                                        .text_ascii = 40,
                                                        .text_other = 56},
                                           PythonLayout{.version = 0x030d,
                                                        .runtime_interpreters = 632,
                                                        .interpreter_next = 7264,
                                                        .interpreter_threads = 7344,
                                                        .thread_next = 8,
                                                        .thread_id = 152,
                                                        .current_frame = 72,
                                                        .frame_code = 0,
                                                        .frame_previous = 8,
                                                        .frame_owner = 70,
                                                        .code_first_line = 68,
                                                        .code_file = 112,
                                                        .code_name = 128,
                                                        .text_length = 16,
                                                        .text_hash = 24,
                                                        .text_state = 32,
                                                        .text_ascii = 40,
                                                        .text_other = 56}};

// Null if this version is not known. `py_version` is Py_Version, as PY_VERSION_HEX of its headers.
constexpr const PythonLayout* python_layout(std::uint64_t py_version) {
    for (const PythonLayout& layout : python_layouts)
        if (layout.version == py_version >> 16) return &layout;
    return nullptr;
}

}  // namespace shadowprof
