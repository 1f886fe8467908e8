/* test_refusals.c - everything that is wrong with a request, as one table: status, code and pointer of the answer.
 *
 * After each refusal the same process answers a good request.
 */
#include "tests/api/call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* struct refusal - `says`: a text that detail, hint or expected must hold, or NULL. `pointer` NULL: none. Line 0: none.
 */
struct refusal {
    const char *path, *body;
    int status;
    const char *code, *pointer, *says;
    int line, column;
};

#define TABLE "\"table\":[[1,2],[3,4],[5,6]]"
#define IDS "\"ids\":[0,1]"

static const struct refusal refusals[] = {
    /* not JSON */
    {"/embed", "", 400, "empty_body", "", "empty", 0, 0},
    {"/embed", " \r\n\t ", 400, "empty_body", "", "empty", 0, 0},
    {"/embed", "{", 400, "not_json", NULL, NULL, 1, 2},
    {"/embed", "ids: 3", 400, "not_json", NULL, NULL, 1, 1},
    {"/embed", "{\n  \"ids\": [1, 2],\n  oops\n}", 400, "not_json", NULL, NULL, 3, 3},
    {"/embed", "{\"ids\": [1, 2] \"table\"", 400, "not_json", NULL, NULL, 1, 16},
    {"/embed", "{\"texts\": [\"çok kötü\"] oops}", 400, "not_json", NULL, NULL, 1, 24},
    {"/embed", "{\"ids\": [[1, 2], [3, 4]],\n \"table\": [[1, 2], [3, 4]],\n \"scale\": }", 400, "not_json", NULL, NULL,
     3, 11},
    {"/embed", "{\"ids\":[1,2,]," TABLE "}", 400, "not_json", NULL, NULL, 1, 13},
    {"/embed", "{\"ids\":[01]," TABLE "}", 400, "not_json", NULL, NULL, 1, 0},
    {"/embed", "{\"ids\":[1]}{}", 400, "not_json", NULL, NULL, 1, 12},
    {"/embed", "{\"ids\":[1]} x", 400, "not_json", NULL, NULL, 1, 13},
    {"/embed", "{\"scale\":NaN," IDS "," TABLE "}", 400, "not_json", NULL, "arrays of numbers", 1, 0},
    {"/embed", "{'ids':[1]}", 400, "not_json", NULL, NULL, 1, 0},
    {"/embed", "{\"ids\":[1],\"ids\":[2]," TABLE "}", 400, "duplicate_field", "/ids", NULL, 1, 0},
    {"/embed", "{\"texts\":[\"a\"],\"vocab\":{\"a\":0,\"a\":1}," TABLE "}", 400, "duplicate_field", "/vocab/a", NULL, 1,
     0},
    {"/embed", "{\"texts\":[\"\xff\"]," TABLE "}", 400, "invalid_unicode", NULL, "UTF-8", 1, 0},
    {"/embed", "{\"texts\":[\"\xc3\x28\"]," TABLE "}", 400, "invalid_unicode", NULL, "UTF-8", 1, 0},
    {"/embed", "{\"texts\":[\"\xed\xa0\x80\"]," TABLE "}", 400, "invalid_unicode", NULL, "UTF-8", 1, 0},
    {"/embed", "{\"texts\":[\"\\ud800\"]," TABLE "}", 400, "invalid_unicode", NULL, "surrogate", 1, 0},
    {"/embed", "{\"texts\":[\"\\udc00\\ud800\"]," TABLE "}", 400, "invalid_unicode", NULL, "surrogate", 1, 0},
    {"/embed", "{\"texts\":[\"a\\u0000b\"]," TABLE "}", 400, "invalid_unicode", NULL, "\\u0000", 1, 0},
    {"/embed", "u0000", 400, "not_json", NULL, NULL, 1, 1},
    {"/embed", "{\"a\\u0000b\":1," IDS "," TABLE "}", 400, "invalid_unicode", NULL, "\\u0000", 1, 0},

    /* not a request */
    {"/embed", "[]", 422, "not_an_object", "", "list", 0, 0},
    {"/embed", "[1, 2]", 422, "not_an_object", "", "list", 0, 0},
    {"/embed", "3", 422, "not_an_object", "", "single value", 0, 0},
    {"/embed", "null", 422, "not_an_object", "", "single value", 0, 0},
    {"/embed", "{}", 422, "missing_field", "/ids", "texts", 0, 0},
    {"/embed", "{" IDS "}", 422, "missing_field", "/table", "random", 0, 0},
    {"/embed", "{\"random\":{\"seed\":1}," IDS "}", 422, "missing_field", "/random/draws", "draws", 0, 0},

    /* names */
    {"/embed", "{\"Ids\":[0]," TABLE "}", 422, "unknown_field", "/Ids", "Did you mean \"ids\"?", 0, 0},
    {"/embed", "{\"text\":[\"a\"]," TABLE "}", 422, "unknown_field", "/text", "Did you mean \"texts\"?", 0, 0},
    {"/embed", "{\"maxLength\":3," IDS "," TABLE "}", 422, "unknown_field", "/maxLength", "\"max_length\"", 0, 0},
    {"/embed", "{\"a/b~c\":3," IDS "," TABLE "}", 422, "unknown_field", "/a~1b~0c", "ids, texts", 0, 0},
    {"/embed", "{\"\":3," IDS "," TABLE "}", 422, "unknown_field", "/", NULL, 0, 0},
    {"/embed", "{\"random\":{\"seed\":1,\"draw\":[]}}", 422, "unknown_field", "/random/draw", "\"draws\"", 0, 0},
    {"/embed", "{\"ids\":{\"shape\":[1],\"dta\":[0]}," TABLE "}", 422, "unknown_field", "/ids/dta", "data", 0, 0},

    /* types */
    {"/embed", "{\"ids\":3," TABLE "}", 422, "wrong_type", "/ids", "a number", 0, 0},
    {"/embed", "{\"ids\":\"3\"," TABLE "}", 422, "wrong_type", "/ids", "a string", 0, 0},
    {"/embed", "{\"ids\":null," TABLE "}", 422, "wrong_type", "/ids", "null", 0, 0},
    {"/embed", "{\"ids\":[true,false]," TABLE "}", 422, "wrong_type", "/ids/0", "booleans", 0, 0},
    {"/embed", "{\"ids\":[0,true]," TABLE "}", 422, "wrong_type", "/ids/1", NULL, 0, 0},
    {"/embed", "{\"ids\":[0,\"a\"]," TABLE "}", 422, "wrong_type", "/ids/1", "a string", 0, 0},
    {"/embed", "{\"ids\":[[0,1],[1,null]]," TABLE "}", 422, "wrong_type", "/ids/1/1", "null", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[1,2],[3,{}]]}", 422, "wrong_type", "/table/1/1", "an object", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[1,2],[3,\"x\"]]}", 422, "wrong_type", "/table/1/1", "a string", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[1,2],[3,\"nan\"]]}", 422, "wrong_type", "/table/1/1", "a string", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[true]]}", 422, "wrong_type", "/table/0/0", "booleans", 0, 0},
    {"/embed", "{\"texts\":\"a\"," TABLE "}", 422, "wrong_type", "/texts", "a list of strings", 0, 0},
    {"/embed", "{\"texts\":[\"a\",3]," TABLE "}", 422, "wrong_type", "/texts/1", "a number", 0, 0},
    {"/embed", "{\"texts\":[1,3]," TABLE "}", 422, "wrong_type", "/texts", "numbers", 0, 0},
    {"/embed", "{\"scale\":\"1\"," IDS "," TABLE "}", 422, "wrong_type", "/scale", "a number", 0, 0},
    {"/embed", "{\"scale\":\"NaN\"," IDS "," TABLE "}", 422, "wrong_type", "/scale", "a number", 0, 0},
    {"/embed", "{\"scale\":[1]," IDS "," TABLE "}", 422, "wrong_type", "/scale", "a list of numbers", 0, 0},
    {"/embed", "{\"scale\":true," IDS "," TABLE "}", 422, "wrong_type", "/scale", "a boolean", 0, 0},
    {"/embed", "{\"max_length\":2.5," IDS "," TABLE "}", 422, "wrong_type", "/max_length", "an integer", 0, 0},
    {"/embed", "{\"random\":[]," IDS "}", 422, "wrong_type", "/random", "an empty list", 0, 0},
    {"/embed", "{\"random\":{\"seed\":1.5,\"draws\":[]}," IDS "}", 422, "wrong_type", "/random/seed", "1.5", 0, 0},
    {"/embed", "{\"random\":{\"seed\":1,\"draws\":[3]}," IDS "}", 422, "wrong_type", "/random/draws", NULL, 0, 0},
    {"/embed", "{\"random\":{\"seed\":1,\"draws\":[{},3]}," IDS "}", 422, "missing_field", "/random/draws/0/into", NULL,
     0, 0},
    {"/embed", "{\"vocab\":[],\"texts\":[\"a\"]," TABLE "}", 422, "wrong_type", "/vocab", "an object", 0, 0},
    {"/embed", "{\"return\":\"output\"," IDS "," TABLE "}", 422, "wrong_type", "/return", "a list of words", 0, 0},
    {"/embed", "{\"return\":[1]," IDS "," TABLE "}", 422, "wrong_type", "/return", "a list of numbers", 0, 0},
    {"/embed", "{\"return\":[\"output\",[]]," IDS "," TABLE "}", 422, "wrong_type", "/return/1", "an empty list", 0, 0},

    /* words */
    {"/embed", "{\"return\":[\"outputs\"]," IDS "," TABLE "}", 422, "unknown_choice", "/return/0", "\"output\"", 0, 0},
    {"/embed", "{\"dtype\":\"float16\"," IDS "," TABLE "}", 422, "unknown_choice", "/dtype", "float64, float32", 0, 0},
    {"/embed", "{\"positions\":\"sin\"," IDS "," TABLE "}", 422, "unknown_choice", "/positions", "\"sinusoidal\"", 0,
     0},

    /* shapes of one tensor */
    {"/embed", "{" IDS ",\"table\":[[1,2],[3]]}", 422, "ragged", "/table/1", "has 1 element, the ones before have 2", 0,
     0},
    {"/embed", "{" IDS ",\"table\":[[1,2],[3,4],[5,6,7],[8]]}", 422, "ragged", "/table/2", "3 elements", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[1,2],3]}", 422, "ragged", "/table/1", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":[1,[2]]}", 422, "ragged", "/table/1", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":[[1,2],[]]}", 422, "ragged", "/table/1", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":[[\"NaN\",\"NaN\"],[\"NaN\"]]}", 422, "ragged", "/table/1", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":[]}", 422, "empty_tensor", "/table", "(vocab, d)", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[]]}", 422, "empty_tensor", "/table", "(vocab, d)", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[],[]]}", 422, "empty_tensor", "/table", "(vocab, d)", 0, 0},
    {"/embed", "{" IDS ",\"table\":[1,2]}", 422, "wrong_rank", "/table", "(vocab, d)", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[[1,2]]]}", 422, "wrong_rank", "/table", "3 dimensions", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[[[[1,2]]]]]}", 422, "wrong_rank", "/table", "5 dimensions", 0, 0},
    {"/embed", "{" IDS ",\"table\":[[[[[[[[[[[1,2]]]]]]]]]]]}", 422, "wrong_rank", "/table", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,2],\"data\":[1,2,3]}}", 422, "shape_mismatch", "/table/data",
     "(2, 2) of `table` needs 4 numbers; `data` holds 3", 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,2],\"data\":[[1,2],[3,4]]}}", 422, "wrong_rank", "/table/data", NULL,
     0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,2],\"data\":[1,2,3,true]}}", 422, "wrong_type", "/table/data/3", NULL,
     0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,2],\"data\":7}}", 422, "wrong_type", "/table/data", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,-2],\"data\":[1]}}", 422, "bad_value", "/table/shape/1", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,0],\"data\":[]}}", 422, "bad_value", "/table/shape/1", "from 1 on.", 0,
     0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[\"vocab\",1],\"data\":[1]}}", 422, "bad_value", "/table/shape/0",
     "from 1 on.", 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,1e13],\"data\":[1]}}", 413, "memory_limit", "/table/shape", "fit into",
     0, 0},
    {"/embed", "{" IDS ",\"random\":{\"seed\":1,\"draws\":[{\"into\":[\"table\"],\"shape\":[1.5,2]}]}}", 422,
     "bad_value", "/random/draws/0/shape/0", "or \"vocab\"", 0, 0},
    {"/attention",
     "{\"q\":[[1]],\"k\":[[1]],\"v\":[[1]],\"past_key\":{\"shape\":[0,1e13],\"data\":[]},"
     "\"past_value\":{\"shape\":[0,1],\"data\":[]}}",
     413, "memory_limit", "/past_key/shape", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,1.5],\"data\":[1,2,3]}}", 422, "bad_value", "/table/shape/1", NULL, 0,
     0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,\"d\"],\"data\":[1,2]}}", 422, "bad_value", "/table/shape/1", NULL, 0,
     0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[1,1,1,1,1],\"data\":[1]}}", 422, "wrong_rank", "/table/shape", NULL, 0,
     0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[],\"data\":[1]}}", 422, "wrong_rank", "/table/shape", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":2,\"data\":[1]}}", 422, "wrong_type", "/table/shape", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[4294967296,4294967296],\"data\":[1]}}", 413, "memory_limit",
     "/table/shape", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"shape\":[2,2]}}", 422, "missing_field", "/table", "`shape` and `data`", 0, 0},
    {"/embed", "{" IDS ",\"table\":{}}", 422, "missing_field", "/table", "eye", 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"eye\":2,\"shape\":[2,2],\"data\":[1,2,3,4]}}", 422, "conflict", "/table", NULL, 0,
     0},
    {"/embed", "{" IDS ",\"table\":{\"eye\":0}}", 422, "bad_value", "/table/eye", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"eye\":[3]}}", 422, "bad_value", "/table/eye", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":{\"eye\":1000000}}", 413, "memory_limit", NULL, NULL, 0, 0},
    {"/embed", "{\"ids\":{\"eye\":3}," TABLE "}", 422, "wrong_type", "/ids/eye", NULL, 0, 0},

    /* numbers */
    {"/embed", "{" IDS ",\"table\":[[1,1e400],[3,4]]}", 422, "number_out_of_range", "/table/0/1", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":[[1,2],[3,-1e400]]}", 422, "number_out_of_range", "/table/1/1", NULL, 0, 0},
    {"/embed", "{" IDS ",\"table\":[[1,2],[1.7976931348623159e308,3]]}", 422, "number_out_of_range", "/table/1/0", NULL,
     0, 0},
    {"/embed", "{\"scale\":1e400," IDS "," TABLE "}", 422, "number_out_of_range", "/scale", NULL, 1, 0},
    {"/embed", "{\"random\":{\"draws\":[],\"seed\":1e999}," IDS "}", 422, "number_out_of_range", "/random/seed", NULL,
     1, 0},

    /* ids */
    {"/embed", "{\"ids\":[[0,1,2,3]]," TABLE "}", 422, "id_out_of_range", "/ids/0/3", "0 to 2", 0, 0},
    {"/embed", "{\"ids\":[0,-1]," TABLE "}", 422, "id_out_of_range", "/ids/1", "Id -1", 0, 0},
    {"/embed", "{\"ids\":[0,1.5]," TABLE "}", 422, "wrong_type", "/ids/1", "1.5", 0, 0},
    {"/embed", "{\"ids\":[0,1e17]," TABLE "}", 422, "bad_value", "/ids/1", NULL, 0, 0},
    {"/embed", "{\"ids\":[[0,1],[2,\"NaN\"]]," TABLE "}", 422, "wrong_type", "/ids/1/1", "not NaN", 0, 0},
    {"/embed", "{\"ids\":[0,9007199254740993]," TABLE "}", 422, "bad_value", "/ids/1", NULL, 0, 0},
    {"/embed", "{\"ids\":{\"shape\":[2,2],\"data\":[0,1,2,3]}," TABLE "}", 422, "id_out_of_range", "/ids/data/3",
     "Id 3", 0, 0},
    {"/embed", "{\"ids\":{\"shape\":[2,2],\"data\":[0,1,2.5,0]}," TABLE "}", 422, "wrong_type", "/ids/data/2",
     "not 2.5", 0, 0},
    {"/embed", "{\"ids\":[[0,1],[0,3]],\"max_length\":3," TABLE "}", 422, "id_out_of_range", "/ids/1/1", "Id 3", 0, 0},
    {"/embed", "{\"ids\":[0,\"NaN\"]," TABLE "}", 422, "wrong_type", "/ids/1", "not NaN", 0, 0},
    {"/embed", "{\"ids\":[0,1e300]," TABLE "}", 422, "bad_value", "/ids/1", "as large as 1e300", 0, 0},
    {"/embed", "{\"texts\":[\"a\"],\"vocab\":{\"a\":2147483648}," TABLE "}", 422, "bad_value", "/vocab/a", "2147483647",
     0, 0},
    {"/embed", "{\"texts\":[\"a\"],\"vocab\":{\"a\":0},\"max_length\":2,\"pad_id\":9," TABLE "}", 422,
     "id_out_of_range", "/pad_id", "Id 9", 0, 0},
    {"/embed", "{\"ids\":[0],\"max_length\":2,\"pad_id\":null," TABLE "}", 422, "conflict", "/pad_id", "max_length", 0,
     0},
    {"/lookup", "{\"keys\":{\"eye\":2},\"values\":{\"eye\":2},\"sharpness\":{\"shape\":[2],\"data\":[1,1e200]}}", 422,
     "bad_value", "/sharpness/data/1", NULL, 0, 0},
    {"/embed", "{\"random\":{\"seed\":18446744073709551616,\"draws\":[]}," IDS "," TABLE "}", 422, "bad_value",
     "/random/seed", "decimal string", 0, 0},
    {"/embed", "{\"random\":{\"seed\":[1,9007199254740993],\"draws\":[]}," IDS "," TABLE "}", 422, "bad_value",
     "/random/seed/1", "32-bit words", 0, 0},
    {"/embed", "{\"ids\":[0],\"max_length\":2,\"pad_id\":3," TABLE "}", 422, "id_out_of_range", "/pad_id", "Id 3", 0,
     0},
    {"/embed", "{\"ids\":[0],\"pad_id\":-1," TABLE "}", 422, "bad_value", "/pad_id", NULL, 0, 0},
    {"/embed", "{\"ids\":[0],\"max_length\":2,\"pad_id\":null," TABLE "}", 422, "conflict", "/pad_id", NULL, 0, 0},
    {"/embed", "{\"ids\":[0],\"max_length\":0," TABLE "}", 422, "bad_value", "/max_length", NULL, 0, 0},
    {"/embed", "{\"ids\":[[[0]]]," TABLE "}", 422, "wrong_rank", "/ids", "(n) or (batch, n)", 0, 0},
    {"/embed", "{\"ids\":[]," TABLE "}", 422, "empty_tensor", "/ids", NULL, 0, 0},

    /* texts */
    {"/embed", "{\"ids\":[0],\"texts\":[\"a\"]," TABLE "}", 422, "conflict", "/texts", "one of them", 0, 0},
    {"/embed", "{\"texts\":[]," TABLE "}", 422, "empty_tensor", "/texts", NULL, 0, 0},
    {"/embed", "{\"texts\":[\"\",\"  \"]," TABLE "}", 422, "empty_tensor", "/texts", "no word", 0, 0},
    {"/embed", "{\"texts\":[\"a b c\"]," TABLE "}", 422, "id_out_of_range", "/table", "Id 3", 0, 0},
    {"/embed", "{\"texts\":[\"a\",\"b x\"],\"vocab\":{\"a\":0,\"b\":1}," TABLE "}", 422, "unknown_token", "/texts/1",
     "\"x\"", 0, 0},
    {"/embed", "{\"texts\":[\"a\"],\"vocab\":{\"a\":-1}," TABLE "}", 422, "bad_value", "/vocab/a", NULL, 0, 0},
    {"/embed", "{\"texts\":[\"a\"],\"vocab\":{\"a\":0.5}," TABLE "}", 422, "bad_value", "/vocab/a", NULL, 0, 0},
    {"/embed", "{\"texts\":[\"a\"],\"vocab\":{\"a\":7}," TABLE "}", 422, "id_out_of_range", "/vocab/a", "Id 7", 0, 0},
    {"/embed", "{\"texts\":[\"a\"],\"vocab\":{}," TABLE "}", 422, "empty_tensor", "/vocab", NULL, 0, 0},
    {"/embed", "{\"texts\":[\"a\"],\"vocab\":{\"a\":1},\"pad_token\":\"p\"," TABLE "}", 422, "unknown_token",
     "/pad_token", NULL, 0, 0},
    {"/embed", "{\"texts\":[\"a\"],\"vocab\":{\"a\":1,\"p\":0},\"pad_token\":\"p\",\"pad_id\":1," TABLE "}", 422,
     "conflict", "/pad_id", NULL, 0, 0},
    {"/embed", "{\"texts\":[\"a\"],\"pad_id\":1," TABLE "}", 422, "conflict", "/pad_id", NULL, 0, 0},

    /* shapes of two fields */
    {"/embed", "{" IDS ",\"positions\":[[1,2],[3,4],[5,6]]," TABLE "}", 422, "shape_mismatch", "/positions",
     "shape (3, 2); the embeddings are (2, 2)", 0, 0},

    /* numbers of the answer */
    {"/embed", "{\"round\":-1," IDS "," TABLE "}", 422, "bad_value", "/round", "0 to 15", 0, 0},
    {"/embed", "{\"round\":16," IDS "," TABLE "}", 422, "bad_value", "/round", "0 to 15", 0, 0},

    /* random */
    {"/embed", "{\"random\":{\"seed\":-1,\"draws\":[]}," IDS "}", 422, "bad_value", "/random/seed", "from 0 on", 0, 0},
    {"/embed", "{\"random\":{\"seed\":\"12x\",\"draws\":[]}," IDS "}", 422, "bad_value", "/random/seed", "digits", 0,
     0},
    {"/embed", "{\"random\":{\"seed\":\"\",\"draws\":[]}," IDS "}", 422, "bad_value", "/random/seed", "empty", 0, 0},
    {"/embed", "{\"random\":{\"seed\":[1,-2],\"draws\":[]}," IDS "}", 422, "bad_value", "/random/seed", "from 0 on", 0,
     0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"tabel\"],\"shape\":[3,2]}]}," IDS "}", 422,
     "unknown_field", "/random/draws/0/into/0", "\"table\"", 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[3,2]}]}," IDS "," TABLE "}", 422,
     "conflict", "/random/draws/0/into/0", "given and drawn", 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\",\"table\"],\"shape\":[3,2]}]}," IDS "}", 422,
     "conflict", "/random/draws/0/into/1", "drawn twice", 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[3]}]}," IDS "}", 422, "wrong_rank",
     "/random/draws/0/into/0", "(vocab, d)", 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[\"vocab\",3]}]}," IDS "}", 422,
     "bad_value", "/random/draws/0/shape/0", "vocab", 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[\"d\",3]}]}," IDS "}", 422,
     "bad_value", "/random/draws/0/shape/0", NULL, 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"ids\"],\"shape\":[3]}]}," TABLE "}", 422,
     "missing_field", "/ids", NULL, 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"scale\"],\"shape\":[3]}]}," IDS "}", 422, "wrong_type",
     "/random/draws/0/into/0", "drawn", 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[3,2],\"scale\":-1}]}," IDS "}", 422,
     "bad_value", "/random/draws/0/scale", NULL, 0, 0},
    {"/embed",
     "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[3,2],\"distribution\":\"gauss\"}]}," IDS "}",
     422, "unknown_choice", "/random/draws/0/distribution", "normal, uniform", 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[1000000,1000000]}]}," IDS "}", 413,
     "memory_limit", NULL, NULL, 0, 0},
    {"/embed", "{\"random\":{\"seed\":0,\"draws\":[{\"into\":[\"table\"],\"shape\":[100000,100000]}]}," IDS "}", 413,
     "memory_limit", NULL, "bytes", 0, 0},

    /* paths */
    {"/Embed", "{}", 404, "not_found", NULL, "/embed", 0, 0},
    {"/embed/", "{}", 404, "not_found", NULL, "/embed", 0, 0},
    {"/", "{}", 404, "not_found", NULL, NULL, 0, 0},
    {"/versoin", "{}", 404, "not_found", NULL, "/version", 0, 0},
    {"/version", "{}", 405, "method_not_allowed", NULL, "GET", 0, 0},
};

