/* yaml2json - prints a YAML document as JSON, members in their order. For openapi.json and the tests of YAML files.
 *
 *     yaml2json FILE
 *
 * Scalars follow YAML 1.2's core schema. Aliases are expanded; tags and merge keys are not used here and refused.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

static bool failed;

static void indent(int depth) {
    printf("\n%*s", 2 * depth, "");
}

static void print_string(const char *text, size_t size) {
    putchar('"');
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c == '\n')
            fputs("\\n", stdout);
        else if (c < 0x20 || c == 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static const char *digits(const char *p) {
    while (isdigit((unsigned char)*p))
        p++;
    return p;
}

/* A number of the core schema that is one in JSON too: [-]int[.frac][exp]; an integer part without leading zeros. */
static bool is_number(const char *p) {
    p += *p == '-';
    if (!isdigit((unsigned char)*p) || (p[0] == '0' && isdigit((unsigned char)p[1])))
        return false;
    p = digits(p);
    if (*p == '.') {
        if (digits(p + 1) == p + 1)
            return false;
        p = digits(p + 1);
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '-' || p[1] == '+');
        if (digits(p) == p)
            return false;
        p = digits(p);
    }
    return *p == 0;
}

static bool is_one_of(const char *text, const char *const *words) {
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static void print_scalar(const yaml_node_t *node) {
    static const char *const null[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const yes[] = {"true", "True", "TRUE", NULL};
    static const char *const no[] = {"false", "False", "FALSE", NULL};
    const char *text = (const char *)node->data.scalar.value;
    bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (plain && is_one_of(text, null))
        fputs("null", stdout);
    else if (plain && is_one_of(text, yes))
        fputs("true", stdout);
    else if (plain && is_one_of(text, no))
        fputs("false", stdout);
    else if (plain && is_number(text))
        fputs(text, stdout);
    else
        print_string(text, node->data.scalar.length);
}

static void print_node(yaml_document_t *document, int index, int depth);

static void print_mapping(yaml_document_t *document, const yaml_node_t *node, int depth) {
    yaml_node_pair_t *pair = node->data.mapping.pairs.start, *top = node->data.mapping.pairs.top;
    if (pair == top) {
        fputs("{}", stdout);
        return;
    }
    putchar('{');
    for (; pair < top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(document, pair->key);
        if (key->type != YAML_SCALAR_NODE || strcmp((const char *)key->data.scalar.value, "<<") == 0) {
            fprintf(stderr, "yaml2json: line %zu: a key must be a plain name\n", key->start_mark.line + 1);
            failed = true;
            continue;
        }
        indent(depth + 1);
        print_string((const char *)key->data.scalar.value, key->data.scalar.length);
        fputs(": ", stdout);
        print_node(document, pair->value, depth + 1);
        if (pair + 1 < top)
            putchar(',');
    }
    indent(depth);
    putchar('}');
}

/* A list of scalars stays on one line. */
static void print_sequence(yaml_document_t *document, const yaml_node_t *node, int depth) {
    yaml_node_item_t *start = node->data.sequence.items.start, *top = node->data.sequence.items.top;
    bool flat = true;
    for (yaml_node_item_t *item = start; item < top; item++)
        flat = flat && yaml_document_get_node(document, *item)->type == YAML_SCALAR_NODE;
    putchar('[');
    for (yaml_node_item_t *item = start; item < top; item++) {
        if (item > start)
            fputs(flat ? ", " : ",", stdout);
        if (!flat)
            indent(depth + 1);
        print_node(document, *item, depth + 1);
    }
    if (!flat)
        indent(depth);
    putchar(']');
}

static void print_node(yaml_document_t *document, int index, int depth) {
    enum { MOST_DEPTH = 100 }; /* a loop of aliases ends here */
    const yaml_node_t *node = yaml_document_get_node(document, index);
    if (depth > MOST_DEPTH) {
        failed = true;
        fputs("null", stdout);
    } else if (node->type == YAML_SCALAR_NODE) {
        print_scalar(node);
    } else if (node->type == YAML_SEQUENCE_NODE) {
        print_sequence(document, node, depth);
    } else {
        print_mapping(document, node, depth);
    }
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    yaml_parser_t parser;
    yaml_document_t document;
    if (!file || !yaml_parser_initialize(&parser)) {
        fputs("usage: yaml2json FILE\n", stderr);
        return 2;
    }
    yaml_parser_set_input_file(&parser, file);
    if (!yaml_parser_load(&parser, &document)) {
        fprintf(stderr, "%s:%zu:%zu: %s\n", argv[1], parser.problem_mark.line + 1, parser.problem_mark.column + 1,
                parser.problem ? parser.problem : "not YAML");
        return 1;
    }
    if (yaml_document_get_root_node(&document)) {
        print_node(&document, 1, 0);
        putchar('\n');
    }
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    fclose(file);
    return failed ? 1 : 0;
}
