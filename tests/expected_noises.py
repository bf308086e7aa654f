"""The noises that a policy may draw for one arm, by a reading of its algorithm: one or more streams of events.

Whatever is played, the ledger rows of an arm are an interleaving of beginnings of these streams.
"""

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import dpbandits as dpb
from dpbandits.mechanisms import GAUSSIAN, binary
from dpbandits.mechanisms.counter import Node
from dpbandits.policies import PhasePolicy, Policy
from dpbandits.policies.counter_policy import COUNTERS, CounterPolicy
from dpbandits.privacy import (
    DiscreteLaplaceEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    RandomizedResponseEvent,
    scale_for,
)
from dpbandits.privacy.rounding import ratio_up


def expected_noises(policy: Policy, arms: int, horizon: int) -> tuple[Iterator[Event], ...]:
    if isinstance(policy, PhasePolicy | dpb.DPUCBInt):
        return (noises_of_blocks(policy, horizon),)
    if isinstance(policy, CounterPolicy):
        counter, _ = policy.configure_counter(horizon)
        return (noises_of_counter(COUNTERS[policy.counter].nodes, counter, horizon),)
    if isinstance(policy, dpb.PrivateUCB):
        counter, _ = binary.configure(policy.tree_epsilon(arms), horizon)
        return (noises_of_counter(binary.nodes, counter, horizon),)
    if isinstance(policy, dpb.HybridDMAB):
        return tuple(stream for part in policy.contenders() for stream in expected_noises(part, arms, horizon))
    if isinstance(policy, dpb.LDPUCBBernoulli):
        return (repeat(RandomizedResponseEvent(ratio_up(1, scale_for(policy.epsilon))), horizon),)
    if isinstance(policy, dpb.DPSE | dpb.LDPUCBLaplace):
        return (repeat(LaplaceEvent(scale_for(policy.epsilon)), horizon),)
    return ()


def noises_of_blocks(policy: Policy, horizon: int) -> Iterator[Event]:
    grid_bits = getattr(policy, "grid_bits", None)
    for block in policy.blocks(horizon):
        if getattr(policy, "mechanism", None) == GAUSSIAN:
            yield GaussianEvent(block.scale)
        elif grid_bits is None:
            yield LaplaceEvent(block.scale)
        else:
            yield DiscreteLaplaceEvent(block.scale * 2**grid_bits, 2**grid_bits)


def noises_of_counter(nodes: Callable[[Any, int], Iterator[Node]], params: Any, horizon: int) -> Iterator[Event]:
    """Yield every noise of one counter, in the order of drawing."""
    newest: dict[tuple[int, ...], None] = {}
    for n in range(1, horizon + 1):
        current = {node.key: node.scale for node in nodes(params, n)}
        yield from (LaplaceEvent(scale) for key, scale in current.items() if key not in newest)
        newest = dict.fromkeys(current)
