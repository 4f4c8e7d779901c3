"""Arrays as wrappers hand them to kernels: what a kernel only reads is read-only.

Numba compiles a kernel anew where only that differs. So tests that call kernels do the same.
"""


def read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view
