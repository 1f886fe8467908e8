/* kernel_probe - settles the kernel like the server does and prints it: "NAME: HOW". Exit code 1 when none is right.
 *
 *     kernel_probe [KERNEL]
 */
#include "server/kernel.h"

#include <stdio.h>

int main(int argc, char **argv) {
    bool right = srv_kernel_start(argc > 1 ? argv[1] : NULL, argv);
    printf("%s: %s\n", srv_kernel_name(), srv_kernel_how());
    return right ? 0 : 1;
}
