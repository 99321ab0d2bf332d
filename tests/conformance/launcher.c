// Becomes the program of its arguments when a pipe ends, whose descriptor is the first of them: who
// wants to attach to a program before its first instruction attaches to this.
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
