// A new terminal for a test.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "child.h"

struct terminal {
    int master;
    int slave;
};

// Returns both ends of a new terminal, which is nobody's controlling terminal yet.
static inline struct terminal open_terminal(void) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) skip("no terminals");
    char name[64];
    CHECK(ptsname_r(master, name, sizeof name) == 0);
    const int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0) skip("no terminals");
    return (struct terminal){master, slave};
}

static inline void close_terminal(struct terminal terminal) {
    CALL(close(terminal.slave));
    CALL(close(terminal.master));
}

// Makes the caller the leader of a new session with TERMINAL as its controlling terminal.
static inline void lead_session(struct terminal terminal) {
    CALL(setsid());
    CALL(ioctl(terminal.slave, TIOCSCTTY, 0));
}

// Reads LENGTH bytes, which must be TEXT.
static inline void expect_text(int file, const char* text, size_t length) {
    char got[256];
    size_t have = 0;
    CHECK(length <= sizeof got);
    while (have < length) {
        const ssize_t more = CALL(read(file, got + have, length - have));
        CHECK(more > 0);
        have += (size_t)more;
    }
    CHECK(memcmp(got, text, length) == 0);
}
