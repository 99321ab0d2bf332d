// An init that has made no child has no child to wait for.
#include "enter.h"

static void body(void) {
    for (int look = 0; look < 40; ++look) {
        spin(60000);
        expect_no_child();
    }
}

int main(void) {
    enter_user_namespace(0);
    for (int round = 0; round < 6; ++round) as_init(body);
    puts("ok");
}
