// kill(-1) by an init that works for long fails with ESRCH while it is alone in its namespace.
#include "enter.h"

static void body(void) {
    for (int round = 0; round < 200; ++round) {
        spin(100000);
        CHECK(kill(-1, 0) == -1 && errno == ESRCH);
    }
}

int main(void) {
    enter_user_namespace(0);
    as_busy_init(body);
    puts("ok");
}
