#include "ptrace/unwind/unwind.h"

#include <libunwind.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

#include "ptrace/unwind/page_cache.h"
#include "ptrace/unwind/unwind_module.h"

// libunwind exports it for callers that find unwind tables themselves, but its headers do not
// declare it.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);

namespace shadowprof {
namespace {

// Memory accesses that unwinding one stack may take. A real stack of 256 frames takes some ten
// thousand. The limit stops unwind tables that were made up to keep us busy.
constexpr std::size_t max_accesses = 1'000'000;

constexpr std::size_t max_code_pages = 4096;
constexpr std::size_t max_stack_pages = 1024;
constexpr std::size_t unwind_cache_entries = 4096;

// The general registers in libunwind's order, which is DWARF's.
constexpr std::array dwarf_registers = {Gpr::rax, Gpr::rdx, Gpr::rcx, Gpr::rbx, Gpr::rsi, Gpr::rdi,
                                        Gpr::rbp, Gpr::rsp, Gpr::r8,  Gpr::r9,  Gpr::r10, Gpr::r11,
                                        Gpr::r12, Gpr::r13, Gpr::r14, Gpr::r15};

std::vector<Mapping> code_mappings(const MemoryMap& map) {
    std::vector<Mapping> code;
    std::copy_if(map.mappings().begin(), map.mappings().end(), std::back_inserter(code),
                 [](const Mapping& mapping) { return mapping.executable; });
    return code;
}

}  // namespace

// libunwind's address space and what is known about it from earlier stacks. Its callbacks get the
// Space as their argument. `input_` holds the inputs of the current stack.
class Unwinder::Space : private MemoryReader {
  public:
    Space() : space_(create_space()) {
        unw_set_caching_policy(space_, UNW_CACHE_GLOBAL);
        unw_set_cache_size(space_, unwind_cache_entries, 0);
    }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;
    ~Space() override { unw_destroy_addr_space(space_); }

    std::vector<GuestAddress> unwind(const CpuState& cpu, const MemoryMap& map,
                                     MemoryReader& memory) {
        forget_if_changed(map);
        stack_pages_.clear();
        input_ = {&cpu, &map, &memory};
        accesses_ = 0;
        std::vector<GuestAddress> stack{cpu.rip};
        const auto caller = caller_of_clone(cpu);
        if (caller) {
            stack.push_back(caller->rip);
            input_.cpu = &*caller;
        }
        walk(stack);
        return stack;
    }

  private:
    struct Input {
        const CpuState* cpu = nullptr;
        const MemoryMap* map = nullptr;
        MemoryReader* memory = nullptr;
    };

    static unw_addr_space_t create_space() {
        unw_accessors_t callbacks = {find_proc_info, put_unwind_info, no_dynamic_info,
                                     access_memory,  access_register, no_float_register,
                                     no_resume,      no_name};
        return unw_create_addr_space(&callbacks, 0);
    }

    void walk(std::vector<GuestAddress>& stack) {
        unw_cursor_t cursor;
        if (unw_init_remote(&cursor, space_, this) != 0) return;
        while (stack.size() < max_frames && unw_step(&cursor) > 0) {
            unw_word_t ip = 0;
            if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || !is_return_address({ip})) return;
            stack.push_back({ip});
        }
    }

    // The C library has no unwind information for the wrappers of clone: behind the system call it
    // would hold for either the parent or the child. The child has no caller.
    std::optional<CpuState> caller_of_clone(const CpuState& cpu) {
        constexpr std::array syscall = {std::byte{0x0f}, std::byte{0x05}};
        std::array<std::byte, 2> before;
        unw_proc_info_t info;
        if (cpu[Gpr::rax] == 0 || !read(cpu.rip - before.size(), before) || before != syscall ||
            find_proc_info(space_, cpu.rip.value, &info, 0, this) == 0)
            return std::nullopt;
        const auto address = read_value<GuestAddress>(*this, {cpu[Gpr::rsp]});
        if (!address || !is_return_address(*address)) return std::nullopt;
        CpuState caller = cpu;
        caller.rip = *address;
        caller[Gpr::rsp] += sizeof *address;
        return caller;
    }

    // A return address lies behind an instruction, so the byte before it must be code.
    bool is_return_address(GuestAddress address) const {
        const Mapping* code = address.value ? input_.map->find(address - 1) : nullptr;
        return code && code->executable;
    }

