/* raw_answer.c - an answer for when libmicrohttpd cannot give one: before or in the middle of a request. */
#include "api/api.h"
#include "server/connections.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { HEAD_SIZE = 512 };

static const char *reason(int status) {
    switch (status) {
    case 408:
        return "Request Timeout";
    case 413:
        return "Content Too Large";
    case 503:
        return "Service Unavailable";
    default:
        return "Refused";
    }
}

bool srv_raw_answer(int fd, const char *code, const char *detail) {
    struct api_response response = {0};
    api_problem_response(&response, code, detail, NULL);
    char head[HEAD_SIZE], retry[40] = "";
    if (response.retry_after_s)
        snprintf(retry, sizeof retry, "Retry-After: %u\r\n", response.retry_after_s);
    int n = snprintf(head, sizeof head,
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
                     "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                     "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
                     "Referrer-Policy: no-referrer\r\n%s\r\n",
                     response.status, reason(response.status), response.content_type, response.body_size, retry);
    struct iovec parts[2] = {{head, (size_t)n}, {response.body, response.body ? response.body_size : 0}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    bool whole = sent == (ssize_t)(parts[0].iov_len + parts[1].iov_len);
    api_response_free(&response);
    return whole;
}
