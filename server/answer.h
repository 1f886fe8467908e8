/* answer.h - from an api_response to an HTTP answer with all its headers, and to the log and the metrics. */
#ifndef SRV_ANSWER_H
#define SRV_ANSWER_H

#include "server/request.h"

/* srv_answer_send - hands request->response or ->document to the library. Only from the handler, where it may answer.
 */
enum MHD_Result srv_answer_send(struct srv_request *request);

/* srv_answer_options - the answer to OPTIONS: a CORS preflight, or what the path allows. */
void srv_answer_options(struct srv_request *request);

/* srv_answer_wants_packing - is the response large enough, not packed yet, and does the client take a coding?
 * Sets request->wanted. */
bool srv_answer_wants_packing(struct srv_request *request);

/* srv_answer_pack - packs the response as request->wanted says. `below`, `stop` (with the request): as in
 * srv_packing. */
void srv_answer_pack(struct srv_request *request, size_t below, bool (*stop)(void *ctx));

/* srv_answer_record - the request is over: one log line and the metrics. `whole`: the client has got its answer. */
void srv_answer_record(struct srv_request *request, bool whole);

#endif
