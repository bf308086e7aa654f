"""popcount and floor_log2 for compiled code: one instruction each."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from dpbandits.mechanisms.bits import floor_log2, popcount


@intrinsic
def _population(context: Any, n: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), build


@intrinsic
def _leading_zeros(context: Any, n: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))  # n = 0 is not asked

    return types.int64(types.int64), build


@overload(popcount, strict=False)
def _popcount(n: Any) -> Any:
    return lambda n: _population(n)


@overload(floor_log2, strict=False)
def _floor_log2(n: Any) -> Any:
    return lambda n: 63 - _leading_zeros(n)
