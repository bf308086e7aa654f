"""Noise that keeps the account of every reward, and notices one that is read."""

from typing import Any

from dpbandits.auditing.taint import TaintNoise
from dpbandits.mechanisms import LAPLACE, SecureNoise, release, reserve
from dpbandits.mechanisms.linear import secret_reward


class TaintedNoise(SecureNoise):
    """Rewards become Secret numbers when they are encoded, and only `release` opens them."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.taint = TaintNoise(seed)
        self.encoded = 0

    @property
    def secret_dtype(self) -> Any:
        return object

    def encode(self, reward: float) -> Any:
        self.encoded += 1
        return secret_reward(self.encoded, reward)


@release.register(TaintedNoise)
def _release(noise: TaintedNoise, secret: Any, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> float:
    return release(noise.taint, secret, scale, mechanism, arm)


@reserve.register(TaintedNoise)
def _reserve(noise: TaintedNoise, scale: float, mechanism: int = LAPLACE, arm: int = 0) -> Any:
    return reserve(noise.taint, scale, mechanism, arm)
