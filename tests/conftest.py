# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets plain pytest import ``ansible_collections.rdma.k8s`` from a checkout under any folder name."""

from __future__ import annotations

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = ROOT / ".cache" / "ansible_collections" / "rdma" / "k8s"


def pytest_configure() -> None:
    """Make the link that gives the checkout its collection path, and install Ansible's import hook on it."""
    if not LINK.is_symlink():
        LINK.parent.mkdir(parents=True, exist_ok=True)
        LINK.symlink_to(os.path.relpath(ROOT, LINK.parent), target_is_directory=True)
    from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

    _AnsibleCollectionFinder(paths=[str(ROOT / ".cache")])._install()
