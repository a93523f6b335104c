"""The sandbox: what an agent may do to the machine that runs it.

`Sandbox.open` tells which tier this machine reaches and refuses to go on below the least that is asked for, `Sandbox.best`
takes what there is, and `described` says what that is; `module` and `command` say what to start in place of an agent.
`openoutcry sandbox doctor` attacks the result. A module each: `host` (what the kernel offers), `profile` (what an agent
may have), `paths` (what it may read), `bpf`, `syscalls` and `filters` (which system calls it may make), `namespaces`
(what it sees of the machine) and `launcher` (the file that sets the locks from inside). `doctor` makes the `attempts`
of `escapes` on an `arena`.
"""

from openoutcry.harness.sandbox.host_features import Host, Tier, this_host
from openoutcry.harness.sandbox.profile import Profile
from openoutcry.harness.sandbox.protections import Lock
from openoutcry.harness.sandbox.sandbox import Launch, Sandbox, described

__all__ = ["Host", "Launch", "Lock", "Profile", "Sandbox", "Tier", "described", "this_host"]
