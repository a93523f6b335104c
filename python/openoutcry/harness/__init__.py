"""The harness: strangers' agents in processes of their own, asked bar by bar.

`PythonAgent` names one; `Evaluation.run` begins it anew for every run. What holds an agent off is a module each:
`stdio` (its process and its pipes), `surroundings` (what it inherits), `privacy` (what it may read of ours), `lockstep`
(when it is asked).
"""

from openoutcry.harness.faults import AgentError
from openoutcry.harness.python_agent import PythonAgent
from openoutcry.harness.session import Bounds, Launcher, Session

__all__ = ["AgentError", "Bounds", "Launcher", "PythonAgent", "Session"]
