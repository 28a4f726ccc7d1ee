# Copyright: the rdma.k8s authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all state modules share: look, plan, change, look again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from ansible_collections.rdma.k8s.plugins.module_utils.differences import tell_differences
from ansible_collections.rdma.k8s.plugins.module_utils.host import Host, HostError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

State = dict[str, Any]  # what a user can read in the diff
Params = dict[str, Any]


def converge(
    module: AnsibleModule,
    role: str,
    gather: Callable[[Host, Params], State],
    plan: Callable[[State, Params], State],
    apply: Callable[[Host, State, State], None],
) -> None:
    """Bring the host to the planned state and prove it; `role` names the record that undoes it. Ends the module."""
    host = Host(role)
    try:
        before = gather(host, module.params)
        after = plan(before, module.params)
        if after != before and not module.check_mode:
            apply(host, before, after)
            settled = gather(host, module.params)
            if settled != after:
                raise HostError(f"the change did not hold: {tell_differences(after, settled)}")
    except HostError as error:
        module.fail_json(msg=str(error), command=error.command, rc=error.code, stderr=error.stderr)
    except ValueError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=after != before, diff={"before": before, "after": after})
