"""The meaning of every request, in plain NumPy and nothing clever.

`answer(route, request)` takes a request as Python lists and dictionaries and gives the whole answer, except for texts
that are there to be read. Everything is computed in double precision on [batch, heads, rows, columns] arrays; axes the
caller did not send are dropped at the end. `dtype: float32` rounds what comes in, so that the answers stay the exact
ones for those inputs. What a request holds is read in embedding.py; the checks are measured in checks.py.

Legend    b batch, h head, i query, j key;  p = i + offset, the query's position among the keys
"""

import numpy as np

from checks import past_change, report
from embedding import draw, embed, tensor, vocabulary

ANYTHING = "*"  # stands for a member that must be there, whatever its value


# ---- attention ------------------------------------------------------------------------------------------------------


def softmax(scores, sinks=None):
    """Rows of weights and the natural logarithm of their denominators; a row of only -inf has weights 0.

    sinks [heads, 1, 1] join the denominator and have no weight of their own."""
    scores = scores if sinks is None else np.concatenate([scores, np.broadcast_to(sinks, scores.shape[:-1] + (1,))], -1)
    top = scores.max(-1, keepdims=True)
    empty = np.isneginf(top)
    with np.errstate(divide="ignore"):
        exponential = np.exp(scores - np.where(empty, 0.0, top))
        total = exponential.sum(-1, keepdims=True)
        weights = exponential / np.where(empty, 1.0, total)
        lse = (np.log(total) + np.where(empty, 0.0, top))[..., 0]
    return (weights if sinks is None else weights[..., :-1]), lse


def alibi_slopes(heads):
    """2^(-8(h+1)/n) for the largest power of two n <= heads, then 2^(-4(2(h-n)+1)/n) for the heads that are left."""
    n = 2 ** int(np.log2(heads))
    return np.array([2.0 ** (-8 * (h + 1) / n) if h < n else 2.0 ** (-4 * (2 * (h - n) + 1) / n) for h in range(heads)])


def broadcast(array, scores, batched, headed):
    """An array that NumPy would broadcast against the scores as the caller sees them, on all four axes."""
    if array.ndim == 3 and batched and not headed:
        array = array[:, None]  # (batch, n_q, n_k): put the axis of the single head in
    return np.broadcast_to(array, scores.shape)


def visible(options, scores, batched, headed, past):
    """[b, h, i, j]: may query i see key j? Also each row's position p [b, 1, i, 1]."""
    batch, _, n_q, n_k = scores.shape
    lengths = options.get("key_lengths")
    if options.get("causal_alignment") == "bottom_right":
        offset = (np.array(lengths) if lengths else np.full(batch, n_k)) - n_q
    else:
        offset = np.full(batch, past)
    p = np.arange(n_q)[None, None, :, None] + offset[:, None, None, None]
    j = np.arange(n_k)[None, None, None, :]
    allowed = np.ones(scores.shape, dtype=bool)
    if "attn_mask" in options:
        allowed &= broadcast(np.array(options["attn_mask"]), scores, batched, headed)
    if "key_padding_mask" in options:
        allowed &= ~np.array(options["key_padding_mask"]).reshape(batch, 1, 1, n_k)
    if lengths:
        allowed &= j < np.array(lengths).reshape(batch, 1, 1, 1)
    if options.get("causal"):
        allowed &= j <= p
    left, right = options.get("window", [None, None])
    if left is not None:
        allowed &= j >= p - left
    if right is not None:
        allowed &= j <= p + right
    return allowed, p


