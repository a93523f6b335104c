"""The sandbox: restricts what the process of an agent may do on this machine.

`Sandbox` chooses the tier and builds start commands from a `Profile`; `launcher` applies the restrictions inside the
new process; `doctor` runs the escape attempts of `escapes` against an `attack_target`. `host_features` reports what
the kernel supports, `seccomp_filters` and `bpf_assembler` build the system call filter.
Imports `errors` only.
"""

from openoutcry.harness.sandbox.host_features import Host, Tier, this_host
from openoutcry.harness.sandbox.profile import Profile
from openoutcry.harness.sandbox.protections import Protection
from openoutcry.harness.sandbox.sandbox import Launch, Sandbox, describe_sandbox

__all__ = ["Host", "Launch", "Profile", "Protection", "Sandbox", "Tier", "describe_sandbox", "this_host"]
