#include "server/documents.h"

#include "api/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_DATA(name) extern const char srv_##name##_begin[], srv_##name##_end[]
FILE_DATA(page_html);
FILE_DATA(page_css);
FILE_DATA(page_js);
FILE_DATA(draw_js);
FILE_DATA(locate_js);
FILE_DATA(openapi_yaml);
FILE_DATA(openapi_json);

#define PAGE_POLICY                                                                                                    \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "              \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define PROBLEMS_POLICY                                                                                                \
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const struct {
    const char *path, *type, *policy, *begin, *end;
} files[] = {
    {"/", "text/html; charset=utf-8", PAGE_POLICY, srv_page_html_begin, srv_page_html_end},
    {"/page.css", "text/css; charset=utf-8", NULL, srv_page_css_begin, srv_page_css_end},
    {"/page.js", "text/javascript; charset=utf-8", NULL, srv_page_js_begin, srv_page_js_end},
    {"/draw.js", "text/javascript; charset=utf-8", NULL, srv_draw_js_begin, srv_draw_js_end},
    {"/locate.js", "text/javascript; charset=utf-8", NULL, srv_locate_js_begin, srv_locate_js_end},
    {"/openapi.yaml", "application/yaml", NULL, srv_openapi_yaml_begin, srv_openapi_yaml_end},
    {"/openapi.json", "application/json", NULL, srv_openapi_json_begin, srv_openapi_json_end},
};

enum { FILES = sizeof files / sizeof *files };

/* The texts of the table hold Markdown's backquotes at most, which need no escaping in HTML. */
static char *problems_page(size_t *size) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>dikkat: problems</title>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/page.css\">\n</head>\n<body>\n"
          "<h1>Problems</h1>\n<p>Every refusal is an <code>application/problem+json</code> document (RFC 9457). Its "
          "<code>type</code> leads here, <code>code</code> is stable, <code>pointer</code> names the field at "
          "fault.</p>\n<dl>\n",
          out);
    const struct api_problem_type *type;
    for (size_t i = 0; (type = api_problem_at(i)); i++)
        fprintf(out, "<dt id=\"%s\"><code>%s</code> &ndash; %d %s</dt>\n<dd>%s</dd>\n", type->code, type->code,
                type->status, type->title, type->meaning);
    fputs("</dl>\n</body>\n</html>\n", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void prepare(struct srv_document *document) {
    document->packed = srv_compress(&(struct srv_packing){.coding = SRV_GZIP, .level = 9}, document->data,
                                    document->size, &document->packed_size);
    srv_etag_make(document->data, document->size, SRV_IDENTITY, document->etag);
    srv_etag_make(document->data, document->size, SRV_GZIP, document->packed_etag);
}

struct srv_document *srv_documents_new(size_t *count) {
    struct srv_document *documents = calloc(FILES + 1, sizeof *documents);
    if (!documents)
        return NULL;
    *count = FILES + 1;
    for (size_t i = 0; i < FILES; i++) {
        documents[i] = (struct srv_document){.path = files[i].path,
                                             .type = files[i].type,
                                             .policy = files[i].policy,
                                             .data = files[i].begin,
                                             .size = (size_t)(files[i].end - files[i].begin)};
        prepare(&documents[i]);
    }
    struct srv_document *problems = &documents[FILES];
    *problems = (struct srv_document){
        .path = "/problems", .type = "text/html; charset=utf-8", .policy = PROBLEMS_POLICY, .owned = true};
    problems->data = problems_page(&problems->size);
    if (!problems->data) {
        srv_documents_free(documents, FILES + 1);
        return NULL;
    }
    prepare(problems);
    return documents;
}

void srv_documents_free(struct srv_document *documents, size_t count) {
    for (size_t i = 0; documents && i < count; i++) {
        free(documents[i].packed);
        if (documents[i].owned)
            free((void *)documents[i].data);
    }
    free(documents);
}
