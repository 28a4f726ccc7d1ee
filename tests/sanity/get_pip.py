# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the pip bootstrap script that ansible-test would download: pip comes from ensurepip, the rest from the package index."""

from __future__ import annotations

import subprocess
import sys

packages = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
subprocess.check_call([sys.executable, "-m", "ensurepip", "--default-pip"], stdout=subprocess.DEVNULL)
if packages:
    subprocess.check_call([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
