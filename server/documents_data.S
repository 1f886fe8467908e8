/* documents_data.S - the bytes of the files that are served. */
#include "api/incbin.inc"

    file srv_page_html, "server/web/index.html"
    file srv_page_css, "server/web/page.css"
    file srv_page_js, "server/web/page.js"
    file srv_draw_js, "server/web/draw.js"
    file srv_locate_js, "server/web/locate.js"
    file srv_openapi_yaml, "openapi.yaml"
    file srv_openapi_json, "server/web/openapi.json"

    .section .note.GNU-stack, "", %progbits
