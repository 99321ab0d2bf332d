// setfsuid changes the owner of new files, and nothing else.
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "check.h"

int main(void) {
    const uid_t self = geteuid();
    for (int round = 0; round < 100; ++round) {
        const uid_t other = round % 2 && self == 0 ? 65534 : self;
        setfsuid(other);
        spin(60000);
        if ((uid_t)setfsuid((uid_t)-1) != other) skip("no other user");
        CHECK(geteuid() == self && getuid() == getuid());
        const int file = CALL(memfd_create("owned", 0));
        struct stat about;
        CALL(fstat(file, &about));
        CHECK(about.st_uid == other);
        CALL(close(file));
        setfsuid(self);
    }
    puts("ok");
}
