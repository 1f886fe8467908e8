/* healthcheck.h - the program asks the service, for a container that has nothing else to ask with. */
#ifndef SRV_HEALTHCHECK_H
#define SRV_HEALTHCHECK_H

#include "server/options.h"

/* srv_healthcheck - GET /health/live on the configured host and port, within two seconds.
 * Returns an exit code: 0 alive, 1 not (with a sentence on stderr). With TLS a connection that is accepted is enough.
 */
int srv_healthcheck(const struct srv_options *options);

#endif