static const char *text_of(const json_t *problem, const char *key) {
    const char *text = json_string_value(json_object_get(problem, key));
    return text ? text : "";
}

static bool equal(const char *a, const char *b) {
    return strcmp(a ? a : "(none)", b ? b : "(none)") == 0;
}

static bool says(const json_t *problem, const char *text) {
    return !text || strstr(text_of(problem, "detail"), text) || strstr(text_of(problem, "hint"), text) ||
           strstr(text_of(problem, "expected"), text) || strstr(text_of(problem, "got"), text);
}

/* A problem document as RFC 9457 and the contract want it, whatever is in it. */
static bool is_problem(const struct call *answer) {
    const json_t *problem = answer->json;
    return problem && equal(answer->response.content_type, "application/problem+json") &&
           json_integer_value(json_object_get(problem, "status")) == answer->response.status &&
           equal(text_of(problem, "code"), answer->response.code) && *text_of(problem, "title") &&
           *text_of(problem, "detail") && equal(text_of(problem, "error"), text_of(problem, "detail")) &&
           strncmp(text_of(problem, "type"), "/problems#", 10) == 0 &&
           equal(text_of(problem, "type") + 10, answer->response.code);
}

static bool matches(const struct refusal *want, const struct call *answer) {
    const json_t *problem = answer->json;
    int line = (int)json_integer_value(json_object_get(problem, "line")),
        column = (int)json_integer_value(json_object_get(problem, "column"));
    return is_problem(answer) && answer->response.status == want->status && equal(answer->response.code, want->code) &&
           equal(json_string_value(json_object_get(problem, "pointer")), want->pointer) && says(problem, want->says) &&
           line == want->line && (want->column == 0 || column == want->column);
}

