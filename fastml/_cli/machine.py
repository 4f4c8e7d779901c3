"""What a measurement depends on: the hardware and the versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

DISTRIBUTIONS = {
    "fastml": "fastml",
    "numpy": "numpy",
    "scipy": "scipy",
    "numba": "numba",
    "llvmlite": "llvmlite",
    "sklearn": "scikit-learn",
    "joblib": "joblib",
    "threadpoolctl": "threadpoolctl",
    "matplotlib": "matplotlib",
    "sklearnex": "scikit-learn-intelex",
    "faiss": "faiss-cpu",
    "pykdtree": "pykdtree",
    "fastcluster": "fastcluster",
    "genieclust": "genieclust",
    "kmedoids": "kmedoids",
    "mlpack": "mlpack",
    "pandas": "pandas",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
}
"""Module → what pip calls it."""


def versions() -> dict[str, str]:
    """Versions of what is installed, by module name."""
    found = {"python": f"{platform.python_version()} ({platform.python_implementation()})"}
    for module, distribution in DISTRIBUTIONS.items():
        try:
            found[module] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, str]:
    """Processor, cores, memory and operating system, in words."""
    from fastml._threads import limits

    found = {
        "processor": processor(),
        "cores": f"{os.cpu_count()} seen, {min(limits().values())} used",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        n_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        found["memory"] = f"{n_bytes / 2**30:.1f} GiB"
    return found


def processor(listing: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's trade name where the system tells it, else its architecture."""
    if listing.exists():
        for line in listing.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
