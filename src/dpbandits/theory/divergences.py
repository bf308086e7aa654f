"""How well two Bernoulli distributions can be told apart, with and without privacy.

    kl(x, y)    = x ln(x/y) + (1-x) ln((1-x)/(1-y))
    d_ε(x, y)   = inf_z { ε |z - x| + kl(z, y) }          (Azize et al. 2025)

d_ε is the rate at which an ε-private observer learns: at most kl(x, y) and at most ε |y - x|. For x <= y the infimum is
at z = x, which is kl itself, as long as the slope of kl there is at most ε, that is if ε >= ln[y(1-x) / (x(1-y))];
otherwise at the z with slope ε, which gives -εx - ln(1 - y + y e^-ε).
"""

import math

from dpbandits._kernel import kernel


@kernel
def bernoulli_kl(x: float, y: float) -> float:
    """Return the relative entropy of two Bernoulli distributions with these means.

    >>> bernoulli_kl(0.6, 0.9)
    0.31124
    """
    divergence = 0.0
    if x > 0.0:
        if y <= 0.0:
            return math.inf
        divergence += x * math.log(x / y)
    if x < 1.0:
        if y >= 1.0:
            return math.inf
        divergence += (1.0 - x) * math.log((1.0 - x) / (1.0 - y))
    return max(divergence, 0.0)


@kernel
def private_divergence(x: float, y: float, epsilon: float) -> float:
    """Return d_ε(x, y); epsilon may be infinite.

    >>> private_divergence(0.6, 0.9, epsilon=0.1)
    0.029538
    >>> private_divergence(0.6, 0.9, epsilon=math.inf) == bernoulli_kl(0.6, 0.9)
    True
    """
    if x > y:  # the same, seen from the failures; written out, since 1 - y would lose the digits of a small y
        if y <= 0.0:
            return epsilon * x
        if epsilon == math.inf or (1.0 - x) * y >= (1.0 - y) * x * math.exp(-epsilon):
            return bernoulli_kl(x, y)
        return max(-epsilon * (1.0 - x) - math.log(y + (1.0 - y) * math.exp(-epsilon)), 0.0)
    if y >= 1.0:
        return epsilon * (1.0 - x) if x < 1.0 else 0.0
    # kl(x, y) if x e^ε (1-y) >= y (1-x), without the division
    if epsilon == math.inf or x * (1.0 - y) >= y * (1.0 - x) * math.exp(-epsilon):
        return bernoulli_kl(x, y)
    return max(-epsilon * x - math.log((1.0 - y) + y * math.exp(-epsilon)), 0.0)


@kernel
def bernoulli_kl_inverse(x: float, level: float) -> float:
    """Return the largest y in [x, 1] with kl(x, y) <= level.

    >>> bernoulli_kl_inverse(0.6, bernoulli_kl(0.6, 0.9))
    0.9
    """
    if level <= 0.0 or x >= 1.0:
        return min(x, 1.0)
    if x <= 0.0:
        return -math.expm1(-level)
    close = math.sqrt(2.0 * x * (1.0 - x) * level)
    if close < 1e-5 * min(x, 1.0 - x):  # kl is a parabola there, and its own rounding would be felt
        return x + close
    # kl(x, ·) is convex, so Newton's method comes down from any point above the answer without passing it. Two such
    # points: Pinsker's inequality, and kl(x, y) >= x ln x + (1-x) ln((1-x)/(1-y)).
    y = min(x + math.sqrt(0.5 * level), 1.0 - (1.0 - x) * math.exp((x * math.log(x) - level) / (1.0 - x)))
    for _ in range(50):
        if y <= x or y >= 1.0:  # the answer is closer to x, or to 1, than floats can tell
            return min(max(x, y), 1.0)
        step = (bernoulli_kl(x, y) - level) * y * (1.0 - y) / (y - x)
        if not step > 1e-15 * y:
            break
        y -= step
    return y


@kernel
def private_divergence_inverse(x: float, level: float, epsilon: float) -> float:
    """Return the largest y in [x, 1] with d_ε(x, y) <= level; epsilon may be infinite.

    Up to y_0 = x e^ε / (1 - x + x e^ε) the divergence is kl(x, y); beyond, y = (1 - e^-(level + εx)) / (1 - e^-ε).

    >>> private_divergence_inverse(0.6, private_divergence(0.6, 0.9, epsilon=0.1), epsilon=0.1)
    0.9
    """
    if epsilon == math.inf:
        return bernoulli_kl_inverse(x, level)
    if level <= 0.0 or x >= 1.0:
        return min(x, 1.0)
    last_exact = x / (x + (1.0 - x) * math.exp(-epsilon)) if x > 0.0 else 0.0
    if level <= bernoulli_kl(x, last_exact):
        return bernoulli_kl_inverse(x, level)
    return min(math.expm1(-level - epsilon * x) / math.expm1(-epsilon), 1.0)
