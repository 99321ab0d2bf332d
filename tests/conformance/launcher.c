// Waits for the end of a pipe (argument 1), then executes the command in the other arguments. So a
// profiler can attach before the program's first instruction.
#include <stdlib.h>
#include <unistd.h>

int main(int argument_count, char** arguments) {
    char unused;
    if (argument_count < 3) return 126;
    const int gate = atoi(arguments[1]);
    if (read(gate, &unused, 1) != 0) return 126;
    close(gate);
    execv(arguments[2], arguments + 2);
    return 127;
}
