/* documents_data.S - the bytes of the files that are served, between NAME_begin and NAME_end. */
    .section .rodata
    .macro file name, path
    .global srv_\name\()_begin
    .global srv_\name\()_end
    .balign 64
srv_\name\()_begin:
    .incbin "\path"
srv_\name\()_end:
    .byte 0
    .endm

    file page_html, "server/web/index.html"
    file page_css, "server/web/page.css"
    file page_js, "server/web/page.js"
    file draw_js, "server/web/draw.js"
    file locate_js, "server/web/locate.js"
    file openapi_yaml, "openapi.yaml"
    file openapi_json, "server/web/openapi.json"

    .section .note.GNU-stack, "", %progbits
