/* gate.h - may this request come in? What the headers alone decide. */
#ifndef SRV_GATE_H
#define SRV_GATE_H

#include "server/request.h"

/* srv_gate_pass - checks key, rate, method, the body's announced length and coding; of OPTIONS the last two. Returns
 * false with a refusal in request->response. */
bool srv_gate_pass(struct srv_request *request);

/* srv_gate_refuse_path - 404, with the path that is probably meant. */
void srv_gate_refuse_path(struct srv_request *request);

#endif