def attention(q, k, v, options, batched, headed, past=0):
    """q [b, h, i, d], k [b, g, j, d], v [b, g, j, e] -> every result [b, h, ...]; kv head g of query head h is
    h // (heads / kv_heads)."""
    heads, group = q.shape[1], q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        scores = options.get("scale", 1 / np.sqrt(q.shape[-1])) * (q @ k.transpose(0, 1, 3, 2))
    cap = options.get("softcap")
    capped = cap * np.tanh(scores / cap) if cap else scores
    allowed, p = visible(options, scores, batched, headed, past)
    biased = capped
    if "attn_bias" in options:
        biased = biased + broadcast(tensor(options["attn_bias"]), scores, batched, headed)
    if options.get("alibi") is not None and options["alibi"] is not False:
        slopes = alibi_slopes(heads) if options["alibi"] is True else np.array(options["alibi"])
        biased = biased - slopes[None, :, None, None] * np.abs(np.arange(k.shape[2]) - p)
    masked = np.where(allowed, biased, options.get("mask_value", -np.inf))
    sinks = np.array(options["sinks"])[:, None, None] if "sinks" in options else None
    weights, lse = softmax(masked, sinks)
    with np.errstate(invalid="ignore"):
        terms = weights[..., None] * v[:, :, None]
    output = np.where(weights[..., None] > 0, terms, 0.0).sum(-2)  # what has no weight is absent, whatever it holds
    return {
        "output": output, "weights": weights, "scores": scores, "capped_scores": capped, "masked_scores": masked,
        "logsumexp": lse, "positions": p, "sink_shares": 0 if sinks is None else np.exp(sinks[..., 0] - lse),
    }  # fmt: skip


def shape(array):
    return list(array.shape)


def shapes(found):
    """Of every array in an answer."""
    return {name: shape(value) for name, value in found.items() if isinstance(value, np.ndarray)}


