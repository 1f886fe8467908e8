/* log_line.h - what a line of the log looks like. Pure functions; log.h puts their lines where they belong. */
#ifndef SRV_LOG_LINE_H
#define SRV_LOG_LINE_H

#include "server/log.h"

#include <time.h>

enum { SRV_LOG_LINE_MAX = 1000 };

/* struct srv_log_event - the arguments of srv_log_event. */
struct srv_log_event {
    const char *level, *event, *message;
    const struct srv_log_field *fields;
    size_t count;
};

/* srv_log_line_request, srv_log_line_event - write the line, with its line feed, for the wall-clock time `now`; never
 * more than SRV_LOG_LINE_MAX bytes, no NUL. Members of an event that do not fit are left out.
 * Return the number of bytes. */
size_t srv_log_line_request(char text[SRV_LOG_LINE_MAX], enum srv_log_format format, struct timespec now,
                            const struct srv_log_request *request);
size_t srv_log_line_event(char text[SRV_LOG_LINE_MAX], enum srv_log_format format, struct timespec now,
                          const struct srv_log_event *event);

#endif
