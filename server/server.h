/* server.h - the running service: what its parts share, and its life from start to stop. */
#ifndef SRV_SERVER_H
#define SRV_SERVER_H

#include "api/api.h"
#include "server/budget.h"
#include "server/clients.h"
#include "server/connections.h"
#include "server/cors.h"
#include "server/keys.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/options.h"
#include "server/ratelimit.h"
#include "server/work.h"

#include <stdatomic.h>

struct MHD_Daemon;
struct srv_routes;

/* struct srv_server - set up by srv_serve before the first connection, constant from then on but for the atomics.
 *
 *     options     every value resolved: no 0 that stands for "by the machine"
 *     keys, cors, ratelimit   NULL when the option is not set
 *     tls_...     contents of the files; NULL: no TLS
 *     old_layout  libmicrohttpd 0.9 (see head.c)
 *     draining    on the way out: readiness fails, every answer closes its connection
 *     abandon     the drain has taken too long: computing stops
 *     suspended   connections suspended or about to be; none may be when the library is stopped
 *     in_flight   requests between their request line and their completion
 */
struct srv_server {
    struct srv_options options;
    struct api_env env;
    struct MHD_Daemon *daemon;
    struct srv_work *work;
    struct srv_budget budget;
    struct srv_connections *connections;
    struct srv_clients *clients;
    struct srv_routes *routes;
    struct srv_log *log;
    struct srv_metrics *metrics;
    struct srv_keys *keys;
    struct srv_cors *cors;
    struct srv_ratelimit *ratelimit;
    char *version_json, *tls_cert, *tls_key;
    bool old_layout;
    atomic_bool draining, abandon;
    atomic_size_t in_flight, suspended;
};

/* srv_serve - serves until SIGTERM or SIGINT, then finishes what is in flight.
 * Returns the program's exit code: 0, or 1 with a sentence on stderr when it could not start. */
int srv_serve(const struct srv_options *options);

#endif
