/* version.h - which build this is. */
#ifndef SRV_VERSION_H
#define SRV_VERSION_H

#define SRV_VERSION_STRING "1.0.0"

/* srv_version - "1.0.0". Static. */
const char *srv_version(void);

/* srv_commit - the commit it was built from, abbreviated, or "unknown". Static. */
const char *srv_commit(void);

#endif
