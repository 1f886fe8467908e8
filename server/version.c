#include "server/version.h"

#ifndef COMMIT
#define COMMIT "unknown"
#endif

const char *srv_version(void) {
    return SRV_VERSION_STRING;
}

const char *srv_commit(void) {
    return COMMIT;
}
