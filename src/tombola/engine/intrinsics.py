"""Intrinsics and compiler hints that plain Python cannot express.

`INTRINSIC_FACTORIES` maps a plain function to a factory of the LLVM intrinsic that replaces it.
`NOT_INLINED` lists the kernels that are compiled as separate functions.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

# Type of a kernel that a decorator returns unchanged.
_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

# Rounds between the prefetch of a row and its use: at 10 ns or more a round, enough for the latency
# of main memory, about 100 ns.
PREFETCH_ROUNDS = 16
# 1.5 * 2^52. Adding it to a float of magnitude below 2^51 rounds that to an integer, in the last
# bits of the sum.
ROUNDING_OFFSET = 6755399441055744.0


def prefetch(table: Any, row: Any, column: Any) -> None:
    """Load table[row, column] into the processor's cache; a no-op in plain Python.

    Rows in random order miss the cache, so they are requested some rounds before their use.
    """


def power_of_two(rounded: float) -> float:
    """Return 2^n for an integer n in -1022..1023; a kernel.

    rounded: n + ROUNDING_OFFSET, which is 1.5 * 2^52; compiled code takes n from it by bit
        operations.
    """
    return math.ldexp(1.0, int(rounded - ROUNDING_OFFSET))


def _prefetch() -> Any:
    """Return LLVM's prefetch instruction."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.core.extending import intrinsic
    from numba.np.arrayobj import make_array

    def typed(typing_context: Any, table: Any, row: Any, column: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = make_array(table)(context, builder, arguments[0])
            place = [
                context.cast(builder, value, kind, types.intp)
                for value, kind in zip(arguments[1:], signature.args[1:], strict=True)
            ]
            address = cgutils.get_item_pointer(
                context, builder, table, array, place, wraparound=False
            )
            pointer = ir.IntType(8).as_pointer()
            flag = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
            function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
            read = flag(0)
            keep = flag(3)
            data = flag(1)
            builder.call(function, [builder.bitcast(address, pointer), read, keep, data])
            return context.get_dummy_value()

        return types.void(table, row, column), generate

    return intrinsic(typed)


def _power_of_two() -> Any:
    """Return `power_of_two` as bit operations: last bits become the exponent."""
    from llvmlite import ir
    from numba.core import types
    from numba.core.extending import intrinsic

    def typed(typing_context: Any, rounded: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = ir.IntType(64)
            exponent = builder.shl(builder.bitcast(arguments[0], word), word(52))
            return builder.bitcast(builder.add(exponent, word(1023 << 52)), ir.DoubleType())

        return types.float64(types.float64), generate

    return intrinsic(typed)


# Kernels that are compiled as separate functions instead of being inlined; `no_inline` adds them.
NOT_INLINED: set[Any] = set()


def no_inline(function: _Kernel) -> _Kernel:
    """Mark a kernel to be compiled as a separate function; return it unchanged.

    Large kernels compile faster that way.
    """
    NOT_INLINED.add(function)
    return function


# Plain function -> function without parameters that returns the LLVM intrinsic replacing it in
# compiled code.
INTRINSIC_FACTORIES: dict[Any, Callable[[], Any]] = {
    prefetch: _prefetch,
    power_of_two: _power_of_two,
}
