"""What `checks` says of an attention answer, measured in plain NumPy on [batch, heads, rows, columns] arrays."""

import numpy as np

ROUNDING = 1e-12  # what is smaller comes from the order of summation, here or there, and is written as 0


def largest(array):
    """Of magnitudes; NaN counts as infinite, rounding as nothing."""
    most = float(np.nan_to_num(np.abs(array), nan=np.inf, posinf=np.inf).max(initial=0))
    return 0.0 if most < ROUNDING else most


def dropped(found, options):
    """[b, 1, 1, j]: does padding or a length drop the key? None if neither was asked for."""
    batch, n_k = found["weights"].shape[0], found["weights"].shape[-1]
    if "key_padding_mask" not in options and "key_lengths" not in options:
        return None
    padding = np.array(options.get("key_padding_mask", np.zeros((batch, n_k)))).reshape(batch, 1, 1, n_k) != 0
    lengths = np.array(options.get("key_lengths", [n_k] * batch)).reshape(batch, 1, 1, 1)
    return padding | (np.arange(n_k) >= lengths)


def past_change(found, before, after, options):
    """Largest change of the rows [b, ..., i, c] that stand before the last key: its input was changed by +2.

    In the lower-right corner the last query is never one of them, since it stands on the last key."""
    n_q, n_k = found["weights"].shape[2:]
    past = found["positions"] < n_k - 1  # [b, 1, i, 1]
    if options.get("causal_alignment") == "bottom_right":
        past = past & (np.arange(n_q) < n_q - 1)[:, None]
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    with np.errstate(invalid="ignore"):
        return largest(np.where(past.reshape(len(past), *[1] * (before.ndim - 3), n_q, 1) & ~same, after - before, 0))


def report(found, options, weights, outputs, perturbed):
    """The checks of `weights` and of what is finite of `outputs`; `perturbed` are the members of a second run with
    another last row, which there is not for arrays that a client sent."""
    tolerated = 1e-8 if "mask_value" in options else 0
    j = np.arange(weights.shape[-1])
    sums, empty = weights.sum(-1), np.isneginf(found["masked_scores"]).all(-1)
    error = largest(np.where(empty & (sums == 0), 0, sums + found["sink_shares"] - 1))
    future = largest(np.where(j > found["positions"], weights, 0))
    drops = dropped(found, options)
    lost = 0.0 if drops is None else float(np.abs(np.where(drops, weights, 0)).sum())
    causal, padding = bool(options.get("causal")), drops is not None
    holds = {
        "normalization": error <= 1e-9,
        "causality": future <= tolerated and perturbed.get("max_past_change", 0) <= tolerated,
        "padding": lost <= tolerated,
        "finite": all(bool(np.isfinite(array).all()) for array in (weights, *outputs)),
    }
    requested = {"normalization": True, "causality": causal, "padding": padding, "finite": True}
    rows = int((empty & (sums == 0)).sum())
    return {
        "ok": all(holds[name] for name in holds if requested[name]),
        "normalization": {"holds": holds["normalization"], "max_abs_error": error, "empty_rows": rows},
        "causality": {"requested": causal, "holds": holds["causality"], "max_future_weight": future, **perturbed},
        "padding": {"requested": padding, "holds": holds["padding"], "total_weight": lost},
        "finite": {"holds": holds["finite"]},
    }
