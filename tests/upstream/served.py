"""Plugin of pytest: how many calls of each test were served by fastml, as a property of it."""

import sys

import pytest


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    module = sys.modules.get("fastml.accelerate._report")
    if module is not None:
        rows = module.report(clear=True)
        served = sum(row.calls for row in rows if row.ran == module.OURS)
        item.user_properties.append(("served", served))
