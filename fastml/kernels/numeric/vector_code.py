"""Vector code written out for LLVM: what files of registers and panels use."""

from llvmlite import ir

WORD = ir.IntType(64)


class VectorCode:  # pragma: no cover  (it needs a compiler)
    """Writes LLVM instructions for vectors of ``width`` numbers: loads, stores, loops."""

    def __init__(self, builder, scalar, width):
        self.builder = builder
        self.scalar, self.width = scalar, width
        self.vector = ir.VectorType(scalar, width)

    def place(self, data, *terms):
        """A pointer to ``data[offset]``; the offset is the sum of the products of the terms."""
        offset = number(0)
        for term in terms:
            product = term[0]
            for factor in term[1:]:
                product = self.builder.mul(product, factor)
            offset = self.builder.add(offset, product)
        return self.builder.gep(data, [offset])

    def load(self, pointer):
        """The vector at an address, which need not be a multiple of its size."""
        loaded = self.builder.load(self.builder.bitcast(pointer, self.vector.as_pointer()))
        loaded.align = 4
        return loaded

    def store(self, value, pointer):
        """Write a vector to such an address."""
        stored = self.builder.store(value, self.builder.bitcast(pointer, value.type.as_pointer()))
        stored.align = 4

    def repeat(self, value):
        """A vector that holds the same number everywhere."""
        vector = ir.VectorType(value.type, self.width)
        undefined = ir.Constant(vector, ir.Undefined)
        first = self.builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.width), [0] * self.width)
        return self.builder.shuffle_vector(first, undefined, zeros)

    def loop(self, stop, step, carried, body):
        """``for i in range(0, stop, step): carried = body(i, carried)``, at least once."""
        builder = self.builder
        before = builder.block
        head = builder.append_basic_block("loop")
        after = builder.append_basic_block("after")
        builder.branch(head)
        builder.position_at_end(head)
        i = builder.phi(WORD)
        i.add_incoming(number(0), before)
        phis = []
        for value in carried:
            phi = builder.phi(value.type)
            phi.add_incoming(value, before)
            phis.append(phi)
        values = body(i, phis)
        following = builder.add(i, number(step))
        i.add_incoming(following, builder.block)
        for phi, value in zip(phis, values):
            phi.add_incoming(value, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, stop), head, after)
        builder.position_at_end(after)
        return values


def number(value):
    """A constant index."""
    return ir.Constant(WORD, value)


def vector_bytes(features: str) -> int:
    """Size of a vector register of a machine with these ``features``, as LLVM spells them."""
    return 64 if "+avx512f" in features else 32 if "+avx" in features else 16
