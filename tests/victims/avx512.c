// A loop of AVX-512 instructions, which callgrind does not know.
#include <immintrin.h>
#include <stdio.h>

enum { turns = 100000 };

__attribute__((target("avx512f"), noinline)) static int sum_of_squares(void) {
    __m512i squares = _mm512_set1_epi32(3);
    for (int i = 0; i < turns; ++i)
        squares = _mm512_add_epi32(_mm512_mullo_epi32(squares, squares), _mm512_set1_epi32(i));
    int words[16], sum = 0;
    _mm512_storeu_si512(words, squares);
    for (int i = 0; i < 16; ++i) sum += words[i] & 0xffff;
    return sum;
}

int main(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512f")) return 77;
    printf("%d\n", sum_of_squares());
    return 0;
}
