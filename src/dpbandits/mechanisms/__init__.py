"""Noise and what is built from it: the release, the noise sources, the continual counters.

Everything secret becomes public through `release`, and nowhere else.
"""

from dpbandits.mechanisms.binary import Binary
from dpbandits.mechanisms.counter import ContinualCounter, Node, insert, noise_class
from dpbandits.mechanisms.draws import beta, normal, uniform
from dpbandits.mechanisms.error_bounds import chan_bound, chernoff_bound
from dpbandits.mechanisms.hybrid import Hybrid
from dpbandits.mechanisms.logarithmic import Logarithmic
from dpbandits.mechanisms.recording import RecordingNoise
from dpbandits.mechanisms.release import CARRIED, GAUSSIAN, LAPLACE, RESPONSE, NoiseSource, release, reserve
from dpbandits.mechanisms.secure import SecureNoise
from dpbandits.mechanisms.seeded import SeededNoise
from dpbandits.mechanisms.state import public, secret
from dpbandits.mechanisms.subtraction import SubtractionTree
from dpbandits.mechanisms.weighted import WeightedHybrid

__all__ = [
    "CARRIED",
    "GAUSSIAN",
    "LAPLACE",
    "RESPONSE",
    "Binary",
    "ContinualCounter",
    "Hybrid",
    "Logarithmic",
    "Node",
    "NoiseSource",
    "RecordingNoise",
    "SecureNoise",
    "SeededNoise",
    "SubtractionTree",
    "WeightedHybrid",
    "beta",
    "chan_bound",
    "chernoff_bound",
    "insert",
    "noise_class",
    "normal",
    "public",
    "release",
    "reserve",
    "secret",
    "uniform",
]
