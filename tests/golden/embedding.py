"""What a request holds, in plain NumPy: tensors in every form, drawn fields, tokens and their embedding."""

import numpy as np


# ---- values ---------------------------------------------------------------------------------------------------------


def tensor(value, single=False):
    """Nested lists, {"shape", "data"} or {"eye"} as an array of doubles (rounded to float32 on the way in if single)."""
    if isinstance(value, dict) and "eye" in value:
        array = np.eye(value["eye"])
    elif isinstance(value, dict):
        array = np.array(value["data"], dtype=float).reshape(value["shape"])
    else:
        array = np.array(value, dtype=float)
    return array.astype(np.float32).astype(float) if single else array


def draw(request):
    """A copy of the request, without nulls (but that of pad_id), with the fields of `random` filled in."""
    filled = {name: dict(value) if name == "tokens" else value for name, value in request.items()}
    filled = {name: value for name, value in filled.items() if value is not None or name == "pad_id"}
    recipe = filled.pop("random", None)
    if recipe is None:
        return filled
    seed = recipe["seed"]
    rng = np.random.default_rng(int(seed) if isinstance(seed, str) else seed)
    for one in recipe["draws"]:
        shape = [len(vocabulary(filled.get("tokens", filled))) if size == "vocab" else size for size in one["shape"]]
        for path in one["into"]:
            if one.get("distribution", "normal") == "normal":
                values = rng.normal(one.get("loc", 0.0), one.get("scale", 1.0), shape)
            else:
                values = one.get("loc", 0.0) + one.get("scale", 1.0) * rng.random(shape)
            place, name = (filled["tokens"], path[len("tokens.") :]) if path.startswith("tokens.") else (filled, path)
            place[name] = values
    return filled


# ---- tokens and embedding -------------------------------------------------------------------------------------------


def vocabulary(tokens):
    """The vocabulary sent, or every word of the texts in order of first appearance behind the padding token."""
    if "vocab" in tokens:
        return dict(tokens["vocab"])
    vocab = {tokens.get("pad_token", "<pad>"): 0}
    for text in tokens["texts"]:
        for word in text.split():
            vocab.setdefault(word, len(vocab))
    return vocab


def token_ids(tokens):
    """ids as sent, or looked up word by word; rows cut and padded to max_length (texts: to the longest without one)."""
    pad_id, length = tokens.get("pad_id", 0) or 0, tokens.get("max_length")
    if "texts" in tokens:
        vocab = vocabulary(tokens)
        rows = [[vocab[word] for word in text.split()] for text in tokens["texts"]]
        length = length or max(len(row) for row in rows)
    else:
        rows = tokens["ids"] if isinstance(tokens["ids"][0], list) else [tokens["ids"]]
        length = length or len(rows[0])
    ids = np.array([(row + [pad_id] * length)[:length] for row in rows])
    return ids[0] if "ids" in tokens and not isinstance(tokens["ids"][0], list) else ids


def sinusoidal(n, d):
    """sin(position / 10000^(2i/d)) in column 2i, the cosine of the same angle in column 2i + 1."""
    column = np.arange(d)
    angle = np.arange(n)[:, None] / 10000.0 ** (2 * (column // 2) / d)
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle))


def embed(tokens, single=False):
    """scale * table[ids] + positions"""
    ids, table = token_ids(tokens), tensor(tokens["table"], single)
    output = table[ids] * tokens.get("scale", 1.0)
    positions = tokens.get("positions", "none")
    if isinstance(positions, str):
        if positions == "sinusoidal":
            output = output + sinusoidal(*output.shape[-2:])
    else:
        output = output + tensor(positions, single)
    return {"output": output, "ids": ids, "pad_mask": ids == tokens.get("pad_id", 0)}  # no id equals null
