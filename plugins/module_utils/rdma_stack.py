# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver stack: which packages a distribution needs, which are there, and how they are installed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

HEADER = "# Written by the role host_rdma of rdma.k8s; loaded at boot.\n"
MODULE = re.compile(r"[a-z0-9][a-z0-9_-]*", re.IGNORECASE)
# Waits for unattended upgrades, asks nothing, keeps the files that somebody changed.
APT = (
    *("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=600", "-o", "Dpkg::Options::=--force-confdef"),
    *("-o", "Dpkg::Options::=--force-confold", "--no-install-recommends"),
)
INSTALL = {"debian": (*APT, "install"), "rhel": ("dnf", "-y", "-q", "install")}
QUERY = {
    "debian": ("dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\\n"),
    "rhel": ("rpm", "--query", "--queryformat", "%{NAME} installed\\n"),
}


def parse_families(os_release: str) -> list[str]:
    """Names of a distribution and of those it is like, nearest first."""
    rows = dict(re.findall(r"^(ID|ID_LIKE)=[\"']?([^\"'\n]*)", os_release, re.MULTILINE))
    return [*rows.get("ID", "").split(), *rows.get("ID_LIKE", "").split()]


def choose_family(os_release: str, packages: Mapping[str, Sequence[str]]) -> str:
    """The key of `packages` that speaks of this distribution."""
    names = parse_families(os_release)
    family = next((name for name in names if name in packages), None)
    if family is None:
        known = " and ".join(packages)
        own = names[0] if names else "an unknown system"
        raise ValueError(f"packages: this host runs {own}; supported are {known} and their relatives")
    return family


def parse_installed(listing: str) -> set[str]:
    """Names of ``NAME installed`` rows; dpkg's half-installed ones count as absent."""
    rows = (line.split() for line in listing.splitlines())
    return {row[0] for row in rows if len(row) == 2 and row[1] == "installed"}


def parse_new_packages(simulation: str) -> list[str]:
    """What ``apt-get --simulate install`` would bring that is not there yet; an upgrade shows the version it replaces in brackets."""
    return sorted(set(re.findall(r"^Inst (\S+) \(", simulation, re.MULTILINE)))


def boot_text(modules: Sequence[str]) -> str | None:
    """Text of the modules-load.d file; None when there is nothing to load."""
    for name in modules:
        if not MODULE.fullmatch(name):
            raise ValueError(f"modules: {name!r} is no name of a kernel module; letters, digits, '_' and '-' are allowed")
    return HEADER + "".join(f"{name}\n" for name in modules) if modules else None


def proxy_environment(proxy: str | None) -> dict[str, str]:
    """For apt-get and dnf; without a proxy the host's own settings hold."""
    return dict.fromkeys(("http_proxy", "https_proxy"), proxy) if proxy else {}