static bool still_serves(void) {
    struct call answer = call("POST", "/embed", "{\"ids\":[2,0]," TABLE ",\"return\":[\"output\"]}");
    bool good = answer.response.status == 200 && answer.response.body &&
                strcmp(answer.response.body, "{\"output\":[[5,6],[1,2]],\"shapes\":{\"output\":[2,2]}}\n") == 0;
    call_free(&answer);
    return good;
}

Test(refusals, table) {
    size_t n = sizeof refusals / sizeof *refusals, failed = 0;
    for (size_t i = 0; i < n; i++) {
        struct call answer = call("POST", refusals[i].path, refusals[i].body);
        if (!matches(&refusals[i], &answer)) {
            failed++;
            fprintf(stderr, "refusals: %s %s\n  expected %d %s %s, got %d %s\n", refusals[i].path, refusals[i].body,
                    refusals[i].status, refusals[i].code, refusals[i].pointer ? refusals[i].pointer : "",
                    answer.response.status, answer.response.body ? answer.response.body : "");
        }
        call_free(&answer);
        cr_assert(still_serves());
    }
    fprintf(stderr, "refusals: %zu cases, %zu differ\n", n, failed);
    cr_assert_eq(failed, 0u);
}

/* Bytes that a C string cannot hold. */
Test(refusals, bytes) {
    static const struct {
        const char *body;
        size_t size;
    } bodies[] = {{"\0", 1}, {"{\"ids\":[0]\0}", 12}, {"{\0}", 3}, {"{\"a\0b\":1}", 9}, {"\xef\xbb\xbf{}", 5}};
    struct api_env env = call_env();
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct call answer = call_bytes(&env, "POST", "/embed", bodies[i].body, bodies[i].size);
        cr_expect_eq(answer.response.status, 400, "case %zu: %d", i, answer.response.status);
        cr_expect(is_problem(&answer));
        call_free(&answer);
    }
}

