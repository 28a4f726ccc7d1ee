# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says in words where a host differs from what was asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def find_differences(asked: object, shown: object, path: str = "") -> Iterator[tuple[str, object, object]]:
    """(dotted path, asked, shown) of each leaf that differs; lists are leaves."""
    if isinstance(asked, Mapping) and isinstance(shown, Mapping):
        for key in [*asked, *(key for key in shown if key not in asked)]:
            yield from find_differences(asked.get(key), shown.get(key), f"{path}.{key}" if path else str(key))
    elif asked != shown:
        yield path, asked, shown


def tell_differences(asked: Mapping[str, object], shown: Mapping[str, object]) -> str:
    """One sentence part: ``huge_pages.2M.0 was asked to be 64, the host shows 40; …``."""
    return "; ".join(f"{path} was asked to be {wish!r}, the host shows {fact!r}" for path, wish, fact in find_differences(asked, shown))
