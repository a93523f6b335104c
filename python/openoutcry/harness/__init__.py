"""Agents as processes and HTTP servers: start, limit and supervise them.

`connect` turns the value of `--agent` into a launcher: `PythonAgent`, `CommandAgent` or `HttpAgent`. `SupervisedAgent`
is one run of a launcher and turns faults into hold decisions. `sandbox` restricts what a process may do, `conformance`
tests agents against the contract, `mcp` serves episodes. Imports `agents`, `errors`, `untrusted`, `arguments` and the
native module; `conformance` and `mcp` also import `data`, `scenarios`, `records` and `backtest`.
"""

from openoutcry.harness.agent_faults import AgentError
from openoutcry.harness.agent_lookup import connect
from openoutcry.harness.agent_session import Bounds, Launcher, Session
from openoutcry.harness.callable_agent import CallableAgent
from openoutcry.harness.command_agent import CommandAgent
from openoutcry.harness.http_agent import HttpAgent
from openoutcry.harness.python_agent import PythonAgent
from openoutcry.harness.supervised_agent import SupervisedAgent

__all__ = [
    "AgentError",
    "Bounds",
    "CallableAgent",
    "CommandAgent",
    "HttpAgent",
    "Launcher",
    "PythonAgent",
    "Session",
    "SupervisedAgent",
    "connect",
]