/* Brackets without end, in every place where a list may stand. */
Test(refusals, depth) {
    static const char *const heads[] = {"", "{\"ids\":", "{\"random\":{\"seed\":1,\"draws\":"};
    enum { DEPTH = 200000 };
    char *body = malloc(DEPTH + 64);
    struct api_env env = call_env();
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (const char *open = "[{"; *open; open++) {
            size_t size = strlen(heads[i]);
            memcpy(body, heads[i], size);
            memset(body + size, *open, DEPTH);
            struct call answer = call_bytes(&env, "POST", "/embed", body, size + DEPTH);
            cr_expect_eq(answer.response.status, 400);
            cr_expect(is_problem(&answer));
            call_free(&answer);
        }
    free(body);
    cr_assert(still_serves());
}

Test(refusals, limits) {
    static const char body[] = "{\"ids\":[2,0]," TABLE "}";
    static const struct {
        struct api_limits limits;
        const char *code, *says;
        int status;
    } cases[] = {
        {{.body_bytes = 20}, "body_too_large", "20", 413},
        {{.multiply_adds = 1}, "too_costly", "limit is 1", 413},
        {{.numbers = 3}, "answer_too_large", "limit is 3", 413},
        {{.memory_bytes = 100}, "memory_limit", NULL, 413},
        {{.memory_bytes = 4096}, "memory_limit", NULL, 413},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct api_env env = {.limits = cases[i].limits};
        struct call answer = call_bytes(&env, "POST", "/embed", body, sizeof body - 1);
        cr_expect_eq(answer.response.status, cases[i].status, "case %zu: %d", i, answer.response.status);
        cr_expect_str_eq(answer.response.code, cases[i].code, "case %zu: %s", i, answer.response.code);
        cr_expect(is_problem(&answer) && says(answer.json, cases[i].says));
        call_free(&answer);
    }
}

Test(refusals, content_types) {
    static const struct {
        const char *type;
        int status;
        const char *says;
    } cases[] = {{NULL, 200, NULL},
                 {"", 200, NULL},
                 {"application/json", 200, NULL},
                 {"application/vnd.api+json; charset=utf-8", 200, NULL},
                 {"Application/JSON", 200, NULL},
                 {"application/x-www-form-urlencoded", 200, NULL},
                 {"text/plain", 415, "fetch"},
                 {"multipart/form-data; boundary=x", 415, "--data"},
                 {"application/octet-stream", 415, "application/json"}};
    struct api_env env = call_env();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char body[] = "{\"ids\":[2,0]," TABLE "}";
        struct api_request request = {.method = "POST",
                                      .path = "/embed",
                                      .content_type = cases[i].type,
                                      .body = body,
                                      .body_size = sizeof body - 1};
        struct api_response response;
        api_handle(&env, &request, &response);
        cr_expect_eq(response.status, cases[i].status, "%s: %d", cases[i].type ? cases[i].type : "absent",
                     response.status);
        cr_expect(!cases[i].says || strstr(response.body, cases[i].says), "%s: %s", cases[i].type, response.body);
        api_response_free(&response);
    }
}
