/* machine.h - what the machine, the cgroup and the user's limits leave to this process. */
#ifndef SRV_MACHINE_H
#define SRV_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* srv_machine_cores - processors this process may keep busy: the affinity mask, cut to the cgroup's quota (v2 or v1)
 * rounded up. At least 1. */
size_t srv_machine_cores(void);

/* srv_machine_memory - bytes this process may use: the machine's memory, cut to the limit of the cgroup (v2 or v1) and
 * of every group above it. */
uint64_t srv_machine_memory(void);

/* srv_machine_files - raises the limit of open files towards `wanted` as far as the system allows.
 * Returns the limit now in force. */
size_t srv_machine_files(size_t wanted);

/* srv_machine_parse_cpu_max - cores granted by the text of cpu.max ("150000 100000" gives 2), 0 for no limit ("max")
 * or text that is not understood. */
size_t srv_machine_parse_cpu_max(const char *text);

#endif
