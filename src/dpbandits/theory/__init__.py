"""What is known about regret without playing: upper bounds of the paper, lower bounds, divergences."""

from dpbandits.theory import lower_bounds, upper_bounds
from dpbandits.theory.divergences import bernoulli_kl, private_divergence

__all__ = ["bernoulli_kl", "lower_bounds", "private_divergence", "upper_bounds"]
