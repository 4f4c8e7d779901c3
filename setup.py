"""All settings are in pyproject.toml. Here: a wheel that carries compiled kernels is not for all.

`python -m fastml prebuild` puts them into the package; they serve one platform and one Python. And
a line for Python's start goes beside the package: it heeds the variable FASTML_ACCELERATE.
"""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

START = "fastml_accelerate.pth"


class Build(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:
            self.copy_file(str(Path(__file__).parent / START), str(Path(self.build_lib) / START))

    def get_outputs(self, include_bytecode=True):
        outputs = super().get_outputs(include_bytecode)
        return outputs if self.editable_mode else [*outputs, str(Path(self.build_lib) / START)]


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        if any(Path(__file__).parent.glob("fastml/_prebuilt/*/*/manifest.json")):
            self.root_is_pure = False

    def get_tag(self):
        python, abi, platform = super().get_tag()
        if not self.root_is_pure:  # the code is Numba's: it asks nothing of Python's ABI
            python, abi = f"cp{sys.version_info[0]}{sys.version_info[1]}", "none"
        return python, abi, platform


setup(cmdclass={"bdist_wheel": Wheel, "build_py": Build})
