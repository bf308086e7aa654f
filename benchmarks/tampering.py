"""Ledgers that are tampered with: single fields, rows, and fields that belong together. For benchmarks and tests."""

import json
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import dpbandits as dpb

Content = dict[str, Any]
Changed = tuple[str, list[Content]]  # what was changed, and the rows
WORDS = (
    "laplace",
    "discrete gaussian",
    "dp-imed",
    "block-ucb",
    "clip",
    "frozen",
    "x",
    "constant",
    "one user",
    "a" * 500,
)


def chained(contents: Iterable[Content]) -> str:
    """Return the export of a ledger with these rows, whatever they say, all hashes fitting."""
    ledger = dpb.Ledger()
    for content in contents:
        ledger.append(content)
    return ledger.to_jsonl()


def copied(contents: list[Content]) -> list[Content]:
    """Return a copy that can be changed."""
    fresh: list[Content] = json.loads(json.dumps(contents))
    return fresh


# ---- changes


def tampered(contents: list[Content], others: list[Content], dice: random.Random) -> Changed:
    """Return the rows with one change: of a field, of rows, or of several fields that belong together."""
    rows = copied(contents)
    draw = dice.random()
    if draw < 0.35:
        return _changed_field(rows, dice.randrange(1, len(rows)), dice)
    if draw < 0.6:
        return _changed_field(rows, 0, dice)
    if draw < 0.8:
        return _changed_rows(rows, others, dice)
    return dice.choice(TOGETHER)(rows, dice)


def _changed_field(rows: list[Content], number: int, dice: random.Random) -> Changed:
    path = dice.choice(list(_paths(rows[number])))
    parent: Any = rows[number]
    for key in path[:-1]:
        parent = parent[key]
    named = ".".join(str(key) for key in path if isinstance(key, str))
    place = f"row 0: {named}" if number == 0 else named
    if isinstance(parent, dict) and dice.random() < 0.1:
        if dice.random() < 0.5:
            del parent[path[-1]]
            return f"{place} removed", rows
        parent[f"{path[-1]}2"] = parent[path[-1]]
        return f"a column beside {place}", rows
    others = [row[path[0]] for row in rows[1:] if path[0] in row] if number and len(path) == 1 else []
    parent[path[-1]] = dice.choice([*_values(parent[path[-1]], dice), *others[:3]])
    return place, rows


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from _paths(part, (*path, key))


