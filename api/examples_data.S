/* examples_data.S - the bytes of the example requests, between NAME_begin and NAME_end. */
    .section .rodata
    .macro file name, path
    .global api_example_\name\()_begin
    .global api_example_\name\()_end
    .balign 64
api_example_\name\()_begin:
    .incbin "\path"
api_example_\name\()_end:
    .byte 0
    .endm

#define EXAMPLE(symbol, endpoint, path, summary) file symbol, path;
#include "api/examples_list.h"

    .section .note.GNU-stack, "", %progbits
