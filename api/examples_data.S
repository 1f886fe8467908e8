/* examples_data.S - the bytes of the example requests. */
#include "api/incbin.inc"

#define EXAMPLE(symbol, endpoint, path, summary) file api_example_##symbol, path;
#include "api/examples_list.h"

    .section .note.GNU-stack, "", %progbits
