"""Selection of the tests of the suites of other projects, and a check that they call gdsvd.

Of a test with more than MANY sets of parameters, the first MANY and then every fifth are run; with PEERS=1 all are run.
"""

import collections
import os
import re

import pytest

MANY = 24


def pytest_collection_modifyitems(config, items):
    seen, kept, again, number = set(), [], [], collections.Counter()
    for item in items:
        suite = getattr(getattr(item, "module", None), "suite", None)
        if suite is None:
            kept.append(item)
            continue
        reason = next((reason for pattern, reason in suite.other.items() if re.fullmatch(pattern, item.name)), None)
        if reason:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
        params = item.callspec.params if hasattr(item, "callspec") else {}
        one = (item.module, item.originalname, reason, *((k, str(v)) for k, v in params.items() if k not in suite.same))
        test = (item.module, item.originalname)
        number[test] += one not in seen
        thin = number[test] > MANY and number[test] % 5 and not os.environ.get("PEERS")
        (again if one in seen or thin else kept).append(item)
        seen.add(one)
    items[:] = kept
    config.hook.pytest_deselected(items=again)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Fails a test that passes without having called gdsvd."""
    suite = getattr(pyfuncitem.module, "suite", None)
    before = suite and suite.calls
    result = yield
    assert suite is None or suite.calls > before, f"{pyfuncitem.name} passes without a call of gdsvd: it has to be named as one that does not apply"
    return result
