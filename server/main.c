/* main.c - from arguments to an exit code. What serves is in server.c. */
#include "server/healthcheck.h"
#include "server/kernel.h"
#include "server/options.h"
#include "server/server.h"
#include "server/version.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Descriptors 0 to 2 that were closed would be given to sockets, and the log be written into one of them. */
static void occupy_standard_files(void) {
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv) {
    occupy_standard_files();
    struct srv_options options;
    char message[SRV_MESSAGE_MAX];
    if (!srv_options_read(&options, argc, argv, environ, message)) {
        fprintf(stderr, "dikkat: %s\n", message);
        return 2;
    }
    switch (options.action) {
    case SRV_HELP:
        srv_options_help(stdout);
        return 0;
    case SRV_PRINT_CONFIG:
        srv_options_print(&options, stdout);
        return 0;
    case SRV_HEALTHCHECK:
        return srv_healthcheck(&options);
    case SRV_VERSION:
    case SRV_SERVE:
        break;
    }
    bool computes = srv_kernel_start(options.kernel, argv);
    if (options.action == SRV_VERSION) {
        printf("dikkat %s (%s, OpenBLAS kernel %s)\n", srv_version(), srv_commit(), srv_kernel_name());
        return 0;
    }
    if (!computes) {
        fprintf(stderr, "dikkat: no OpenBLAS kernel computes correctly on this machine\n");
        return 1;
    }
    return srv_serve(&options);
}
