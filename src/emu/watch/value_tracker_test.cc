// Results without a word in the trace are reconstructed as the instructions produced them.
#include "emu/watch/value_tracker.h"

#include <bit>
#include <random>
#include <tuple>

#include "emu/test_guest.h"

namespace shadowprof::value_tracker_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Bytes imm32(std::uint32_t value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

constexpr std::uint8_t rax = 0, rcx = 1, rdx = 2, rbx = 3, rsp = 4, rsi = 6, r9 = 9, r10 = 10;

// An instruction of 4 or 8 bytes with a ModRM byte that names two registers.
Bytes two(bool wide, const Bytes& opcode, std::uint8_t reg, std::uint8_t rm) {
    return Bytes{CodeBuffer::rex(wide, reg, 0, rm)} + opcode + Bytes{CodeBuffer::modrm(3, reg, rm)};
}
// mov to, from
Bytes mov(bool wide, std::uint8_t to, std::uint8_t from) {
    return two(wide, {0x89}, from, to);
}
// The operation of opcode 81 or C7 with `extension` and a 32-bit immediate, which 64-bit operations
// sign-extend.
Bytes with_imm(bool wide, std::uint8_t opcode, std::uint8_t extension, std::uint8_t reg,
               std::uint32_t value) {
    return two(wide, {opcode}, extension, reg) + imm32(value);
}
Bytes mov_imm(bool wide, std::uint8_t reg, std::uint32_t value) {
    return with_imm(wide, 0xc7, 0, reg, value);
}
Bytes add_imm(bool wide, std::uint8_t reg, std::uint32_t value) {
    return with_imm(wide, 0x81, 0, reg, value);
}
Bytes sub_imm(bool wide, std::uint8_t reg, std::uint32_t value) {
    return with_imm(wide, 0x81, 5, reg, value);
}
// lea reg, [base + displacement]
Bytes lea(bool wide, std::uint8_t reg, std::uint8_t base, std::uint32_t displacement) {
    return Bytes{CodeBuffer::rex(wide, reg, 0, base), 0x8d, CodeBuffer::modrm(2, reg, 4),
                 static_cast<std::uint8_t>(0x20 | (base & 7))} +
           imm32(displacement);
}
// A result that always has a word in the trace: add to, from
Bytes sum(bool wide, std::uint8_t to, std::uint8_t from) {
    return two(wide, {0x01}, from, to);
}

// A guest that runs code from a page of its own.
class CodePage {
  public:
    static constexpr std::size_t bytes = 2 * page_bytes;

    CodePage()
        : page_(static_cast<std::uint8_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        guest.trace_values();
    }
    ~CodePage() { munmap(page_, bytes); }

    // Runs code and a return behind it, at `offset` of the page, with the registers `from`.
    std::vector<TracedValue> run(const Bytes& code, const CpuState& from, std::size_t offset = 0) {
        REQUIRE(offset + code.size() < bytes);
        std::copy(code.begin(), code.end(), page_ + offset);
        page_[offset + code.size()] = 0xc3;
        guest.sink.recorded.clear();
        guest.cpu = from;
        REQUIRE(TestGuest::returned(guest.call(page_ + offset)));
        return guest.values();
    }
    // The slots of the code's block.
    std::span<const ValueSlot> slots(const Bytes& code) {
        run(code, CpuState(guest.cpu));
        const auto& block = guest.block(guest.sink.recorded[0]);
        REQUIRE(block.end.value == reinterpret_cast<std::uint64_t>(page_) + code.size() + 1);
        return guest.tables().slots_of(block);
    }

    TestGuest guest;

  private:
    std::uint8_t* page_;
};

// Whether the last result of the code has a word in the trace.
bool is_recorded(const Bytes& code) {
    return CodePage().slots(code).back().words == 1;
}

bool is_constant(const Bytes& code, std::int32_t value) {
    CodePage page;
    const auto& slot = page.slots(code).back();
    return slot.words == 0 && slot.source == ValueSlot::no_source && slot.addend == value;
}

bool follows(const Bytes& code, std::uint16_t source, std::int32_t addend) {
    CodePage page;
    const auto& slot = page.slots(code).back();
    return slot.words == 0 && slot.source == source && slot.addend == addend;
}

}  // namespace

