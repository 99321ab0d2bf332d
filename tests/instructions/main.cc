// Generated instruction tests: random instructions of every form, run natively and emulated.
#include <CLI/CLI.hpp>

#include "emu/worker/own_place.h"
#include "session.h"

using namespace shadowprof;

int main(int argc, char** argv) {
    // Gathers with random limits and floating-point numbers must not reach this process's memory.
    move_out_of_the_way(argv);
    Options options;
    CLI::App app("Runs random instructions natively and emulated, and compares.");
    app.add_option("--seed", options.manner.seed, "What the cases are made from");
    app.add_option("--cases", options.cases, "Random cases of each form");
    app.add_option("--sequences", options.sequences, "Cases of several instructions");
    auto* first = app.add_option("--first", options.first_case,
                                 "The number of the first random case of each form");
    app.add_option("--only", options.only, "One mnemonic, or 'sequence'");
    auto* assignment = app.add_option("--assignment", options.assignment,
                                      "Only this assignment of registers of each form");
    app.add_flag("--no-assignments", options.no_assignments, "Only random cases")
        ->excludes(assignment);
    app.add_option("--without", options.without,
                   "Instruction sets to take for lacking: how their names begin (AVX512)");
    app.add_option("--failures", options.max_failures, "Failures to stop after");
    app.add_flag("--digest", options.digest_only, "Make the cases, run none");
    app.add_flag("--list-forms", options.list_forms, "Print all forms");
    app.add_flag("--list-left-out", options.list_left_out,
                 "Print what is not tested or not translated, and why");
    app.add_flag("--tame", options.manner.tame, "No accesses far from the guest's memory");
    app.add_flag("--verbose", options.verbose, "Print the states of failing cases");
    app.add_flag("--in-process", options.in_process, "Emulate in this process, for a debugger");
    CLI11_PARSE(app, argc, argv);
    if (first->count() != 0) options.no_assignments = true;
    return Session(options).run();
}
