/* synonyms.c - see synonyms.h. */
#include "api/synonyms.h"

#include <ctype.h>
#include <string.h>

#define TRANSPOSED " PyTorch's matrices are transposed: add \"weight_layout\": \"out_in\"."

/* The first row counts whose name the request's table knows. */
static const struct api_synonym synonyms[] = {
    /* inputs */
    {"query queries", "q", NULL},
    {"query q", "queries", NULL},
    {"query queries q inputs input hiddenstates inputsembeds embedding embeddings", "x", NULL},
    {"key keys", "k", NULL},
    {"k", "keys", NULL},
    {"value values", "v", NULL},
    {"v", "values", NULL},
    {"key keys value values k v memory encoderhiddenstates encoderoutput encoderoutputs", "context", NULL},
    {"text sentence sentences words", "texts", NULL},
    {"tokens", "texts", "Send `texts`, a list of strings, or `ids`; `tokens` is a field of /attention and /mha."},
    {"input inputs inputids tokenids indices", "ids", NULL},
    {"text texts sentence sentences words ids inputids tokenids table vocab padid padtoken maxlength", "tokens",
     "Put it into `tokens`: {\"texts\": [...], \"table\": [...]}."},
    {"embedding embeddings embeddingmatrix embeddingweights weight weights matrix", "table", NULL},
    {"vocabulary word2id token2id stoi", "vocab", NULL},
    {"vocabsize", "vocab", NULL},
    {"paddingid padidx paddingidx padtokenid", "pad_id", NULL},
    {"maxlen maxseqlen maxsequencelength", "max_length", NULL},
    {"positionalencoding positionalencodings positionencoding positionalembedding posenc", "positions", NULL},

    /* projections */
    {"qproj qprojweight qweight queryweight", "wq", "Did you mean \"wq\"?" TRANSPOSED},
    {"kproj kprojweight kweight keyweight", "wk", "Did you mean \"wk\"?" TRANSPOSED},
    {"vproj vprojweight vweight valueweight", "wv", "Did you mean \"wv\"?" TRANSPOSED},
    {"oproj oprojweight outproj outprojweight outputweight", "wo", "Did you mean \"wo\"?" TRANSPOSED},
    {"inproj inprojweight", "wq", "Send its three parts as wq, wk and wv, with \"weight_layout\": \"out_in\"."},
    {"qbias qprojbias", "bq", NULL},
    {"kbias kprojbias", "bk", NULL},
    {"vbias vprojbias", "bv", NULL},
    {"obias oprojbias outprojbias outputbias", "bo", NULL},
    {"inprojbias", "bq", "Send its three parts as bq, bk and bv."},

    /* heads */
    {"h head heads nhead nheads numattentionheads qnumheads", "num_heads", NULL},
    {"kvheads nkvheads numkeyvalueheads kvnumheads numquerygroups", "num_kv_heads", NULL},
    {"enablegqa", "num_kv_heads", "Grouped heads follow from `num_kv_heads`, or from the heads of k and v."},
    {"averageattnweights averageattentionweights", "average_weights", NULL},

    /* scores */
    {"softmaxscale scalefactor temperature", "scale", NULL},
    {"temperature beta", "sharpness", NULL},
    {"logitsoftcap logitssoftcap logitcap attnlogitsoftcapping", "softcap", NULL},
    {"attentionbias positionbias", "attn_bias", NULL},
    {"alibislopes slopes", "alibi", NULL},
    {"attentionsinks", "sinks", NULL},
    {"rotary rotaryemb rotaryembedding", "rope", NULL},
    {"theta ropetheta", "base", NULL},
    {"theta ropetheta ropebase", "rope", "Rotary positions are \"rope\": {\"base\": 10000}."},

    /* masks */
    {"mask attentionmask", "attn_mask",
     "Masks are `attn_mask` (true = may attend) and `key_padding_mask` (true = padding)."},
    {"paddingmask padmask keymask", "key_padding_mask", NULL},
    {"lengths seqlens sequencelengths validlens", "key_lengths", NULL},
    {"masked autoregressive lookahead lookaheadmask", "causal", NULL},
    {"slidingwindow windowsize localwindowsize", "window",
     "`window` is [left, right]: [2, 0] is two keys before the query's own and none behind."},

    /* cache and answers */
    {"cache kvcache pastkeyvalue pastkeyvalues layerpast", "past_key", "Send `past_key` and `past_value`."},
    {"usecache", "return", "Ask for it: \"return\": [\"output\", \"present_key\", \"present_value\"]."},
    {"needweights returnattentionscores returnweights outputattentions outputs", "return",
     "Results are chosen by name: \"return\": [\"output\", \"weights\"]."},
    {"precision decimals digits ndigits rounding", "round", NULL},

    /* random numbers */
    {"seed rng randomseed rngseed randomstate", "random",
     "Random inputs are \"random\": {\"seed\": 0, \"draws\": [{\"into\": [...], \"shape\": [...]}]}."},
    {"std stddev sigma", "scale", NULL},
    {"mean mu", "loc", NULL},
    {"size", "shape", NULL},
    {"name names field fields target", "into", NULL},

    /* checking an answer */
    {"expected result results student submission solution output outputs", "answer", NULL},
    {"tolerance tol eps epsilon", "atol", NULL},
    {"path url route", "endpoint", NULL},
    {"body payload input inputs", "request", NULL},

    /* words */
    {"pytorch torch transposed", "out_in", NULL},
    {"keras numpy", "in_out", NULL},
    {"double f64 fp64", "float64", NULL},
    {"single f32 fp32", "float32", NULL},
    {"half float16 fp16 bfloat16 bf16", "float32", "Half precision is not computed; float32 comes nearest."},
    {"gaussian gauss randn", "normal", NULL},
    {"rand", "uniform", NULL},
    {"sin sine sincos", "sinusoidal", NULL},
    {"learned", "sinusoidal", "Learned positions are sent themselves, a matrix of shape (n, d)."},
    {"attention attn attentions attentionweights probs probabilities softmax", "weights", NULL},
    {"out result y embedding embeddings", "output", NULL},
    {"logits", "scores", NULL},
    {"mask paddingmask", "pad_mask", NULL},
    {"lse", "logsumexp", NULL},

    /* paths */
    {"multihead multiheadattention", "mha", NULL},
    {"attn selfattention sdpa scaleddotproductattention", "attention", NULL},
    {"embedding embeddings", "embed", NULL},
    {"docs doc swagger redoc help", "/openapi.yaml", NULL},
    {"health healthz livez ping status", "/health/live", NULL},
    {"ready readyz", "/health/ready", NULL},

    /* nowhere */
    {"dropout dropoutp attentiondropout training", NULL, "Attention is computed without dropout: leave it out."},
    {"dmodel embeddim hiddensize hiddendim headdim headsize dhead dk dv keydim valuedim kdim vdim seqlen batchsize",
     NULL, "Sizes are read off the arrays: leave it out."},
    {"batchfirst", NULL, "The batch is always the first axis: leave it out."},
    {"pretty indent", NULL, "Indenting is asked for in the address: ?pretty."},
};

enum { SYNONYMS = sizeof synonyms / sizeof *synonyms };

/* The first letter or digit from here on, as a small letter; 0 at the end. Bytes beyond ASCII count as letters. */
static int next_letter(const char **text) {
    while (**text && !isalnum((unsigned char)**text) && (unsigned char)**text < 0x80)
        ++*text;
    return **text ? tolower((unsigned char)*(*text)++) : 0;
}

bool api_same_letters(const char *a, const char *b) {
    int letter = next_letter(&a);
    bool any = letter != 0;
    for (; letter == next_letter(&b); letter = next_letter(&a))
        if (!letter)
            return any;
    return false;
}

/* Is the name one of the words of a list? */
static bool is_listed(const char *list, const char *name) {
    for (;;) {
        const char *letters = name;
        while (*list && *list != ' ' && next_letter(&letters) == *list)
            list++;
        if ((!*list || *list == ' ') && !next_letter(&letters))
            return true;
        list += strcspn(list, " ");
        if (!*list++)
            return false;
    }
}

const struct api_synonym *api_synonym_next(const char *name, size_t *row) {
    while (*row < SYNONYMS)
        if (is_listed(synonyms[(*row)++].theirs, name))
            return &synonyms[*row - 1];
    return NULL;
}