    void forget_if_changed(const MemoryMap& map) {
        auto code = code_mappings(map);
        if (code == code_) return;
        code_ = std::move(code);
        searched_ = nullptr;
        tables_.clear();
        code_pages_.clear();
        unw_flush_cache(space_, 0, 0);
    }

    // May cross the end of a page.
    bool read(GuestAddress from, std::span<std::byte> to) override {
        while (!to.empty()) {
            const std::uint64_t to_page_end = page_bytes - (from - from.page());
            const auto part = to.first(std::min<std::size_t>(to.size(), to_page_end));
            if (++accesses_ > max_accesses || !cache_for(from).read(*input_.memory, from, part))
                return false;
            from = from + part.size();
            to = to.subspan(part.size());
        }
        return true;
    }

    // Pages that cannot change are kept after the stack is done.
    PageCache& cache_for(GuestAddress address) {
        const Mapping* mapping = input_.map->find(address);
        const bool constant = mapping && mapping->is_file() && !mapping->writable;
        return constant ? code_pages_ : stack_pages_;
    }

    const UnwindTable* table_for(GuestAddress ip) {
        const Mapping* code = input_.map->find(ip);
        if (!code || !code->executable) return nullptr;
        const Mapping* header = find_elf_header(*input_.map, *code);
        if (!header) return nullptr;
        auto [it, is_new] = tables_.try_emplace(header->start);
        if (is_new) it->second = find_unwind_table(*header, *this);
        return it->second ? &*it->second : nullptr;
    }

    // A word of the searched table if it is not in the program's memory.
    std::optional<unw_word_t> made_word(unw_word_t address) const {
        static_assert(sizeof(FrameEntry) == sizeof(unw_word_t));
        const unw_word_t index = (address - made_entries.value) / sizeof(unw_word_t);
        if (address < made_entries.value || !searched_ || index >= searched_->made.size())
            return std::nullopt;
        return std::bit_cast<unw_word_t>(searched_->made[index]);
    }

    static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info,
                              int need_unwind_info, void* self) {
        const UnwindTable* table = static_cast<Space*>(self)->table_for({ip});
        if (!table) return -UNW_ENOINFO;
        static_cast<Space*>(self)->searched_ = table;
        unw_dyn_info_t found{};
        found.format = UNW_INFO_FORMAT_REMOTE_TABLE;
        found.start_ip = ip;
        found.end_ip = ip + 1;
        found.u.rti.segbase = table->header.value;
        found.u.rti.table_data = table->entries.value;
        found.u.rti.table_len = table->count * 8 / sizeof(unw_word_t);
        return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &found, info, need_unwind_info, self);
    }

    static void put_unwind_info(unw_addr_space_t, unw_proc_info_t*, void*) {}

    static int no_dynamic_info(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

    static int access_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write,
                             void* self) {
        if (write) return -UNW_EINVAL;
        auto& space = *static_cast<Space*>(self);
        const auto word = space.made_word(address) ? space.made_word(address)
                                                   : read_value<unw_word_t>(space, {address});
        if (!word) return -UNW_EINVAL;
        *value = *word;
        return 0;
    }

    static int access_register(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write,
                               void* self) {
        const CpuState& cpu = *static_cast<Space*>(self)->input_.cpu;
        if (write || number < 0) return -UNW_EBADREG;
        const auto index = static_cast<std::size_t>(number);
        if (number == UNW_X86_64_RIP)
            *value = cpu.rip.value;
        else if (index < dwarf_registers.size())
            *value = cpu[dwarf_registers[index]];
        else
            return -UNW_EBADREG;
        return 0;
    }

    static int no_float_register(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) {
        return -UNW_EBADREG;
    }
    static int no_resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
    static int no_name(unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*, void*) {
        return -UNW_ENOINFO;
    }

    unw_addr_space_t space_;
    Input input_;
    std::size_t accesses_ = 0;
    std::vector<Mapping> code_;
    std::unordered_map<GuestAddress, std::optional<UnwindTable>> tables_;  // by ELF header
    const UnwindTable* searched_ = nullptr;  // in tables_, by the current look-up
    PageCache code_pages_{max_code_pages};
    PageCache stack_pages_{max_stack_pages};
};

Unwinder::Unwinder() : space_(std::make_unique<Space>()) {}
Unwinder::~Unwinder() = default;

std::vector<GuestAddress> Unwinder::unwind(const CpuState& cpu, const MemoryMap& map,
                                           MemoryReader& memory) {
    return space_->unwind(cpu, map, memory);
}

}  // namespace shadowprof
