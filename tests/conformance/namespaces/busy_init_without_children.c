// An init that works for long without making a child has no child to wait for.
#include "enter.h"

static void body(void) {
    for (int round = 0; round < 300; ++round) {
        spin(60000);
        expect_no_child();
    }
}

int main(void) {
    enter_user_namespace(0);
    as_busy_init(body);
    puts("ok");
}
