"""Ask the processor for a row some rounds before it is needed; nothing without Numba.

Rows in random order miss the cache almost every time. Asking 16 rounds ahead hides most of that wait
(docs/architecture.md has the measurement). `NATIVE` tells the compiler what to put in the place of a plain function.
"""

from collections.abc import Callable
from typing import Any

AHEAD = 16


def prefetch(table: Any, row: Any, column: Any) -> None:
    """Ask for the cache line of table[row, column]; plain Python has no say in the cache."""


def _intrinsic() -> Any:
    """Return the same for compiled code: LLVM's prefetch instruction."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.core.extending import intrinsic
    from numba.np.arrayobj import make_array

    def typed(typing_context: Any, table: Any, row: Any, column: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = make_array(table)(context, builder, arguments[0])  # type: ignore[no-untyped-call]
            place = [
                context.cast(builder, value, kind, types.intp)
                for value, kind in zip(arguments[1:], signature.args[1:], strict=True)
            ]
            address = cgutils.get_item_pointer(  # type: ignore[no-untyped-call]
                context, builder, table, array, place, wraparound=False
            )
            pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
            function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
            read, keep, data = flag(0), flag(3), flag(1)
            builder.call(function, [builder.bitcast(address, pointer), read, keep, data])
            return context.get_dummy_value()

        return types.void(table, row, column), generate

    return intrinsic(typed)


NATIVE: dict[Any, Callable[[], Any]] = {prefetch: _intrinsic}