TEST_CASE("constants are not in the trace") {
    CHECK(is_constant(mov_imm(true, r9, 7), 7));
    CHECK(is_constant(mov_imm(true, rax, 0xffff'ffff), -1));
    CHECK(is_constant(mov_imm(false, rax, 0xffff'ffff), -1));
    CHECK(is_constant({0xb0, 0x85}, 0x85));              // mov al, 0x85
    CHECK(is_constant({0x66, 0xb8, 0x85, 0x00}, 0x85));  // mov ax, 0x85
    CHECK(is_constant(two(false, {0x31}, rcx, rcx), 0));
    CHECK(is_constant(two(true, {0x29}, r10, r10), 0));
    CHECK(is_constant(mov_imm(false, rax, 5) + mov(true, rcx, rax), 5));
    CHECK(is_constant(mov_imm(true, rax, 5) + sub_imm(true, rax, 6), -1));
    CHECK(is_constant(mov_imm(false, rax, 5) + sub_imm(false, rax, 6), -1));
    // Values that do not fit: mov rax, 1 << 32; 0xffffffff as a 64-bit value.
    CHECK(is_recorded({0x48, 0xb8, 0, 0, 0, 0, 1, 0, 0, 0}));
    CHECK(is_recorded(mov_imm(false, rax, 0xffff'ffff) + mov(true, rcx, rax)));
    CHECK(is_recorded(two(true, {0x31}, rcx, rdx)));
}

TEST_CASE("of a scalar result the lowest lane is in the trace") {
    const auto recorded = [](const Bytes& code) {
        CodePage page;
        const auto slot = page.slots(code).back();
        page.guest.cpu = {};
        return std::tuple(int{slot.words}, int{slot.width_bytes}, slot.type);
    };
    const ValueType f64{ValueType::Kind::floating, 8}, f32{ValueType::Kind::floating, 4},
        u32{ValueType::Kind::integer, 4}, bits{ValueType::Kind::bits, 16};
    CHECK(recorded({0xf2, 0x0f, 0x2a, 0xc8}) == std::tuple(1, 8, f64));        // cvtsi2sd xmm1, eax
    CHECK(recorded({0xf3, 0x45, 0x0f, 0x2a, 0xc8}) == std::tuple(1, 4, f32));  // cvtsi2ss xmm9, r8d
    CHECK(recorded({0x66, 0x0f, 0xfe, 0xc9}) == std::tuple(2, 16, u32));       // paddd xmm1, xmm1
    CHECK(recorded({0x0f, 0x28, 0xca}) == std::tuple(2, 16, bits));            // movaps xmm1, xmm2
}

TEST_CASE("a scalar's recorded value is the number") {
    CodePage page;
    CpuState cpu = page.guest.cpu;
    cpu[Gpr::rax] = 3;
    const auto values = page.run({0xf2, 0x0f, 0x2a, 0xc8}, cpu);  // cvtsi2sd xmm1, eax
    REQUIRE(!values.empty());
    CHECK(std::bit_cast<double>(values.front().value) == 3.0);
}

TEST_CASE("what follows from an earlier result is not in the trace") {
    const auto wide = sum(true, rbx, rcx), narrow = sum(false, rbx, rcx);
    CHECK(is_recorded(wide));
    CHECK(is_recorded(mov(true, rax, rbx)));
    CHECK(follows(wide + mov(true, r9, rbx), 0, 0));
    CHECK(follows(wide + mov(false, rax, rbx), 0, 0));
    CHECK(follows(narrow + mov(false, rax, rbx), 0, 0));
    CHECK(follows(narrow + mov(true, rax, rbx), 0, 0));
    CHECK(follows(wide + lea(true, rax, rbx, 40), 0, 40));
    CHECK(follows(narrow + lea(true, rax, rbx, 40), 0, 40));
    CHECK(follows(wide + add_imm(true, rbx, 40), 0, 40));
    CHECK(follows(wide + sub_imm(true, rbx, 40), 0, -40));
    CHECK(follows(wide + two(true, {0xff}, 0, rbx), 0, 1));    // inc
    CHECK(follows(wide + two(false, {0xff}, 1, rbx), 0, -1));  // dec
    // Through other registers, which have no words either.
    CHECK(follows(wide + add_imm(true, rbx, 40) + mov(true, r10, rbx) + lea(false, rsi, r10, 2), 0,
                  42));
    CHECK(follows(wide + sum(true, rax, rcx) + mov(true, rsi, rax) + mov(true, rdx, rsi), 1, 0));
}

TEST_CASE("what does not follow is in the trace") {
    const auto wide = sum(true, rbx, rcx), narrow = sum(false, rbx, rcx);
    // The upper half of a 32-bit sum is 0; that of the slot's value plus the addend is not.
    CHECK(is_recorded(narrow + add_imm(false, rbx, 1) + mov(true, rax, rbx)));
    CHECK(is_recorded(wide + mov(false, rax, rbx) + mov(true, rdx, rax)));
    // With an addend of more than 31 bits there is a word, which is the next source.
    const auto far = wide + add_imm(true, rbx, 0x7fff'ffff) + add_imm(true, rbx, 1);
    CHECK(is_recorded(far));
    CHECK(follows(far + mov(true, rax, rbx), 2, 0));
    CHECK(follows(narrow + add_imm(false, rbx, 0x7fff'ffff) + add_imm(false, rbx, 1), 0,
                  std::numeric_limits<std::int32_t>::min()));
    // An index, RSP, a narrow address.
    CHECK(is_recorded(wide + Bytes{0x48, 0x8d, 0x04, 0x1b}));  // lea rax, [rbx + rbx]
    CHECK(is_recorded(wide + lea(true, rax, rsp, 8)));
    CHECK(is_recorded(wide + Bytes{0x67} + lea(true, rax, rbx, 8)));
    // Nothing is known from the block before: jmp to the next.
    CodePage page;
    page.run(wide + Bytes{0xeb, 0x00} + mov(true, rax, rbx), CpuState(page.guest.cpu));
    CHECK(page.guest.block(page.guest.sink.recorded.back()).value_words == 1);
}

TEST_CASE("a register that is written to is not known any more") {
    const auto known = sum(true, rax, rbx) + sum(true, rbx, rcx) + sum(true, rdx, rcx);
    const auto copy = mov(true, rsi, rax);
    REQUIRE(follows(known + copy, 0, 0));
    const Bytes writes[] = {
        {0xb0, 1},           // mov al, 1
        {0xb4, 1},           // mov ah, 1
        {0x66, 0xb8, 1, 0},  // mov ax, 1
        {0x66, 0xff, 0xc0},  // inc ax
        {0x0f, 0x94, 0xc0},  // sete al
        {0x00, 0xd8},        // add al, bl
        {0x66, 0x98},        // cbw
        {0x86, 0xc4},        // xchg ah, al
        {0x9f},              // lahf
    };
    for (const auto& write : writes) {
        CAPTURE(write[0]);
        CHECK(is_recorded(known + write + copy));
    }
    // New results replace the old ones.
    CHECK(follows(known + Bytes{0x48, 0xf7, 0xe1} + copy, 3, 0));        // mul rcx
    CHECK(follows(known + Bytes{0x48, 0x93} + copy, 4, 0));              // xchg rbx, rax
    CHECK(follows(known + Bytes{0x48, 0x0f, 0x44, 0xc3} + copy, 3, 0));  // cmove rax, rbx
    CHECK(follows(known + Bytes{0x0f, 0x44, 0xc3} + copy, 3, 0));        // cmove eax, ebx
    CHECK(follows(known + Bytes{0x48, 0x98} + copy, 3, 0));              // cdqe
    CHECK(follows(known + Bytes{0x53, 0x58} + copy, 3, 0));              // push rbx ; pop rax
    // The pointers of string instructions: lea rdi, [rsp - 64] ; mov rsi, rdi ; scasb or cmpsb.
    const Bytes pointers = lea(true, 7, rsp, 0xffff'ffc0) + mov(true, rsi, 7);
    REQUIRE(follows(pointers + mov(true, rax, 7), 0, 0));
    CHECK(is_recorded(pointers + Bytes{0xae} + mov(true, rax, 7)));
    CHECK(is_recorded(pointers + Bytes{0xa6} + mov(true, rax, 7)));
    CHECK(is_recorded(pointers + Bytes{0xa6} + mov(true, rax, rsi)));
    // These may leave the upper half unchanged.
    CHECK(is_recorded(known + Bytes{0x0f, 0xbc, 0xc3} + copy));  // bsf eax, ebx
    CHECK(is_recorded(known + Bytes{0x0f, 0xb1, 0xda} + copy));  // cmpxchg edx, ebx
    CHECK(is_recorded(known + Bytes{0x0f, 0x03, 0xc3} + copy));  // lsl eax, ebx
}

namespace {

// Random instructions that change general registers, some in ways that the tracker must see
// through.
class Program {
  public:
    explicit Program(std::uint32_t seed) : random_(seed) {}

    Bytes next() {
        const bool wide = below(2) == 0;
        const auto a = reg(), b = reg();
        switch (below(26)) {
            case 0:
            case 1:
            case 2:
                return mov(wide, a, b);
            case 3:
                return lea(wide, a, below(8) ? b : rsp, number());
            case 4:
                return lea(wide, a, b, number());
            case 5:
                return add_imm(wide, a, number());
            case 6:
                return sub_imm(wide, a, number());
            case 7:
                return two(wide, {0xff}, static_cast<std::uint8_t>(below(2)), a);  // inc, dec
            case 8:
                return mov_imm(wide, a, number());
            case 9:
                return two(wide, {0x31}, a, below(2) ? a : b);  // xor
            case 10:
                return two(wide, {0x29}, a, below(2) ? a : b);  // sub
            case 11:
                return sum(wide, a, b);
            case 12:
                return two(wide, {0x0f, 0xaf}, a, b);  // imul
            case 13:
                return two(wide, {0x87}, a, b);  // xchg
            case 14:
                return two(wide, {0x0f, static_cast<std::uint8_t>(0x40 + below(16))}, a, b);
            case 15:
                return two(false, {0x88}, a, b);  // mov of 8 bits
            case 16:
                return Bytes{0x66} + two(false, {0x89}, a, b);
            case 17:
                return Bytes{0x66} + two(false, {0xff}, 0, a);  // inc of 16 bits
            case 18:
                return push(a) + pop(b);
            case 19:
                // mov of an immediate of 64 bits
                return Bytes{CodeBuffer::rex(true, 0, 0, a),
                             static_cast<std::uint8_t>(0xb8 | (a & 7))} +
                       imm32(number()) + imm32(number());
            case 20:
                return two(wide, {0xf7}, 4, a);  // mul
            case 21:
                return two(wide, {0x0f, static_cast<std::uint8_t>(0xbc + below(2))}, a, b);
            case 22:
                return two(wide, {0x0f, 0xb1}, a, b);  // cmpxchg
            case 23:
                // Moves between low and high bytes of RAX to RBX.
                return {0x88, CodeBuffer::modrm(3, static_cast<std::uint8_t>(below(8)),
                                                static_cast<std::uint8_t>(below(8)))};
            case 24:
                return wide ? Bytes{0x48, 0x98} : Bytes{0x98};  // cdqe, cwde
            default:
                return two(wide, {0x63}, a, b);  // movsxd
        }
    }
    CpuState registers(CpuState cpu) {
        for (std::uint8_t i = 0; i < cpu.gpr.size(); ++i)
            if (i != rsp) cpu.gpr[i] = std::uint64_t{number()} << (below(3) ? 0 : 32) | number();
        return cpu;
    }
    std::uint32_t below(std::uint32_t limit) { return any() % limit; }

  private:
    std::uint32_t any() { return static_cast<std::uint32_t>(random_()); }
    std::uint8_t reg() {
        // Few registers, so that instructions often share them.
        static constexpr std::uint8_t some[] = {rax, rcx, rdx, rbx, 5, rsi, r9, r10, 12};
        return some[below(std::size(some))];
    }
    std::uint32_t number() {
        static constexpr std::uint32_t edges[] = {0, 1, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff};
        return below(2) ? edges[below(std::size(edges))] : any();
    }
    static Bytes push(std::uint8_t a) {
        return {CodeBuffer::rex(false, 0, 0, a), static_cast<std::uint8_t>(0x50 | (a & 7))};
    }
    static Bytes pop(std::uint8_t a) {
        return {CodeBuffer::rex(false, 0, 0, a), static_cast<std::uint8_t>(0x58 | (a & 7))};
    }

    std::mt19937 random_;
};

std::vector<TracedValue> without_addresses(std::vector<TracedValue> values) {
    for (auto& value : values) value.address = 0;
    return values;
}

}  // namespace

TEST_CASE("a block's values are those of its instructions in blocks of their own") {
    constexpr std::size_t instructions = 20;
    CodePage page;
    std::size_t words = 0, values = 0;
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        Program program(seed);
        Bytes together, apart;
        for (std::size_t i = 0; i < instructions; ++i) {
            const auto next = program.next();
            together = together + next;
            apart = apart + next + Bytes{0xeb, 0x00};
        }
        const auto cpu = program.registers(page.guest.cpu);
        const auto got = page.run(together, cpu);
        words += page.guest.sink.recorded.size() - 1;
        values += got.size();
        const auto end = page.guest.cpu.gpr;
        const auto expected = page.run(apart, cpu, page_bytes);
        REQUIRE(page.guest.cpu.gpr == end);
        REQUIRE(without_addresses(got) == without_addresses(expected));
    }
    CHECK(words < values * 8 / 10);
}

}  // namespace shadowprof::value_tracker_test
