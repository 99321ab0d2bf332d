// An exit status keeps its lowest eight bits.
// status: 218
#include "check.h"

int main(void) {
    for (int round = 0; round < 200; ++round) spin(150000);
    puts("ok");
    return 0x12345da;
}