def split(array, heads):
    """(batch, n, heads * d) -> (batch, heads, n, d): head h owns the h-th run of d columns."""
    batch, n, columns = array.shape
    return array.reshape(batch, n, heads, columns // heads).transpose(0, 2, 1, 3)


def join(array):
    """(batch, heads, n, d) -> (batch, n, heads * d)"""
    batch, heads, n, d = array.shape
    return array.transpose(0, 2, 1, 3).reshape(batch, n, heads * d)


def rotate(array, rope, first):
    """Rotary positions on [b, h, n, d]: pairs (x1, x2) turn by position * base^(-2i/dims)."""
    dims = rope.get("dims") or array.shape[-1]
    positions = rope.get("positions")
    positions = np.arange(array.shape[2]) + first if positions is None else np.array(positions)
    positions = positions.reshape(-1, 1, array.shape[2], 1)
    angle = positions * rope.get("base", 10000.0) ** (-2 * np.arange(dims // 2) / dims)
    if rope.get("interleaved"):
        one, two = np.arange(0, dims, 2), np.arange(1, dims, 2)
    else:
        one, two = np.arange(dims // 2), np.arange(dims // 2) + dims // 2
    turned = array.copy()
    turned[..., one] = np.cos(angle) * array[..., one] - np.sin(angle) * array[..., two]
    turned[..., two] = np.sin(angle) * array[..., one] + np.cos(angle) * array[..., two]
    return turned


# ---- the endpoints --------------------------------------------------------------------------------------------------


def sources(request, single):
    """The inputs of q and of k, v as arrays, with padding found by tokens added to the options."""
    options = dict(request)
    if "tokens" in request:
        embedded = embed(request["tokens"], single)
        x = embedded["output"]
        if "context" not in request and embedded["pad_mask"].any():
            past = tensor(request["past_key"]).shape[-2] if "past_key" in request else 0
            padding = np.concatenate([np.zeros(embedded["ids"].shape[:-1] + (past,), bool), embedded["pad_mask"]], -1)
            options["key_padding_mask"] = padding | np.array(request.get("key_padding_mask", False))
    else:
        x = tensor(request["x"], single)
    return x, tensor(request["context"], single) if "context" in request else x, options


def projected(array, request, name, single):
    """array w + b, of what was sent of wq and bq (wk, bk ...)"""
    if "w" + name in request:
        w = tensor(request["w" + name], single)
        array = array @ (w.T if request.get("weight_layout") == "out_in" else w)
    return array + tensor(request["b" + name], single) if "b" + name in request else array


def attend(q, k, v, request, options, batched, single, headed):
    """q, k, v [b, h, i, d] with rotation and the past in front: every result."""
    past = tensor(request["past_key"]).shape[-2] if "past_key" in request else 0
    found = {"plain_q": q, "plain_k": k}
    if "rope" in request:
        q, k = rotate(q, request["rope"], past), rotate(k, request["rope"], past)
    found.update(q=q, k=k, v=v)
    k, v = with_past(request, k, v, batched, headed, single)
    found.update(attention(q, k, v, options, batched, headed, past), present_key=k, present_value=v)
    return found


def results(found, options, rank4, batched, headed, arrays):
    """Picks what `return` names and drops the axes that the caller did not send."""

    def drop(name):
        array = arrays.get(name, found.get(name))
        if name not in arrays and not headed:
            array = array[:, 0]
        return array if batched or rank4 else array[0]

    answer = {name: drop(name) for name in options.get("return", ["output", "weights"])}
    if options.get("average_weights") and "weights" in answer:
        answer["weights"] = answer["weights"].mean(-3)
    for name in ("q", "k", "v", "scores", "weights"):  # their shapes explain the others
        answer.setdefault("shapes", {})[name] = shape(answer.get(name, drop(name)))
    answer["shapes"].update(shapes(answer))
    if options.get("trace"):
        answer["trace"] = [{"name": shown, "values": drop(name)} for shown, name in steps(options, arrays)]
        for step in answer["trace"]:
            step.update(shape=shape(step["values"]), formula=ANYTHING)
    return answer


def steps(options, arrays):
    """Every intermediate in the order in which it comes to be, as (name in the trace, name of the array)."""
    yield from ((name, name) for name in ("x", "context") if name in arrays)
    yield from (("q", "plain_q"), ("k", "plain_k"), ("v", "v"))
    if "rope" in options:
        yield from (("q_rotated", "q"), ("k_rotated", "k"))
    if "past_key" in options:
        yield from ((name, name) for name in ("present_key", "present_value"))
    names = ["scores", "capped_scores", "masked_scores", "weights", "heads", "joined", "output"]
    if not options.get("softcap"):
        names.remove("capped_scores")
    if "joined" not in arrays:
        names = names[: names.index("heads")] + ["output"]
    yield from ((name, name) for name in names)


def with_past(request, k, v, batched, headed, single):
    """past_key and past_value in front of k and v."""
    if "past_key" not in request:
        return k, v
    past = [tensor(request[name], single) for name in ("past_key", "past_value")]
    past = [array if batched else array[None] for array in past]
    past = [array if headed else array[:, None] for array in past]
    return np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)


def inputs(request, single):
    """What q, k and v are made of, and the options."""
    if "q" in request:
        return *(tensor(request[name], single) for name in "qkv"), request
    x, context, options = sources(request, single)
    return x, context, context, options


def last_row_changed(q, k, v, options):
    """+2 for the last key's input; also for the last query's where it stands on that key."""
    elsewhere = options.get("causal_alignment") == "bottom_right" and "key_lengths" in options
    alike = "context" not in options and q.shape[-2] == k.shape[-2] and not elsewhere
    last = np.zeros((k.shape[-2], 1))
    last[-1] = 2
    return q + last if alike else q, k + last, v + last


def checks(found, options, outputs, perturbed, sent):
    """The checks of an answer; `sent` are arrays of a client that are looked at in place of the computed ones."""
    if options.get("checks") is False:
        return {}
    weights = found["weights"]
    if sent is not None:
        perturbed, weights = {}, sent.get("weights", weights).reshape(weights.shape)
        outputs = [sent.get("output", outputs[-1])]
    return {"checks": report(found, options, weights, outputs, perturbed)}


def answer_attention(request, sent=None):
    single = request.get("dtype") == "float32"
    *given, options = inputs(request, single)
    rank4, batched = given[0].ndim == 4, given[0].ndim >= 3
    headed = rank4 or "num_heads" in request
    heads = request.get("num_heads", 1)
    kv_heads = request.get("num_kv_heads", heads)

    def run(given):
        q, k, v = (projected(array, request, name, single) for array, name in zip(given, "qkv"))
        if not rank4:
            q, k, v = (array if batched else array[None] for array in (q, k, v))
            q, k, v = split(q, heads), split(k, kv_heads), split(v, kv_heads)
        return attend(q, k, v, request, options, batched, single, headed)

    found, changed = run(given), run(last_row_changed(*given, options))
    change = past_change(found, found["output"], changed["output"], options)
    perturbed = {"perturbed_position": given[1].shape[-2] - 1, "max_past_change": change}
    joined = {} if rank4 or not headed else {"output": join(found["output"])}
    if "q" not in request:
        x, context = (array if batched else array[None] for array in given[:2])
        joined.update({"x": x, "context": context} if "context" in request else {"x": x})
    measured = checks(found, options, [found["output"]], perturbed, sent)
    return dict(results(found, options, rank4, batched, headed, joined), **measured)


def answer_mha(request, sent=None):
    single = request.get("dtype") == "float32"
    *given, options = inputs(request, single)
    batched = given[0].ndim == 3
    given = [array if batched else array[None] for array in given]
    heads = request["num_heads"]
    kv_heads = request.get("num_kv_heads", heads)

    def run(given):
        parts = zip(given, "qkv", (heads, kv_heads, kv_heads))
        q, k, v = (split(projected(array, request, name, single), count) for array, name, count in parts)
        found = attend(q, k, v, request, options, batched, single, True)
        found["heads"] = found["output"]
        joined = join(found["heads"])
        return found, {"joined": joined, "output": projected(joined, request, "o", single)}

    (found, joined), (changed, after) = run(given), run(last_row_changed(*given, options))
    change = past_change(found, found["heads"], changed["heads"], options)
    if change:
        change = past_change(found, joined["output"], after["output"], options)
    perturbed = {"perturbed_position": given[1].shape[-2] - 1, "max_past_change": change}
    joined.update({"x": given[0], "context": given[1]} if "context" in request else {"x": given[0]})
    outputs = [found["heads"], joined["output"]]
    return dict(results(found, options, False, batched, True, joined), **checks(found, options, outputs, perturbed, sent))


def answer_embed(request):
    found = embed(request, request.get("dtype") == "float32")
    if "texts" in request:
        found["vocab"] = vocabulary(request)
    found = {name: found[name] for name in request.get("return", found)}
    return dict(found, shapes=shapes(found))


def answer_lookup(request):
    single = request.get("dtype") == "float32"
    keys, values = tensor(request["keys"], single), tensor(request["values"], single)
    queries = tensor(request.get("queries", request["keys"]), single)

    def one(sharpness):
        weights, _ = softmax((queries * sharpness) @ (keys * sharpness).T)
        output = weights @ values
        distance = ((output[:, None] - values[None]) ** 2).sum(-1)
        arrays = {"output": output, "weights": weights, "nearest": distance.argmin(1)}
        found = {name: arrays[name] for name in request.get("return", arrays)}
        own = "queries" not in request
        return dict(
            found,
            shapes=shapes(found),
            sharpness=sharpness,
            accuracy=float((arrays["nearest"] == np.arange(len(keys))).mean()) if own else None,
            mean_own_weight=float(np.diag(weights).mean()) if own else None,
        )

    sharpness = request.get("sharpness", 1)
    return {"results": [one(s) for s in sharpness]} if isinstance(sharpness, list) else one(sharpness)


def answer_check(request):
    """NumPy's allclose on every array that was sent."""
    inner = {name: value for name, value in request["request"].items() if name not in ("round", "trace", "checks")}
    sent = {name: tensor(array) for name, array in request["answer"].items()}
    path, inner["return"] = "/" + request["endpoint"], list(sent)
    computed = ENDPOINTS[path](draw(inner), **({"sent": sent} if path in ("/attention", "/mha") else {}))
    rtol, atol = request.get("rtol", 1e-5), request.get("atol", 1e-8)
    arrays = {}
    for name, got in sent.items():
        expected = np.asarray(computed[name], dtype=float)
        arrays[name] = {"expected_shape": shape(expected), "got_shape": shape(got), "first_mismatch": None}
        if expected.shape != got.shape:
            arrays[name]["passed"] = False
            continue
        with np.errstate(invalid="ignore"):
            error = np.where(got == expected, 0, np.abs(got - expected))
        close = np.isclose(got, expected, rtol=rtol, atol=atol)
        arrays[name].update(passed=bool(close.all()), max_abs_error=float(error.max()))
        if not close.all():
            index = tuple(int(i[0]) for i in np.nonzero(~close))
            arrays[name]["first_mismatch"] = {"index": list(index), "expected": expected[index], "got": got[index]}
    verdict = {"passed": all(array["passed"] for array in arrays.values()), "arrays": arrays}
    return dict(verdict, checks=computed["checks"]) if "weights" in sent and "checks" in computed else verdict


ENDPOINTS = {"/embed": answer_embed, "/attention": answer_attention, "/mha": answer_mha, "/lookup": answer_lookup,
             "/check": answer_check}  # fmt: skip


def answer(path, request):
    """The whole answer, as arrays, lists and dictionaries."""
    return ENDPOINTS[path](draw(request))
