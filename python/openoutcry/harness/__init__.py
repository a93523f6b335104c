"""The harness: strangers' agents in processes of their own, asked bar by bar.

`connect` makes a launcher of what the command line is told: `PythonAgent`, `CommandAgent` or `HttpAgent`, which begins
the agent anew for every run; `CallableAgent` is one of this process. What holds an agent off is a module each: `stdio`
(its process and its pipes), `http` (its server), `surroundings` (what it inherits), `privacy` (what it may read of
ours), `lockstep` (when it is asked), `supervised` (what becomes of its faults).
"""

from openoutcry.harness.agent_faults import AgentError
from openoutcry.harness.agent_lookup import connect
from openoutcry.harness.agent_session import Bounds, Launcher, Session
from openoutcry.harness.callable_agent import CallableAgent
from openoutcry.harness.command_agent import CommandAgent
from openoutcry.harness.http_agent import HttpAgent
from openoutcry.harness.python_agent import PythonAgent
from openoutcry.harness.supervised_agent import Supervised

__all__ = [
    "AgentError",
    "Bounds",
    "CallableAgent",
    "CommandAgent",
    "HttpAgent",
    "Launcher",
    "PythonAgent",
    "Session",
    "Supervised",
    "connect",
]
