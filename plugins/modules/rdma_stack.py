#!/usr/bin/python
# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_stack
short_description: Install the RDMA driver stack and load its kernel modules
version_added: 0.1.0
author: The rdma.k8s authors (@rdma-k8s)
description:
  - Installs the packages that are missing, loads the kernel modules now and at each boot.
  - Looks for new package lists only when a package is missing.
  - Refuses to mix the distribution's own stack with an installed OFED.
extends_documentation_fragment: ansible.builtin.action_common_attributes
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
  platform: {platforms: posix, support: full}
options:
  stack:
    description: Whose stack; V(inbox) is the distribution's own.
    type: str
    choices: [inbox]
    default: inbox
  packages:
    description: Packages for each family of distributions, C(debian) or C(rhel); the host's own C(/etc/os-release) chooses.
    type: dict
    required: true
  modules:
    description: Kernel modules to load now and at each boot.
    type: list
    elements: str
    default: []
  proxy:
    description: URL of the proxy through which packages are fetched. Without it the host's own settings hold.
    type: str
"""

EXAMPLES = r"""
- name: Install the distribution's RDMA stack
  rdma.k8s.rdma_stack:
    packages:
      debian: [rdma-core, ibverbs-utils, perftest]
      rhel: [rdma-core, libibverbs-utils, perftest]
    modules: [ib_uverbs, rdma_ucm]
"""

RETURN = r"""# """

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.k8s.plugins.module_utils import rdma_stack
from ansible_collections.rdma.k8s.plugins.module_utils.converge import converge
from ansible_collections.rdma.k8s.plugins.module_utils.host import Host

BOOT_FILE = "/etc/modules-load.d/90-rdma-k8s-rdma.conf"
INSTALL_S = 1800


def gather(host: Host, params: dict[str, Any]) -> dict[str, Any]:
    family = rdma_stack.choose_family(host.read("/etc/os-release"), params["packages"])
    packages = params["packages"][family]
    if host.which("ofed_info"):
        raise ValueError("stack: inbox was asked for, but an OFED is installed (see `ofed_info -s`); remove it and restart the host first")
    # dpkg-query and rpm end with 1 or more when a package is absent.
    installed = rdma_stack.parse_installed(host.run(*rdma_stack.QUERY[family], *packages, accept=range(256)))
    return {
        "family": family,
        "proxy": params["proxy"],
        "packages": {name: name in installed for name in packages},
        "modules": {name: is_loaded(host, name) for name in params["modules"]},
        "boot_file": host.read_if_there(BOOT_FILE),
    }


def is_loaded(host: Host, name: str) -> bool:
    """Modules that are built into the kernel show no folder unless they have parameters."""
    name = name.replace("-", "_")
    release = host.read("/proc/sys/kernel/osrelease").strip()
    builtin = (host.read_if_there(f"/lib/modules/{release}/modules.builtin") or "").replace("-", "_")
    return host.exists(f"/sys/module/{name}") or f"/{name}.ko\n" in builtin


def plan(before: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    return {
        **before,
        "packages": dict.fromkeys(before["packages"], True),
        "modules": dict.fromkeys(before["modules"], True),
        "boot_file": rdma_stack.boot_text(params["modules"]),
    }


def apply(host: Host, before: dict[str, Any], after: dict[str, Any]) -> None:
    missing = [name for name, there in before["packages"].items() if not there]
    if missing:
        install(host, before["family"], missing, rdma_stack.proxy_environment(before["proxy"]))
    if after["boot_file"] != before["boot_file"]:
        if after["boot_file"] is None:
            host.remove(BOOT_FILE)
        else:
            host.write(BOOT_FILE, after["boot_file"])
    for name, loaded in before["modules"].items():
        if not loaded:
            host.change(("modprobe", name), {"kind": "module", "name": name}, "absent", "loaded")


def install(host: Host, family: str, missing: list[str], proxy: dict[str, str]) -> None:
    argv = (*rdma_stack.INSTALL[family], *missing)
    env = {**proxy, "DEBIAN_FRONTEND": "noninteractive"}
    new = missing
    if family == "debian":
        host.run("dpkg", "--configure", "-a", timeout_s=INSTALL_S, env=env)  # a crash in the middle of an installation blocks the next
        host.run(*rdma_stack.APT, "update", accept=(0, 100), timeout_s=INSTALL_S, env=env)  # without the network the old lists may do
        new = rdma_stack.parse_new_packages(host.run(*argv, "--simulate", timeout_s=INSTALL_S, env=env))
    host.change(argv, {"kind": "packages", "names": new}, "absent", "installed", timeout_s=INSTALL_S, env=env)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "stack": {"type": "str", "choices": ["inbox"], "default": "inbox"},
            "packages": {"type": "dict", "required": True},
            "modules": {"type": "list", "elements": "str", "default": []},
            "proxy": {"type": "str"},
        },
        supports_check_mode=True,
    )
    converge(module, "host_rdma", gather, plan, apply)


if __name__ == "__main__":
    main()
