/* raw_answer.c - an answer for when libmicrohttpd cannot give one: before or in the middle of a request. */
#include "api/api.h"
#include "server/connections.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { HEAD_SIZE = 768, LINE_SIZE = 192 };

/* One header line, or nothing when there is no value. */
static void line(char out[LINE_SIZE], const char *name, const char *value) {
    out[0] = 0;
    if (value && *value)
        snprintf(out, LINE_SIZE, "%s: %s\r\n", name, value);
}

bool srv_raw_send(int fd, const struct api_response *response, const char *id) {
    char head[HEAD_SIZE], retry_s[16] = "", retry[LINE_SIZE], name[LINE_SIZE];
    if (response->retry_after_s)
        snprintf(retry_s, sizeof retry_s, "%u", response->retry_after_s);
    line(retry, "Retry-After", retry_s);
    line(name, "X-Request-Id", id);
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
                     "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                     "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
                     "Referrer-Policy: no-referrer\r\n%s%s\r\n",
                     response->status, MHD_get_reason_phrase_for((unsigned)response->status), response->content_type,
                     response->body_size, retry, name);
    struct iovec parts[2] = {{head, (size_t)n}, {response->body, response->body ? response->body_size : 0}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent == (ssize_t)(parts[0].iov_len + parts[1].iov_len);
}

bool srv_raw_answer(int fd, const char *code, const char *detail) {
    struct api_response response = {0};
    api_problem_response(&response, code, detail, NULL);
    bool whole = srv_raw_send(fd, &response, NULL);
    api_response_free(&response);
    return whole;
}