def _values(value: Any, dice: random.Random) -> list[Any]:
    """Return values to take the place of one: near it, far from it, of another kind."""
    if isinstance(value, bool):
        return [not value, int(value), None, "true"]
    if isinstance(value, int):
        near = [value + 1, value - 1, value + dice.randint(2, 50), value - dice.randint(2, 50)]
        return [*near, 2 * value, value // 2, 0, -value, float(value), str(value), 10**400, None]
    if isinstance(value, float):
        scaled = [value * factor for factor in (1 + 1e-3, 1 - 1e-3, 1 + 1e-9, 1 - 1e-9)]
        scaled += [math.nextafter(value, math.inf), math.nextafter(value, 0.0), value + dice.randint(-99, 99) / 4096]
        return [*scaled, 2 * value, value / 2, value / 4096, 0.0, -value, 1e308, 5e-324, int(value), str(value), None]
    if isinstance(value, str):
        return [dice.choice(WORDS), value.upper(), value[::-1], "", None, 1]
    if isinstance(value, list):
        return [value[:-1], [*value, "new"], value[::-1], value * 2, [], {}, None]
    if isinstance(value, dict):
        return [{}, [], None, "none", {key: value[key] for key in list(value)[1:]}]
    return [1, 0.5, True, 10, 1000, "x", []]


def _changed_rows(rows: list[Content], others: list[Content], dice: random.Random) -> Changed:
    here, there = dice.randrange(1, len(rows)), dice.randrange(1, len(rows))
    kind = dice.choice(["removed", "doubled", "moved", "swapped", "foreign", "cut off", "invented", "twice", "row 0"])
    if kind == "removed":
        del rows[here]
    elif kind == "doubled":
        rows.insert(there, dict(rows[here]))
    elif kind == "moved":
        rows.insert(there, rows.pop(here))
    elif kind == "swapped":
        rows[here], rows[there] = rows[there], rows[here]
    elif kind == "foreign":
        rows.insert(there, dice.choice(others))
    elif kind == "cut off":
        del rows[here:]
    elif kind == "invented":  # one that could come next, with assignments after all others
        last = max(row["last"] for row in rows[1:])
        arm = [row for row in rows[1:] if row["arm"] == rows[here]["arm"]][-1]
        invented = {"release": arm["release"] + 1, "first": last + 1, "last": last + 2 * arm["count"]}
        rows.append({**arm, **invented, "count": 2 * arm["count"]})
    elif kind == "twice":
        rows = [rows[0]] + [row for row in rows[1:] for _ in range(2)]
    else:
        rows.insert(here, rows[0])
    return f"rows: {kind}", rows


def _rounded_up(exact: Fraction) -> float:
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def _less_noise(rows: list[Content], dice: random.Random) -> Changed:
    factor = dice.choice([0.5, 0.9, 1 - 1e-6, 1 - 1e-12, 1 - 2.0**-53, 1 / 4096, 2.0])
    chosen = rows[1:] if dice.random() < 0.5 else [dice.choice(rows[1:])]
    for row in chosen:
        row["scale"] *= factor
        row["epsilon"] = _rounded_up(Fraction(row["sensitivity"]) / Fraction(row["scale"]))
    return "together: scale and epsilon", rows


def _another_promise(rows: list[Content], dice: random.Random) -> Changed:
    factor = dice.choice([0.5, 0.99, 1 - 1e-9, 2.0, 1.5])
    parts = dice.choice([("guarantee", "reward_guarantee"), ("guarantee", "reward_guarantee", "policy", "live_policy")])
    for part in parts:
        rows[0][part]["epsilon"] *= factor
    return f"together: epsilon of {' and '.join(parts)}", rows


def _weaker_and_honest(rows: list[Content], dice: random.Random) -> Changed:
    """Twice the epsilon everywhere, and half the noise: all of it true, and more than was claimed."""
    for part in ("guarantee", "reward_guarantee", "policy", "live_policy"):
        rows[0][part]["epsilon"] *= 2
    for row in rows[1:]:
        row["scale"] /= 2
        row["epsilon"] *= 2
    return "together: all epsilons and scales", rows


def _another_delta(rows: list[Content], dice: random.Random) -> Changed:
    factor = dice.choice([0.1, 0.5, 2.0, 10.0])
    for part in ("guarantee", "reward_guarantee", "policy", "live_policy"):
        if "delta" in rows[0][part] and dice.random() < 0.7:
            rows[0][part]["delta"] = rows[0][part]["delta"] * factor or 1e-3
    return "together: deltas of row 0", rows


def _another_grid(rows: list[Content], dice: random.Random) -> Changed:
    bits = rows[0]["grid_bits"] = rows[0]["grid_bits"] + dice.choice([-2, -1, 1, 2])
    if rows[0]["live_policy"].get("grid_bits"):
        rows[0]["live_policy"]["grid_bits"] = bits
    with_scale = dice.random() < 0.5
    for row in rows[1:]:
        row["scale"] *= 2**bits / row["sensitivity"] if with_scale else 1
        row["sensitivity"] = 2**bits
        row["epsilon"] = row["sensitivity"] / row["scale"]
    return f"together: the grid, {'with' if with_scale else 'without'} scales", rows


def _more_people(rows: list[Content], dice: random.Random) -> Changed:
    people = rows[0]["contributions"] = max(1, rows[0]["contributions"] + dice.choice([-1, 1, 2]))
    rows[0]["guarantee"]["unit"] = "one reward" if people == 1 else f"up to {people} rewards of one person"
    return "together: contributions and unit", rows


def _renumbered(rows: list[Content], dice: random.Random) -> Changed:
    """Rows doubled or removed, and the numbers of releases made to fit."""
    here = dice.randrange(1, len(rows))
    kind = dice.choice(["doubled", "removed"])
    rows[here : here + 1] = [rows[here], dict(rows[here])] if kind == "doubled" else []
    seen: dict[int, int] = defaultdict(int)
    for row in rows[1:]:
        seen[row["arm"]] += 1
        row["release"] = seen[row["arm"]]
    return f"together: a row {kind}, releases renumbered", rows


def _swapped_arms(rows: list[Content], dice: random.Random) -> Changed:
    for row in rows[1:]:
        row["arm"] = 1 - row["arm"] if row["arm"] < 2 else row["arm"]
    return "together: two arms swapped", rows


def _later(rows: list[Content], dice: random.Random) -> Changed:
    by = dice.choice([-1, 1, 7])
    for row in rows[1:]:
        row["first"] += by
        row["last"] += by
    return "together: all assignment numbers", rows


def _another_horizon(rows: list[Content], dice: random.Random) -> Changed:
    horizon = dice.choice([None, 10, 100, 300, 2000])
    rows[0]["horizon"] = horizon
    for part in ("guarantee", "reward_guarantee"):
        rows[0][part]["horizon"] = "infinity" if horizon is None else horizon
    for part in ("policy", "live_policy"):
        if "horizon" in rows[0][part] and dice.random() < 0.7:
            rows[0][part]["horizon"] = horizon
    return "together: horizons", rows


def _another_setting(rows: list[Content], dice: random.Random) -> Changed:
    settings = [key for key in rows[0]["live_policy"] if key not in ("epsilon", "delta", "horizon", "grid_bits")]
    if not settings:
        return _less_noise(rows, dice)
    key = dice.choice(settings)
    value = dice.choice([*_values(rows[0]["live_policy"][key], dice), *_values(rows[0]["policy"][key], dice)])
    rows[0]["live_policy"][key] = rows[0]["policy"][key] = value
    return f"together: policy.{key} and live_policy.{key}", rows


TOGETHER: list[Callable[[list[Content], random.Random], Changed]] = [
    _less_noise,
    _another_promise,
    _weaker_and_honest,
    _another_delta,
    _another_grid,
    _more_people,
    _renumbered,
    _swapped_arms,
    _later,
    _another_horizon,
    _another_setting,
]
