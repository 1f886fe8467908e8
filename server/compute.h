/* compute.h - has the api answer a request: at once in the thread that serves its connection, or in a worker. */
#ifndef SRV_COMPUTE_H
#define SRV_COMPUTE_H

#include "server/request.h"

/* srv_compute_here - answers what costs little. Returns false, with nothing done, when it should go to a worker. */
bool srv_compute_here(struct srv_request *request);

/* srv_compute_elsewhere - suspends the connection and hands the request to a worker, which resumes it; with a full
 * queue answers 503 at once. */
enum MHD_Result srv_compute_elsewhere(struct srv_request *request);

#endif
