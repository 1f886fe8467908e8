/* examples_list.h - the example requests that are compiled in, for examples.c and examples_data.S: a symbol, where the
 * request goes, its file, and what it shows. */
EXAMPLE(attention_causal, "/attention", "api/examples/attention-causal.json", "Three positions that look back only.")
EXAMPLE(attention_masked_is_absent, "/attention", "api/examples/attention-masked-is-absent.json",
        "What a masked position holds does not matter, not even NaN.")
EXAMPLE(attention_padding, "/attention", "api/examples/attention-padding.json",
        "Five Turkish reviews; the padding behind the short ones gets no weight.")
EXAMPLE(attention_window_alibi, "/attention", "api/examples/attention-window-alibi.json",
        "Each position sees itself and two before; nearer ones count more.")
EXAMPLE(check_not_causal, "/check", "api/examples/check-not-causal.json",
        "Is this answer right? It forgot its causal mask.")
EXAMPLE(check_right, "/check", "api/examples/check-right.json", "The same with the mask, rounded to three decimals.")
EXAMPLE(embed_positions, "/embed", "api/examples/embed-positions.json",
        "Three ids become vectors, sines and cosines added for their places.")
EXAMPLE(embed_reviews, "/embed", "api/examples/embed-reviews.json",
        "Texts to ids, with the vocabulary and the padding marked.")
EXAMPLE(lookup_sharpness, "/lookup", "api/examples/lookup-sharpness.json",
        "A dictionary of eight keys, looked up ever more sharply.")
EXAMPLE(mha_causal, "/mha", "api/examples/mha-causal.json", "Three heads over six positions, looking back only.")
EXAMPLE(mha_cross, "/mha", "api/examples/mha-cross.json", "Cross-attention: two queries look at three other vectors.")
EXAMPLE(mha_decode_step, "/mha", "api/examples/mha-decode-step.json",
        "One new position behind two that are remembered.")
EXAMPLE(mha_grouped_rope, "/mha", "api/examples/mha-grouped-rope.json",
        "Four query heads share two key heads, with rotary positions.")
EXAMPLE(mha_not_causal, "/mha", "api/examples/mha-not-causal.json",
        "The same three heads without a mask: the future is seen.")
