// Which forms this host has, found by running them, and what was skipped because it lacks others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "form.h"
#include "native.h"

namespace shadowprof {

class HostForms {
  public:
    // `without`: prefixes of Zydis' names of instruction sets that count as lacking.
    HostForms(const std::vector<Form>& forms, NativeRunner& native,
              std::vector<std::string> without);

    // Whether a form is one of `without`, or the host lacks it and takes it for another
    // instruction.
    bool is_hidden(std::size_t form) const;
    // False for a form that is hidden, or for which every tried case raises #UD.
    bool has(std::size_t form);

    void note_skipped_case(std::size_t form) { ++skipped_[form].cases; }
    void note_blank(std::size_t form) { ++skipped_[form].instructions; }

    // has() was false for this number of forms. The text lists them by instruction set, with what
    // was skipped.
    std::size_t lacking() const;
    std::string describe_lacking() const;

  private:
    enum class Answer : std::uint8_t { unknown, yes, no };
    struct Skipped {
        std::uint64_t forms = 0, cases = 0, instructions = 0;
    };

    bool runs(std::size_t form);

    const std::vector<Form>& forms_;
    NativeRunner& native_;
    std::vector<std::string> without_;
    std::vector<Answer> answers_;
    std::map<std::size_t, Skipped> skipped_;  // by index of the form
};

// The name of a form's instruction set.
std::string instruction_set(const Form& form);

}  // namespace shadowprof
