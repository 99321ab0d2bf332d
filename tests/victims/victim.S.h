/* Labels that tests find by name. */
#define PLACE(name) \
    .globl name;    \
    name:
