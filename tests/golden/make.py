"""Writes the golden cases: tests/golden/NAME/{route, request.json, expected.json}.

    python3 tests/golden/make.py            write all cases
    python3 tests/golden/make.py --check    write nothing; exit 1 if a file would change

Needs Python 3.9 and NumPy; the tests themselves read only what is committed. `expected.json` is the whole answer: one
that holds more is as wrong as one that holds less. Only texts that are there to be read, the formulas of a trace, are
left open: "*" stands for any value. What a request means is written down in reference.py. The lessons are computed a
second time here, the way a course would write them down, and must agree.
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
import numpy as np  # noqa: E402

from reference import answer, softmax  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CASES = {}


def case(name, path, request, **members):
    """One golden case; `members` stand in place of those that reference.py expects."""
    assert name not in CASES, name
    CASES[name] = path, request, {**answer(path, plain(request)), **members}


def plain(value):
    """What JSON would make of a request: arrays as lists, non-finite spellings as numbers."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(member) for member in value]
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def drawing(seed, **shapes):
    """A `random` that draws these fields."""
    return {"seed": seed, "draws": [{"into": [name], "shape": shape} for name, shape in shapes.items()]}


def rounded(rng, *shape):
    """Normal numbers of three decimals: short in the request, exact in both readers."""
    return np.round(rng.normal(size=shape), 3)


# ---- JSON that reads well: one line for each innermost row ----------------------------------------------------------


def text(value, indent="", bare=False):
    if isinstance(value, np.ndarray):
        value = value.tolist()
    inner = indent + "  "
    if isinstance(value, dict):
        members = [f"{inner}{json.dumps(name, ensure_ascii=False)}: {text(value[name], inner, bare)}" for name in value]
        return "{\n" + ",\n".join(members) + "\n" + indent + "}" if members else "{}"
    if isinstance(value, list) and any(isinstance(member, (list, dict)) for member in value):
        return "[\n" + ",\n".join(inner + text(member, inner, bare) for member in value) + "\n" + indent + "]"
    if isinstance(value, list):
        return "[" + ", ".join(text(member, inner, bare) for member in value) + "]"
    if isinstance(value, float) and not np.isfinite(value):
        name = json.dumps(value)
        return name if bare else f'"{name}"'
    return json.dumps(value, ensure_ascii=False)


# ---- the lessons ----------------------------------------------------------------------------------------------------

REVIEWS = ["film çok iyi", "çok kötü bir film", "iyi", "oyuncular iyi ama senaryo kötü", "kötü"]


def english_lesson():
    """Texts to ids to vectors to attention that ignores the padding."""
    request = {
        "tokens": {"texts": REVIEWS, "max_length": 5},
        "random": {
            "seed": 0,
            "draws": [
                {"into": ["tokens.table"], "shape": ["vocab", 8], "scale": 0.5},
                {"into": ["wq", "wk", "wv"], "shape": [8, 8], "scale": 0.5},
            ],
        },
    }
    case("lesson_padding", "/attention", request)
    case("lesson_padding_finite_fill", "/attention", dict(request, mask_value=-1e9))

    words = {"<pad>": 0}
    ids = np.zeros((5, 5), dtype=int)
    for row, review in enumerate(REVIEWS):
        for column, word in enumerate(review.split()):
            ids[row, column] = words.setdefault(word, len(words))
    rng = np.random.default_rng(0)
    table = rng.normal(size=(len(words), 8)) * 0.5
    wq, wk, wv = rng.normal(size=(3, 8, 8)) * 0.5
    h = table[ids]
    scores = (h @ wq) @ (h @ wk).transpose(0, 2, 1) / np.sqrt(8)
    weights, _ = softmax(np.where((ids == 0)[:, None, :], -1e9, scores))
    output = weights @ (h @ wv)
    for name in ("lesson_padding", "lesson_padding_finite_fill"):
        expected = CASES[name][2]
        agree(expected, output=output, weights=weights)
        assert expected["weights"].shape == (5, 5, 5) and expected["output"].shape == (5, 5, 8)
        assert expected["weights"][2, 0].tolist() == [1, 0, 0, 0, 0]
        assert expected["checks"]["padding"]["total_weight"] == 0.0
    case("lesson_embed", "/embed", dict(request["tokens"], random={"seed": 0, "draws": [
        {"into": ["table"], "shape": ["vocab", 8], "scale": 0.5}]}))  # fmt: skip
    agree(CASES["lesson_embed"][2], output=h, ids=ids)


def turkish_lesson():
    """Causal multi-head attention, and the same without the causal mask."""
    n, d, heads = 6, 12, 3
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    matrices = rng.normal(size=(4, d, d)) * 0.3
    changed = x.copy()
    changed[-1] += 2

    def mha(x, causal):
        per_head = [(x @ w).reshape(n, heads, d // heads).swapaxes(0, 1) for w in matrices[:3]]
        scores = per_head[0] @ per_head[1].swapaxes(1, 2) / np.sqrt(d // heads)
        weights, _ = softmax(np.where(np.tri(n, dtype=bool) | (not causal), scores, -np.inf))
        return (weights @ per_head[2]).swapaxes(0, 1).reshape(n, d) @ matrices[3], weights

    for causal in (True, False):
        request = {
            "num_heads": heads,
            "causal": causal,
            "random": {
                "seed": 0,
                "draws": [
                    {"into": ["x"], "shape": [n, d]},
                    {"into": ["wq", "wk", "wv", "wo"], "shape": [d, d], "scale": 0.3},
                ],
            },
        }
        output, weights = mha(x, causal)
        after, _ = mha(changed, causal)
        causality = {
            "requested": causal,
            "holds": causal,
            "max_future_weight": float(np.triu(weights, 1).max()),
            "perturbed_position": n - 1,
            "max_past_change": float(np.abs(after - output)[:-1].max()),
        }
        assert causal == np.allclose(after[:-1], output[:-1]) == (causality["max_future_weight"] == 0)
        name = "lesson_causal_mha" if causal else "lesson_mha_not_causal"
        case(name, "/mha", request)
        agree(CASES[name][2], output=output, weights=weights)
        found = CASES[name][2]["checks"]["causality"]
        np.testing.assert_allclose([found[member] for member in causality], list(causality.values()), rtol=1e-13)
    sent = {"x": x, **dict(zip(("wq", "wk", "wv", "wo"), matrices)), "num_heads": heads, "causal": True}
    case("lesson_causal_mha_sent", "/mha", sent)


def lookup_lesson():
    """Attention as a dictionary that becomes sharper."""
    request = {
        "keys": {"eye": 8},
        "sharpness": [0.5, 2, 8],
        "random": {"seed": 1, "draws": [{"into": ["values"], "shape": [8, 3]}]},
    }
    case("lesson_lookup", "/lookup", request)
    results = CASES["lesson_lookup"][2]["results"]
    assert [one["accuracy"] for one in results] == [0.125, 1, 1]
    assert [round(one["mean_own_weight"], 2) for one in results] == [0.16, 0.89, 1]
    case("lookup_one_sharpness", "/lookup", dict(request, sharpness=2))
    case("lookup_default_sharpness", "/lookup", {"keys": [[1, 0], [0, 1]], "values": [[1], [3]]})
    rng = np.random.default_rng(5)
    normal = {"seed": 9, "draws": [
        {"into": ["keys"], "shape": [5, 4], "distribution": "normal", "loc": 0.2, "scale": 0.7},
        {"into": ["values"], "shape": [5, 2], "distribution": "uniform"}]}  # fmt: skip
    case("lookup_drawn", "/lookup", {"random": normal, "sharpness": [0, -1, 1.5], "dtype": "float64"})
    case("lookup_float32", "/lookup", {"random": normal, "sharpness": [1, 3], "dtype": "float32"})
    case("lookup_return", "/lookup", {"random": normal, "sharpness": [1], "return": ["nearest", "weights", "output"]})
    full = answer("/lookup", {"random": normal})
    case("lookup_round", "/lookup", {"random": normal, "round": 1},
         output=np.round(full["output"], 1).tolist(), weights=np.round(full["weights"], 1).tolist())  # fmt: skip
    case("lookup_own_queries", "/lookup", {"keys": rounded(rng, 4, 3), "values": rounded(rng, 4, 2),
                                           "queries": rounded(rng, 2, 3), "sharpness": [1, 3]})  # fmt: skip


def agree(expected, **arrays):
    for name, array in arrays.items():
        np.testing.assert_allclose(np.array(expected[name]), array, rtol=1e-13, atol=1e-15)


# ---- /embed ---------------------------------------------------------------------------------------------------------


def embed_cases():
    rng = np.random.default_rng(10)
    table = rounded(rng, 6, 4)
    ids = [[1, 2, 3], [5, 0, 4]]
    case("embed_ids", "/embed", {"ids": [3, 1, 5], "table": table})
    case("embed_ids_batch", "/embed", {"ids": ids, "table": table})
    case("embed_ids_cut", "/embed", {"ids": ids, "table": table, "max_length": 2})
    case("embed_ids_padded", "/embed", {"ids": ids, "table": table, "max_length": 5, "pad_id": 3})
    case("embed_texts_to_longest", "/embed", {"texts": ["a b", "c", "b a c"], "table": rounded(rng, 4, 3)})
    case("embed_vocab", "/embed", {"texts": ["kedi uyur", "köpek koşar"], "table": table, "max_length": 3,
         "vocab": {"<pad>": 0, "koşar": 5, "kedi": 2, "köpek": 1, "uyur": 4}})  # fmt: skip
    case("embed_pad_token", "/embed", {"texts": ["x . y", "z"], "pad_token": ".", "table": rounded(rng, 4, 2)})
    case("embed_sinusoidal", "/embed", {"ids": ids, "table": table, "positions": "sinusoidal"})
    case("embed_sinusoidal_odd", "/embed", {"ids": [0, 1, 2, 3, 4, 5], "table": rounded(rng, 6, 5),
                                            "positions": "sinusoidal"})  # fmt: skip
    case("embed_positions", "/embed", {"ids": ids, "table": table, "positions": rounded(rng, 3, 4)})
    case("embed_scale", "/embed", {"ids": ids, "table": table, "scale": 2.5, "positions": "sinusoidal"})
    case("embed_float32", "/embed", {"ids": ids, "table": table, "dtype": "float32", "positions": "sinusoidal"})
    case("embed_float32_positions", "/embed", {"ids": ids, "table": table, "dtype": "float32",
                                               "positions": table[1:4]})  # fmt: skip
    case("embed_uniform_draw", "/embed", {"ids": ids, "random": {"seed": 42, "draws": [
         {"into": ["table"], "shape": [6, 4], "distribution": "uniform"}]}})  # fmt: skip
    case("embed_loc_draw", "/embed", {"ids": ids, "random": {"seed": 12345678901234, "draws": [
         {"into": ["table"], "shape": [6, 4], "loc": -3, "scale": 0.25}]}})  # fmt: skip
    case("embed_uniform_scaled_draw", "/embed", {"ids": ids, "random": {"seed": 43, "draws": [
         {"into": ["table"], "shape": [6, 4], "distribution": "uniform", "loc": -1, "scale": 2}]}})  # fmt: skip
    case("embed_seed_of_many_digits", "/embed", {"ids": ids, "random": {"seed": "340282366920938463463374607431768211507",
         "draws": [{"into": ["table"], "shape": [6, 4]}]}})  # fmt: skip
    case("embed_seed_list", "/embed", {"ids": ids, "random": {"seed": [1, 2, 4294967301], "draws": [
         {"into": ["table"], "shape": [6, 4]}]}})  # fmt: skip
    case("embed_no_padding", "/embed", {"ids": ids, "table": table, "pad_id": None})
    case("embed_mixed_draws", "/embed", {"texts": ["bir iki", "üç"], "random": {"seed": 7, "draws": [
         {"into": ["table"], "shape": ["vocab", 3], "distribution": "uniform"},
         {"into": ["positions"], "shape": [2, 3], "scale": 0.1}]}})  # fmt: skip
    # enough normals that the ziggurat's wedges and its tail (about one draw in 3,800) are taken
    case("embed_long_draw", "/embed", {"ids": [0, 1500, 2999], "random": {"seed": 2024, "draws": [
         {"into": ["table"], "shape": [3000, 4]}]}})  # fmt: skip
    case("embed_return", "/embed", {"ids": ids, "table": table, "return": ["pad_mask"]})
    texts = {"texts": ["a b", "c"], "random": {"seed": 6, "draws": [{"into": ["table"], "shape": ["vocab", 3],
             "distribution": "normal"}]}, "positions": "none", "dtype": "float64"}  # fmt: skip
    case("embed_return_all", "/embed", {**texts, "return": ["output", "ids", "vocab", "pad_mask"]})
    full = answer("/embed", texts)
    case("embed_round", "/embed", {**texts, "round": 2}, output=np.round(full["output"], 2).tolist())


# ---- /attention -----------------------------------------------------------------------------------------------------


def qkv(seed, n_q=4, n_k=4, d=3, d_v=3, lead=(), kv_lead=None):
    rng = np.random.default_rng(seed)
    kv_lead = lead if kv_lead is None else kv_lead
    return {"q": rounded(rng, *lead, n_q, d), "k": rounded(rng, *kv_lead, n_k, d), "v": rounded(rng, *kv_lead, n_k, d_v)}


def attention_cases():
    one, batch, heads = qkv(20), qkv(21, lead=(2,)), qkv(22, lead=(2, 2))
    for name, request in {
        "rank2": one,
        "rank3": batch,
        "rank4": heads,
        "rank2_heads": dict(qkv(23, d=6, d_v=6), num_heads=3),
        "rank3_heads": dict(qkv(24, d=4, d_v=6, lead=(2,)), num_heads=2),
        "n_q_differs": qkv(25, n_q=2, n_k=5),
        "v_wider": qkv(26, d_v=7),
        "v_narrower": qkv(27, d=5, d_v=1),
        "grouped_heads_rank4": qkv(28, lead=(1, 4), kv_lead=(1, 2)),
        "single_kv_head_rank4": qkv(29, lead=(2, 3), kv_lead=(2, 1)),
        "grouped_heads_rank3": {**qkv(30, d=8, lead=(2,)), **{name: qkv(31, d=4, d_v=6, lead=(2,))[name] for name in "kv"},
                                "num_heads": 4, "num_kv_heads": 2},
        "one_position": qkv(32, n_q=1, n_k=1),
        "scale": dict(one, scale=2),
        "scale_negative": dict(one, scale=-0.5),
        "scale_zero": dict(one, scale=0),
        "nulls": dict(one, scale=None, softcap=None, window=None, mask_value=None, alibi=None, num_heads=None,
                      num_kv_heads=None, rope=None, round=None),
        "softcap": dict(one, scale=3, softcap=1.5),
        "causal": dict(batch, causal=True),
        "causal_rank4": dict(heads, causal=True),
        "causal_n_q_greater": dict(qkv(33, n_q=5, n_k=3), causal=True),
        "causal_n_q_less": dict(qkv(34, n_q=2, n_k=5), causal=True),
        "bottom_right": dict(qkv(35, n_q=2, n_k=5), causal=True, causal_alignment="bottom_right"),
        "bottom_right_n_q_greater": dict(qkv(36, n_q=5, n_k=3), causal=True, causal_alignment="bottom_right"),
        "bottom_right_key_lengths": dict(qkv(37, n_q=3, n_k=5, lead=(3,)), causal=True, key_lengths=[5, 3, 1],
                                         causal_alignment="bottom_right"),
        "top_left": dict(qkv(38, n_q=2, n_k=4), causal=True, causal_alignment="top_left"),
        "key_lengths": dict(qkv(39, n_k=5, lead=(3,)), key_lengths=[5, 2, 0]),
        "key_lengths_causal": dict(batch, key_lengths=[4, 2], causal=True),
        "key_padding": dict(batch, key_padding_mask=[[False, False, True, True], [True, False, False, False]]),
        "key_padding_rank2": dict(one, key_padding_mask=[False, True, False, True]),
        "key_padding_rank4": dict(heads, key_padding_mask=[[False, False, False, True], [True, False, True, False]]),
        "window": dict(qkv(40, n_q=6, n_k=6), window=[1, 1]),
        "window_left_only": dict(qkv(41, n_q=6, n_k=6), window=[2, None]),
        "window_right_only": dict(qkv(42, n_q=6, n_k=6), window=[None, 0]),
        "window_open": dict(one, window=[None, None]),
        "window_asymmetric": dict(qkv(43, n_q=6, n_k=6, lead=(2,)), window=[0, 2]),
        "window_causal": dict(qkv(44, n_q=6, n_k=6), window=[2, None], causal=True),
        "window_bottom_right": dict(qkv(45, n_q=3, n_k=6), window=[1, 0], causal=True, causal_alignment="bottom_right"),
        "window_past_the_keys": dict(qkv(46, n_q=6, n_k=3), window=[1, 0]),
        "sinks": dict(heads, sinks=[0.7, -1.2]),
        "sinks_rank2": dict(one, sinks=[2.5]),
        "sinks_empty_row": dict(one, sinks=[1.5], key_padding_mask=[True] * 4),
        "alibi": dict(qkv(47, lead=(1, 4)), alibi=True, causal=True),
        "alibi_six_heads": dict(qkv(48, lead=(1, 6)), alibi=True),
        "alibi_one_head": dict(one, alibi=True),
        "alibi_slopes": dict(heads, alibi=[0.3, 0.05], causal=True),
        "alibi_false": dict(one, alibi=False),
        "alibi_bottom_right": dict(qkv(49, n_q=2, n_k=5, lead=(1, 2)), alibi=True, causal=True,
                                   causal_alignment="bottom_right"),
    }.items():  # fmt: skip
        case("attention_" + name, "/attention", request)

    rng = np.random.default_rng(60)
    for name, request, shape in (
        ("row", one, (4,)),
        ("matrix", one, (4, 4)),
        ("column", one, (4, 1)),
        ("batch", batch, (2, 4, 4)),
        ("batch_rows", batch, (2, 1, 4)),
        ("shared_by_batch", batch, (4, 4)),
        ("heads", heads, (2, 4, 4)),
        ("one_per_head", heads, (2, 1, 1)),
        ("batch_only", heads, (2, 1, 4, 4)),
        ("full", heads, (2, 2, 4, 4)),
    ):
        mask = rng.random(shape) < 0.6
        case("attention_bias_" + name, "/attention", dict(request, attn_bias=rounded(rng, *shape)))
        case("attention_mask_" + name, "/attention", dict(request, attn_mask=mask))
    case("attention_bias_infinite", "/attention", dict(one, attn_bias=[0, "-Infinity", 0.5, "-Infinity"]))
    absent_cases(one, batch)
    past_cases()
    long_cases()
    source_cases()
    form_cases(one, heads)
    combinations()


def absent_cases(one, batch):
    """A masked key has no influence; a row without keys is empty; what is allowed is not hidden."""
    padded = dict(batch, key_padding_mask=[[True] * 4, [False] * 4])
    case("attention_empty_row", "/attention", padded)
    case("attention_empty_row_finite_fill", "/attention", dict(padded, mask_value=-1e9))
    case("attention_empty_rows_of_mask", "/attention", dict(batch, attn_mask=np.tri(4, k=-2, dtype=bool)))
    single, as_batch = dict(one, causal=True), {name: array[None] for name, array in one.items()}
    case("attention_no_batch", "/attention", single)
    case("attention_batch_of_one", "/attention", dict(as_batch, causal=True))
    assert (CASES["attention_no_batch"][2]["output"] == CASES["attention_batch_of_one"][2]["output"][0]).all()

    poisoned = plain(one)
    poisoned["k"][1] = ["NaN", 1, "-Infinity"]
    poisoned["v"][1] = ["Infinity", "NaN", 1e308]
    poisoned["k"][3] = [1e308, 1e308, 1e308]
    poisoned["v"][3] = ["-Infinity", "NaN", -1e308]
    poisoned["key_padding_mask"] = [False, True, False, True]
    case("attention_masked_means_absent", "/attention", poisoned)
    bare = plain(poisoned)
    CASES["attention_bare_words"] = "/attention", bare, answer("/attention", bare)
    overflowing = plain(one)
    overflowing["v"][2][0] = "Infinity"
    overflowing["causal"] = True
    case("attention_infinity_is_reported", "/attention", overflowing)


def past_cases():
    """Decoding: the past in front, positions going on behind it."""
    rng = np.random.default_rng(61)
    shown = ["output", "weights", "present_key", "present_value"]
    one = dict(qkv(62, n_q=2, n_k=2), past_key=rounded(rng, 3, 3), past_value=rounded(rng, 3, 3))
    heads = dict(qkv(63, n_q=2, n_k=2, lead=(2, 2)), past_key=rounded(rng, 2, 2, 3, 3), past_value=rounded(rng, 2, 2, 3, 3))
    joined = dict(qkv(64, n_q=1, n_k=1, d=6, d_v=6, lead=(2,)), num_heads=3, past_key=rounded(rng, 2, 3, 2, 2),
                  past_value=rounded(rng, 2, 3, 2, 2))  # fmt: skip
    case("attention_past", "/attention", {**one, "return": shown})
    case("attention_past_causal", "/attention", {**one, "causal": True, "return": shown})
    case("attention_past_rank4", "/attention", {**heads, "causal": True, "return": shown})
    case("attention_past_rank3_heads", "/attention", {**joined, "causal": True, "return": shown})
    case("attention_past_window", "/attention", {**one, "causal": True, "window": [2, None]})
    case("attention_past_alibi", "/attention", {**heads, "causal": True, "alibi": True})
    case("attention_past_padding", "/attention",
         {**heads, "key_padding_mask": [[True, False, False, False, False], [False, True, False, False, True]]})  # fmt: skip
    case("attention_past_rope", "/attention", {**qkv(73, n_q=2, n_k=2, d=4), "past_key": rounded(rng, 3, 4),
         "past_value": rounded(rng, 3, 3), "rope": {}, "causal": True, "return": shown})  # fmt: skip
    case("attention_past_empty", "/attention", {**one, "past_key": {"shape": [0, 3], "data": []},
         "past_value": {"shape": [0, 3], "data": []}, "causal": True, "return": shown})  # fmt: skip
    case("attention_present_without_past", "/attention", {**qkv(65), "return": shown})


def long_cases():
    """More queries and keys than any block that a kernel works on at once."""
    drawn = {"seed": 31, "draws": [{"into": ["q"], "shape": [1, 2, 150, 4]}, {"into": ["k", "v"], "shape": [1, 1, 290, 4]}]}
    for name, options in {
        "causal": {"causal": True, "causal_alignment": "bottom_right"},
        "window": {"window": [37, 60], "alibi": True, "softcap": 4},
        "lengths": {"key_lengths": [131], "sinks": [0.5, -3]},
    }.items():
        case("attention_long_" + name, "/attention", {"random": drawn, **options, "return": ["output", "logsumexp"]})
    case("mha_long", "/mha", {"num_heads": 2, "causal": True, "rope": {}, "return": ["output"], "random": {"seed": 32, "draws": [
         {"into": ["x"], "shape": [270, 8]}, {"into": ["wq", "wk", "wv", "wo"], "shape": [8, 8], "scale": 0.4}]}})  # fmt: skip


def source_cases():
    rng = np.random.default_rng(66)
    x = rounded(rng, 2, 3, 4)
    wq, wk, wv = rounded(rng, 4, 5), rounded(rng, 4, 5), rounded(rng, 4, 2)
    shown = ["q", "k", "v", "output", "weights"]
    case("attention_x", "/attention", {"x": x, "return": shown})
    case("attention_x_rank2", "/attention", {"x": x[0], "causal": True})
    case("attention_x_projected", "/attention", {"x": x, "wq": wq, "wk": wk, "wv": wv, "return": shown})
    case("attention_x_some_projected", "/attention", {"x": x, "wq": rounded(rng, 4, 4), "return": shown})
    case("attention_x_heads", "/attention", {"x": x, "wq": rounded(rng, 4, 6), "wk": rounded(rng, 4, 6),
                                             "wv": rounded(rng, 4, 3), "num_heads": 3, "return": shown})  # fmt: skip
    tokens = {"ids": [[1, 2, 0], [3, 0, 0]], "table": rounded(rng, 4, 4)}
    case("attention_tokens", "/attention", {"tokens": tokens})
    case("attention_tokens_own_padding", "/attention",
         {"tokens": tokens, "key_padding_mask": [[False] * 3, [True, False, False]]})  # fmt: skip
    case("attention_tokens_cross", "/attention", {"tokens": tokens, "context": rounded(rng, 2, 2, 4)})
    case("attention_context", "/attention", {"x": x, "context": rounded(rng, 2, 5, 4), "return": shown})
    case("attention_context_projected", "/attention", {"x": x[0], "context": rounded(rng, 5, 3), "wq": wq,
         "wk": rounded(rng, 3, 5), "wv": rounded(rng, 3, 2), "return": shown})  # fmt: skip
    case("attention_x_biases", "/attention", {"x": x, "wq": wq, "wk": wk, "wv": wv, "bq": rounded(rng, 5),
         "bk": rounded(rng, 5), "bv": rounded(rng, 2), "return": shown})  # fmt: skip
    case("attention_x_out_in", "/attention", {"x": x, "wq": wq.T, "wk": wk.T, "wv": wv.T, "weight_layout": "out_in"})
    same(CASES["attention_x_out_in"], CASES["attention_x_projected"])
    case("attention_x_rank4", "/attention", {"x": rounded(rng, 2, 3, 4, 2), "causal": True, "return": shown})
    case("attention_rope", "/attention", {**qkv(67, d=4, lead=(2,)), "rope": {"base": 100}, "return": shown})
    case("attention_rope_rank2", "/attention", {**qkv(68, d=5), "rope": {"dims": 2, "interleaved": True}, "return": shown})
    case("attention_rope_positions", "/attention",
         {**qkv(75, d=4, lead=(2,)), "rope": {"positions": [4, 3, 2, 0.5], "dims": 4}, "causal": True})  # fmt: skip
    case("attention_tokens_everything", "/attention", {"tokens": {"texts": ["a b c", ". b"], "pad_token": ".", "scale": 2,
         "vocab": {".": 1, "a": 0, "b": 3, "c": 2}, "pad_id": 1, "positions": "sinusoidal"}, "random": {"seed": 5, "draws": [
         {"into": ["tokens.table"], "shape": ["vocab", 4], "distribution": "uniform"},
         {"into": ["wq"], "shape": [4, 4], "distribution": "normal", "loc": 0.1, "scale": 0.5}]}})  # fmt: skip
    case("attention_tokens_no_positions", "/attention",
         {"tokens": dict(tokens, positions="none"), "wq": rounded(rng, 4, 4), "weight_layout": "in_out"})  # fmt: skip
    # the last row of x is beyond the length and yet the last query: it may change its own output, no earlier one
    beyond = {"key_lengths": [2, 3], "causal": True, "causal_alignment": "bottom_right"}
    case("attention_x_bottom_right_key_lengths", "/attention", {"x": x, **beyond})
    case("attention_x_projected_bottom_right_key_lengths", "/attention", {"x": x, "wq": wq, "wk": wk, **beyond})
    case("attention_trace", "/attention", {**qkv(76), "causal": True, "trace": True})
    case("attention_trace_x", "/attention", {"x": x[0], "wq": wq, "wk": wk, "wv": wv, "trace": True, "softcap": 3,
         "alibi": True, "window": [1, None], "sinks": [0.5], "return": ["output"]})  # fmt: skip
    case("attention_trace_heads", "/attention", {**qkv(77, d=4, d_v=4, lead=(2,)), "num_heads": 2, "trace": True,
         "rope": {}, "checks": False})  # fmt: skip
    case("attention_average_weights", "/attention", {**qkv(69, lead=(2, 3)), "average_weights": True})
    # whatever can be drawn, is; with the weights at hand, and with checks that have to form them again
    drawn = {"num_heads": 2, "causal": True, "random": drawing(82, q=[2, 3, 4], k=[2, 5, 4], v=[2, 5, 6],
             past_key=[2, 2, 2, 2], past_value=[2, 2, 2, 3], attn_bias=[2, 3, 7], alibi=[2], sinks=[2])}  # fmt: skip
    case("attention_drawn_throughout", "/attention", drawn)
    case("attention_drawn_output_only", "/attention", {**drawn, "return": ["output"]})
    case("attention_drawn_float32", "/attention", {**drawn, "dtype": "float32"})


def form_cases(one, heads):
    """How things are spelled: shapes, precision, what is returned."""
    everything = ["output", "weights", "scores", "capped_scores", "masked_scores", "logsumexp", "q", "k", "v",
                  "present_key", "present_value"]  # fmt: skip
    case("attention_everything", "/attention", {**heads, "softcap": 2, "causal": True, "return": everything,
         "attn_bias": [[0.5, 0, -0.5, 1]], "key_padding_mask": [[False, False, True, False], [True] * 4]})  # fmt: skip
    case("attention_everything_rank2", "/attention", {**one, "softcap": 2, "window": [1, 0], "return": everything})
    case("attention_everything_finite_fill", "/attention",
         {**one, "causal": True, "mask_value": -1e9, "return": everything})  # fmt: skip
    case("attention_logsumexp_sinks", "/attention", {**heads, "sinks": [1, -1], "causal": True,
                                                     "return": ["logsumexp", "output"]})  # fmt: skip
    case("attention_output_only", "/attention", {**qkv(70, n_q=9, n_k=9, lead=(2,)), "causal": True,
                                                 "return": ["output"]})  # fmt: skip
    case("attention_output_only_empty", "/attention", {**qkv(71, n_k=5, lead=(3,)), "key_lengths": [5, 2, 0],
                                                       "return": ["output", "logsumexp"]})  # fmt: skip
    case("attention_float32", "/attention", {**heads, "causal": True, "dtype": "float32", "return": everything})
    case("attention_float32_output_only", "/attention", {**qkv(72, n_q=9, n_k=9), "dtype": "float32", "causal": True,
                                                         "return": ["output"]})  # fmt: skip
    case("attention_float64", "/attention", {**one, "dtype": "float64"})
    flat = {name: {"shape": list(array.shape), "data": array.ravel()} for name, array in heads.items()}
    case("attention_shape_data", "/attention", dict(flat, causal=True))
    case("attention_eye", "/attention", {"q": {"eye": 3}, "k": {"eye": 3}, "v": [[1, 2], [3, 4], [5, 6]]})
    full = answer("/attention", plain(one))
    case("attention_round", "/attention", dict(one, round=3),
         output=np.round(full["output"], 3).tolist(), weights=np.round(full["weights"], 3).tolist())  # fmt: skip


def combinations():
    """Options together, drawn by lot; the seed is the name."""
    for seed in range(24):
        rng = np.random.default_rng(1000 + seed)
        chance = lambda p: bool(rng.random() < p)  # noqa: E731
        batch, kv_heads, group = (int(n) for n in rng.integers(1, 4, size=3))
        n_q, n_k, d, d_v = (int(n) for n in rng.integers(1, 6, size=4))
        heads = kv_heads * group
        request = qkv(1100 + seed, n_q, n_k, d, d_v, lead=(batch, heads), kv_lead=(batch, kv_heads))
        total = n_k
        past = chance(0.3)
        if past:
            length = int(rng.integers(1, 4))
            total += length
            request["past_key"] = rounded(rng, batch, kv_heads, length, d)
            request["past_value"] = rounded(rng, batch, kv_heads, length, d_v)
        if chance(0.3):
            request["scale"] = round(float(rng.normal()), 3)
        if chance(0.3):
            request["softcap"] = round(float(rng.uniform(0.5, 3)), 3)
        if chance(0.4):
            shape = [(total,), (n_q, 1), (heads, 1, total), (batch, 1, n_q, total)][rng.integers(4)]
            request["attn_bias"] = rounded(rng, *shape)
        if chance(0.4):
            request["alibi"] = True if chance(0.5) else rng.uniform(0, 1, heads).round(3)
        if chance(0.4):
            shape = [(total,), (n_q, 1), (heads, 1, total), (batch, 1, n_q, total)][rng.integers(4)]
            request["attn_mask"] = rng.random(shape) < 0.7
        if chance(0.3):
            request["key_padding_mask"] = rng.random((batch, total)) < 0.3
        if chance(0.3) and not past:
            request["key_lengths"] = rng.integers(0, total + 1, batch)
        if chance(0.5):
            request["causal"] = True
            if chance(0.5) and not past:
                request["causal_alignment"] = "bottom_right"
        if chance(0.4):
            request["window"] = [[0, 1], [2, None], [None, 1], [1, 0]][rng.integers(4)]
        if chance(0.3):
            request["sinks"] = rounded(rng, heads)
        if chance(0.2):
            request["dtype"] = "float32"
        if chance(0.6):
            request["return"] = ["output", "weights", "masked_scores", "logsumexp"]
        case(f"attention_combination_{seed:02}", "/attention", request)


# ---- /mha -----------------------------------------------------------------------------------------------------------


def layer(seed, n=4, d=6, columns=6, kv_columns=None, d_out=None, v_columns=None, batch=None, width=None):
    """x and matrices; columns of wq, of wk, of wv and of the output, and the width of a context."""
    rng = np.random.default_rng(seed)
    kv_columns = kv_columns or columns
    v_columns = v_columns or kv_columns
    into_wo = columns // (kv_columns or columns) * v_columns
    return {
        "x": rounded(rng, *([batch] if batch else []), n, d),
        "wq": rounded(rng, d, columns),
        "wk": rounded(rng, width or d, kv_columns),
        "wv": rounded(rng, width or d, v_columns),
        "wo": rounded(rng, into_wo, d_out or d),
    }


def mha_cases():
    one, batch = dict(layer(80), num_heads=3), dict(layer(81, batch=2), num_heads=2)
    rng = np.random.default_rng(82)
    shown = ["output", "weights", "q", "k", "v", "heads"]
    biases = {"bq": rounded(rng, 6), "bk": rounded(rng, 6), "bv": rounded(rng, 6), "bo": rounded(rng, 6)}
    context, wide = rounded(rng, 5, 6), rounded(rng, 2, 3, 4)
    everything = ["output", "weights", "scores", "capped_scores", "masked_scores", "logsumexp", "q", "k", "v", "heads",
                  "present_key", "present_value"]  # fmt: skip
    for name, request in {
        "one": one,
        "batch": batch,
        "one_head": dict(layer(83), num_heads=1),
        "causal_batch": dict(batch, causal=True),
        "biases": {**batch, **biases, "return": shown},
        "bias_of_output_only": dict(one, bo=biases["bo"]),
        "grouped_heads": {**layer(84, d=8, columns=8, kv_columns=4, batch=2), "num_heads": 4, "num_kv_heads": 2,
                          "return": shown},
        "single_kv_head": {**layer(85, d=6, columns=6, kv_columns=2), "num_heads": 3, "num_kv_heads": 1, "causal": True},
        "narrower_inside": dict(layer(86, d=6, columns=4), num_heads=2),
        "v_wider": dict(layer(87, d=6, columns=4, v_columns=10, d_out=3), num_heads=2),
        "context": {**one, "context": context, "return": shown},
        "context_other_width": {**layer(88, n=2, width=4, batch=2), "num_heads": 3, "context": wide},
        "context_padding": {**layer(88, n=2, width=4, batch=2), "num_heads": 3, "context": wide,
                            "key_padding_mask": [[False, False, True], [True, False, False]]},
        "key_padding": dict(batch, key_padding_mask=[[False, False, False, True], [True, True, True, True]]),
        "average_weights": dict(batch, average_weights=True),
        "average_weights_one": dict(one, average_weights=True, causal=True),
        "scale": dict(one, scale=1),
        "softcap_alibi_window": dict(batch, softcap=3, alibi=True, window=[1, 2]),
        "sinks": dict(batch, sinks=[0.5, 1.5], causal=True),
        "rope": {**one, "num_heads": 1, "rope": {}, "return": shown},
        "rope_heads": {**batch, "num_heads": 1, "rope": {"base": 10000, "interleaved": False, "dims": None,
                                                         "positions": None}, "causal": True, "return": shown},
        "rope_interleaved": {**one, "num_heads": 1, "rope": {"interleaved": True, "base": 100}, "return": shown},
        "rope_partial": {**one, "num_heads": 1, "rope": {"dims": 4}, "return": shown},
        "rope_partial_interleaved": {**batch, "num_heads": 1, "rope": {"dims": 2, "interleaved": True}, "return": shown},
        "rope_positions": {**one, "num_heads": 1, "rope": {"positions": [7, 3, 0, 11]}, "return": shown},
        "rope_positions_batch": {**batch, "num_heads": 3, "rope": {"positions": [[0, 1, 2, 3], [9, 7, 0.5, -2]]},
                                 "return": shown},
        "rope_grouped": {**layer(89, d=8, columns=8, kv_columns=4, batch=2), "num_heads": 4, "num_kv_heads": 2,
                         "rope": {"base": 500}, "causal": True, "return": shown},
        "everything": {**batch, **biases, "causal": True, "softcap": 2, "return": everything,
                       "key_padding_mask": [[False, False, False, True], [True, False, False, False]]},
        "everything_one": {**one, "causal": True, "return": everything},
        "output_only": {**batch, "causal": True, "return": ["output"]},
        "float32": {**batch, **biases, "causal": True, "dtype": "float32", "return": shown},
        "float32_output_only": {**one, "dtype": "float32", "rope": {}, "return": ["output"]},
        "tokens": {**{name: layer(90)[name] for name in ("wq", "wk", "wv", "wo")}, "num_heads": 2, "causal": True,
                   "tokens": {"texts": ["bir iki üç", "iki"], "table": rounded(rng, 4, 6), "positions": "sinusoidal"}},
        "attn_mask_heads": dict(batch, attn_mask=rng.random((2, 4, 4)) < 0.6),
        "attn_bias_batch": dict(batch, attn_bias=rounded(rng, 2, 1, 4, 4)),
    }.items():  # fmt: skip
        case("mha_" + name, "/mha", request)

    transposed = {name: array.T if name[0] == "w" else array for name, array in layer(81, batch=2).items()}
    case("mha_out_in", "/mha", dict(transposed, num_heads=2, weight_layout="out_in"))
    case("mha_in_out", "/mha", dict(batch, weight_layout="in_out"))
    same(CASES["mha_out_in"], CASES["mha_batch"])
    case("mha_batch_of_one", "/mha", {**one, "x": one["x"][None]})
    decoding(everything)
    spelled_out(one, batch, biases, context)


def spelled_out(one, batch, biases, context):
    """Traces, and fields that are common to both endpoints, once more in this one."""
    case("mha_trace", "/mha", {**one, "causal": True, "trace": True})
    case("mha_drawn_throughout", "/mha", {"num_heads": 4, "num_kv_heads": 2, "random": drawing(83, x=[3, 5], wq=[5, 8],
         wk=[5, 4], wv=[5, 6], wo=[12, 4], bq=[8], bk=[4], bv=[6], bo=[4], past_key=[2, 1, 2], past_value=[2, 1, 3],
         attn_bias=[4, 1, 4], alibi=[4], sinks=[4]), "checks": True})  # fmt: skip
    case("mha_trace_everything", "/mha", {**batch, **biases, "num_heads": 3, "causal": True, "trace": True, "rope": {},
         "softcap": 2, "past_key": np.ones((2, 3, 1, 2)), "past_value": np.ones((2, 3, 1, 2)), "return": []})  # fmt: skip
    case("mha_trace_context", "/mha", {**one, "context": context, "trace": True, "average_weights": True, "checks": False})
    case("mha_key_lengths", "/mha", dict(batch, key_lengths=[4, 1], causal=True, causal_alignment="top_left"))
    case("mha_bottom_right", "/mha", {**one, "context": context, "causal": True, "causal_alignment": "bottom_right"})
    case("mha_empty_row_finite_fill", "/mha", {**batch, "mask_value": -1e9, "dtype": "float64", "checks": True,
         "key_padding_mask": [[True] * 4, [False] * 4]})  # fmt: skip
    matrices = {name: batch[name] for name in ("wq", "wk", "wv", "wo")}
    case("mha_tokens_ids", "/mha", {**matrices, "num_heads": 2, "tokens": {"ids": [[3, 1, 2], [1, 1, 3]], "max_length": 4,
         "pad_id": 2, "positions": "none", "scale": 0.5}, "random": {"seed": 3, "draws": [{"into": ["tokens.table"],
         "shape": [4, 6], "distribution": "uniform"}]}})  # fmt: skip
    case("mha_tokens_vocab", "/mha", {**matrices, "num_heads": 2, "tokens": {"texts": ["a b", "b . a"], "pad_token": ".",
         "vocab": {"b": 1, ".": 0, "a": 2}}, "random": {"seed": 4, "draws": [{"into": ["tokens.table"], "shape": ["vocab", 6],
         "distribution": "normal", "loc": 0.5, "scale": 0.1}]}})  # fmt: skip
    full = answer("/mha", plain(one))
    case("mha_round", "/mha", dict(one, round=2),
         output=np.round(full["output"], 2).tolist(), weights=np.round(full["weights"], 2).tolist())  # fmt: skip


def decoding(everything):
    """A causal run in one piece equals the same run in two, the second with the first one's keys and values."""
    whole = {**layer(91, n=5), "num_heads": 3, "causal": True, "rope": {"base": 50}}
    first = {**whole, "x": whole["x"][:3], "return": everything}
    case("mha_decode_whole", "/mha", whole)
    case("mha_decode_first", "/mha", first)
    found = CASES["mha_decode_first"][2]
    second = {**whole, "x": whole["x"][3:], "past_key": found["present_key"], "past_value": found["present_value"],
              "return": everything}  # fmt: skip
    case("mha_decode_second", "/mha", second)
    agree(CASES["mha_decode_second"][2], output=CASES["mha_decode_whole"][2]["output"][3:])
    agree(CASES["mha_decode_second"][2], weights=CASES["mha_decode_whole"][2]["weights"][:, 3:])
    grouped = {**layer(92, n=1, d=8, columns=8, kv_columns=4, batch=2), "num_heads": 4, "num_kv_heads": 2, "causal": True}
    rng = np.random.default_rng(93)
    case("mha_decode_grouped", "/mha", {**grouped, "past_key": rounded(rng, 2, 2, 3, 2),
         "past_value": rounded(rng, 2, 2, 3, 2), "rope": {"interleaved": True}, "window": [2, None],
         "return": everything})  # fmt: skip


# ---- /check ---------------------------------------------------------------------------------------------------------


def check_cases():
    """What a student sends: right, nearly right, forgot the mask, wrong shape."""
    rng = np.random.default_rng(100)
    one = qkv(101)
    right = answer("/attention", plain(one))
    sent = {name: np.round(right[name], 7) for name in ("output", "weights")}
    case("check_passes", "/check", {"endpoint": "attention", "request": {**one, "round": 2, "checks": False, "trace": True},
         "answer": sent})  # fmt: skip
    off = {name: np.round(array, 3) for name, array in sent.items()}
    case("check_too_rough", "/check", {"endpoint": "attention", "request": one, "answer": off})
    case("check_own_tolerance", "/check", {"endpoint": "attention", "request": one, "answer": off, "rtol": 0, "atol": 0.001})
    case("check_no_tolerance", "/check", {"endpoint": "attention", "request": one, "answer": sent, "rtol": 0, "atol": 0})
    case("check_forgot_the_mask", "/check", {"endpoint": "attention", "request": dict(one, causal=True), "answer": {
         name: right[name] for name in ("output", "weights")}})  # fmt: skip
    assert CASES["check_forgot_the_mask"][2]["checks"]["causality"] == {
        "requested": True, "holds": False, "max_future_weight": float(np.triu(right["weights"], 1).max())}  # fmt: skip
    case("check_wrong_shape", "/check", {"endpoint": "attention", "request": one, "answer": {"output": right["output"].T}})
    sinks = {"random": drawing(103, q=[2, 3], k=[4, 3], v=[4, 2], sinks=[1])}
    case("check_drawn_sinks", "/check", {"endpoint": "attention", "request": sinks, "answer": {
         name: answer("/attention", sinks)[name] for name in ("output", "weights")}})  # fmt: skip
    mha = dict(layer(102), num_heads=3)
    found = answer("/mha", plain(dict(mha, **{"return": ["q", "heads"]})))
    case("check_mha", "/check", {"endpoint": "mha", "request": mha, "answer": {"q": found["q"], "heads": found["heads"] + 1e-4}})
    table = rounded(rng, 5, 3)
    case("check_embed", "/check", {"endpoint": "embed", "request": {"ids": [1, 4, 1], "table": table},
                                   "answer": {"output": table[[1, 4, 1]], "ids": [1, 4, 2]}})  # fmt: skip
    case("check_padding", "/check", {"endpoint": "embed", "request": {"ids": [[1, 4], [2, 0]], "table": table},
                                     "answer": {"pad_mask": [[False, False], [False, True]]}})  # fmt: skip
    case("check_lookup", "/check", {"endpoint": "lookup", "request": {"keys": {"eye": 2}, "values": [[1], [3]]},
                                    "answer": {"nearest": [0, 1], "weights": [[0.7, 0.3], [0.3, 0.7]]}})  # fmt: skip


def same(one, other):
    for name in ("output", "weights"):
        np.testing.assert_array_equal(one[2][name], other[2][name])


# ---- files ----------------------------------------------------------------------------------------------------------


def files():
    for make in (english_lesson, turkish_lesson, lookup_lesson, embed_cases, attention_cases, mha_cases, check_cases):
        make()
    for name, (path, request, expected) in sorted(CASES.items()):
        yield HERE / name / "route", f"POST {path}\n"
        yield HERE / name / "request.json", text(request, bare=name == "attention_bare_words") + "\n"
        yield HERE / name / "expected.json", text(expected) + "\n"


def main():
    changed = 0
    wanted = dict(files())
    for path, content in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            changed += 1
            if "--check" not in sys.argv:
                path.parent.mkdir(exist_ok=True)
                path.write_text(content, encoding="utf-8")
    stray = {path.name for path in HERE.iterdir() if path.is_dir()} - set(CASES)
    print(f"{len(CASES)} cases, {changed} files changed" + (f"; no longer made: {sorted(stray)}" if stray else ""))
    return 1 if "--check" in sys.argv and (changed or stray) else 0


if __name__ == "__main__":
    sys.exit(main())
