# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rdma.k8s.plugins.module_utils.differences import tell_differences


def test_only_the_leaves_that_differ_are_told() -> None:
    asked = {"huge_pages": {"2M": {"0": 64, "1": 32}}, "swap": []}
    shown = {"huge_pages": {"2M": {"0": 40, "1": 32}}, "swap": ["/swapfile"], "new": 1}
    assert tell_differences(asked, shown) == (
        "huge_pages.2M.0 was asked to be 64, the host shows 40; swap was asked to be [], the host shows ['/swapfile']; "
        "new was asked to be None, the host shows 1"
    )
