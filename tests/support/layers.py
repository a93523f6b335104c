"""The layers of the package: which modules are of each, and what they may import.

`test_layers.py` holds every module to its row.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """Python modules with the layers and libraries they may import, `later` being inside a function or for types."""

    modules: tuple[str, ...]
    layers: set[str]
    libraries: set[str]
    layers_later: frozenset[str] = frozenset()
    libraries_later: frozenset[str] = frozenset()
    by_name: bool = False


CORE = {"agents", "core", "data", "errors", "native"}
LAYERS = {
    "native": Layer(("openoutcry.openoutcry_py",), set(), {"numpy"}),
    "root": Layer(("openoutcry",), CORE, set(), frozenset({"gym", "sweep", "vector", "verifiers_door"}), by_name=True),
    "data": Layer(("openoutcry.data", "openoutcry.data.*"), {"data", "errors"}, {"numpy"}, frozenset({"root"})),
    "core": Layer(
        (
            "openoutcry._pickle",
            "openoutcry.agents.decision_codec",
            "openoutcry.arguments",
            "openoutcry.agents.agent_call",
            "openoutcry.backtest.run",
            "openoutcry.data.columns",
            "openoutcry.data.dataset",
            "openoutcry.gym.episodes",
            "openoutcry.agents.untrusted_text",
            "openoutcry.records.line_sink",
            "openoutcry.data.masking",
            "openoutcry.records.run_record",
            "openoutcry.backtest.rerun",
            "openoutcry.backtest.replay",
            "openoutcry.scenarios.scenario",
            "openoutcry.scoring.scorer",
            "openoutcry.backtest.settings",
            "openoutcry.scoring.verdict",
            "openoutcry.backtest.weights",
            "openoutcry.data.window",
        ),
        CORE,
        {"numpy"},
        frozenset({"frames", "picture"}),
        frozenset({"pyarrow"}),
    ),
    "sweep": Layer(
        ("openoutcry.backtest.executors", "openoutcry.backtest.parameter_grid", "openoutcry.backtest.sweep"),
        {*CORE, "sweep"},
        {"numpy"},
        frozenset({"frames", "ray"}),
        frozenset({"rich"}),
    ),
    "strategies": Layer(
        ("openoutcry.backtest.strategies", "openoutcry.backtest.strategies.*"), {*CORE, "strategies"}, {"numpy"}
    ),
    "ray": Layer(("openoutcry.backtest.ray_executor",), {"errors"}, set(), libraries_later=frozenset({"ray"})),
    "errors": Layer(("openoutcry.errors",), {"native"}, set()),
    "agents": Layer(("openoutcry.agents",), {"errors", "native", "worker"}, set()),
    "frames": Layer(
        ("openoutcry.data.dataframes",),
        {"errors", "native"},
        {"numpy"},
        libraries_later=frozenset({"pandas", "polars", "pyarrow"}),
    ),
    "report": Layer(("openoutcry.report", "openoutcry.report.*"), {"native", "report"}, {"numpy"}),
    "picture": Layer(
        (
            "openoutcry.scoring.null_agents",
            "openoutcry.report.run_statistics",
            "openoutcry.report.run_report",
            "openoutcry.report.self_verifying",
            "openoutcry.report.run_trace",
        ),
        {*CORE, "picture", "report", "skill"},
        {"numpy"},
        frozenset({"root"}),
    ),
    "score_picture": Layer(("openoutcry.report.score_report",), {*CORE, "picture", "report", "suite"}, set()),
    "gym": Layer(
        ("openoutcry.gym", "openoutcry.gym.spaces"), {*CORE, "gym"}, {"gymnasium", "numpy"}, frozenset({"report"})
    ),
    "vector": Layer(
        ("openoutcry.gym.sub_environments", "openoutcry.gym.buffers", "openoutcry.vector"),
        {*CORE, "gym", "vector"},
        {"gymnasium", "numpy"},
    ),
    "board": Layer(
        ("openoutcry.scoring.baseline_board", "openoutcry.benchmarks.engine_speed"), {*CORE, "sweep"}, {"numpy"}
    ),
    "skill": Layer(
        ("openoutcry.scoring.power", "openoutcry.scoring.skill", "openoutcry.backtest.trades"),
        {*CORE, "skill"},
        {"numpy"},
    ),
    "field": Layer(("openoutcry.scoring.multiple_testing",), {"errors", "native"}, {"numpy"}),
    "worker": Layer(("openoutcry.agents.python_worker",), set(), set(), frozenset({"core"}), by_name=True),
    "harness": Layer(
        ("openoutcry.harness", "openoutcry.harness.*"),
        {"agents", "core", "errors", "harness", "sandbox", "native", "worker"},
        set(),
        libraries_later=frozenset({"httpx"}),
    ),
    "suite": Layer(
        (
            "openoutcry.scoring.suite_evaluation",
            "openoutcry.scoring.evaluation_journal",
            "openoutcry.scoring.suite_runner",
            "openoutcry.scoring.suite",
        ),
        {*CORE, "harness", "suite"},
        {"numpy"},
    ),
    "mcp": Layer(
        ("openoutcry.harness.mcp", "openoutcry.harness.mcp.*"),
        {*CORE, "harness", "mcp"},
        {"anyio", "mcp", "mcp_types", "numpy", "pydantic"},
        frozenset({"root"}),
    ),
    # What plays an episode knows nothing of the framework, so that it can be tested and audited without it.
    "trading_floor": Layer(
        tuple(
            f"openoutcry.verifiers_env.{name}"
            for name in (
                "answering",
                "conversation",
                "desk",
                "gaming",
                "keeping",
                "mandates",
                "markets",
                "outcome",
                "policies",
                "rewards",
                "rows",
                "words",
            )
        ),
        {*CORE, "trading_floor"},
        {"numpy"},
        frozenset({"root"}),
    ),
    # An answer is read as the Arena reads a submission.
    "forecasting": Layer(
        ("openoutcry.verifiers_env.forecast_parser",), {"arena", "arena_store", "trading_floor"}, set()
    ),
    "verifiers": Layer(
        tuple(f"openoutcry.verifiers_env.{name}" for name in ("chat", "environment", "questions", "talking", "tasks")),
        {"arena_questions", "core", "errors", "forecasting", "native", "trading_floor", "verifiers"},
        {"aiohttp", "pydantic", "verifiers"},
    ),
    "verifiers_door": Layer(("openoutcry.verifiers_env",), set(), set(), frozenset({"verifiers"}), by_name=True),
    "reidentify": Layer(("openoutcry.audits.reidentification",), {*CORE, "reidentify"}, {"numpy"}),
    "sb3": Layer(("openoutcry.sb3",), {"errors"}, {"gymnasium", "numpy", "stable_baselines3"}),
    "puffer": Layer(("openoutcry.puffer",), {"vector"}, {"gymnasium", "numpy", "pufferlib"}),
    "testing": Layer(
        ("openoutcry.testing", "openoutcry.testing.*"), {"conformance", "testing"}, {"gymnasium", "numpy"}
    ),
    "conformance": Layer(
        ("openoutcry.harness.conformance", "openoutcry.harness.conformance.*"),
        {*CORE, "conformance", "harness"},
        {"numpy"},
        frozenset({"root"}),
    ),
    "leakcheck": Layer(
        ("openoutcry.audits.leakcheck", "openoutcry.audits.leakcheck.*"),
        {*CORE, "frames", "leakcheck", "report"},
        {"numpy"},
        libraries_later=frozenset({"gymnasium", "pandas", "polars"}),
        by_name=True,
    ),
    "pytest_plugin": Layer(("openoutcry.testing.pytest_plugin",), set(), {"pytest"}, frozenset({"leakcheck"})),
    "agent_bench": Layer(
        ("openoutcry.benchmarks.agent_speed",), {"board", "data", "harness", "sandbox", "core", "suite"}, set()
    ),
    "batch_bench": Layer(("openoutcry.benchmarks.batch_speed",), {*CORE, "vector"}, {"gymnasium", "numpy"}),
    "scenario_bench": Layer(("openoutcry.benchmarks.scenario_speed",), {*CORE, "board", "leakcheck"}, {"numpy"}),
    "score_bench": Layer(
        ("openoutcry.benchmarks.scoring_speed",),
        {"board", "field", "skill"},
        {"numpy"},
        libraries_later=frozenset({"arch"}),
    ),
    "score_attacks": Layer(
        ("openoutcry.audits.score_attacks", "openoutcry.audits.score_attacks.*"),
        {*CORE, "score_attacks", "skill"},
        {"numpy"},
    ),
    # Its scripts run without the package, in processes of their own.
    "sandbox": Layer(
        ("openoutcry.harness.sandbox", "openoutcry.harness.sandbox.*"),
        {"errors", "sandbox"},
        set(),
        libraries_later=frozenset({"numpy"}),
        by_name=True,
    ),
    "realism": Layer(
        ("openoutcry.audits.realism", "openoutcry.audits.realism.*"),
        {*CORE, "realism", "sweep"},
        {"numpy"},
        by_name=True,
    ),
    "martingale": Layer(
        ("openoutcry.audits.martingale", "openoutcry.audits.martingale.*"),
        {*CORE, "martingale", "realism", "vector"},
        {"numpy"},
    ),
    "contamination": Layer(
        ("openoutcry.audits.contamination", "openoutcry.audits.contamination.*"),
        {*CORE, "contamination", "field", "harness", "report"},
        {"numpy"},
    ),
    "ledger": Layer(
        (
            "openoutcry.records.chained_log",
            "openoutcry.records.chained_lines",
            "openoutcry.ledger",
            "openoutcry.ledger.*",
        ),
        {*CORE, "ledger", "skill"},
        {"numpy"},
        frozenset({"root"}),
        frozenset({"fastapi", "pyarrow", "uvicorn"}),
    ),
    "research": Layer(
        ("openoutcry.research", "openoutcry.research.*"),
        {
            *CORE,
            "field",
            "harness",
            "sandbox",
            "ledger",
            "report",
            "research",
            "skill",
            "strategies",
            "sweep",
            "worker",
        },
        {"numpy"},
        frozenset({"root"}),
        frozenset({"anthropic", "openai", "optuna", "rich"}),
    ),
    "arena": Layer(("openoutcry.arena", "openoutcry.arena.protocol", "openoutcry.arena.timestamps"), {"errors"}, set()),
    "arena_store": Layer(
        (
            "openoutcry.arena.submission_schema",
            "openoutcry.arena.season_scheduler",
            "openoutcry.arena.store",
            "openoutcry.arena.store.*",
            "openoutcry.arena.request_schema",
        ),
        {"arena", "arena_log", "arena_scoring", "arena_snapshots", "arena_store", "errors", "native"},
        {"alembic", "pydantic", "sqlalchemy"},
        libraries_later=frozenset({"alembic"}),
    ),
    "arena_export": Layer(
        ("openoutcry.arena.season_export",),
        {"arena", "arena_log", "arena_scoring", "arena_store", "arena_verifier", "errors", "native"},
        {"sqlalchemy"},
    ),
    # What is asked has no say in what is known, nor the other way round: `prompting` imports snapshots alone.
    "arena_prompting": Layer(("openoutcry.arena.forecast_prompt",), {"arena_snapshots", "core", "errors"}, set()),
    "arena_questions": Layer(
        ("openoutcry.arena.past_questions", "openoutcry.arena.dataset_splits"),
        {
            "arena",
            "arena_prompting",
            "arena_questions",
            "arena_scoring",
            "arena_snapshots",
            "arena_verifier",
            "errors",
            "native",
        },
        set(),
    ),
    "arena_server": Layer(
        ("openoutcry.arena.server", "openoutcry.arena.server.*"),
        {
            "arena",
            "arena_log",
            "arena_pages",
            "arena_scoring",
            "arena_server",
            "arena_snapshots",
            "arena_store",
            "errors",
            "native",
        },
        {"fastapi", "pydantic", "sqlalchemy", "starlette"},
    ),
    # They show what the server's parts tell; of these only the application knows them.
    "arena_pages": Layer(
        ("openoutcry.arena.pages", "openoutcry.arena.pages.*"),
        {"arena", "arena_log", "arena_pages", "arena_scoring", "arena_server", "arena_store", "native", "report"},
        {"fastapi", "jinja2", "numpy", "sqlalchemy", "starlette", "ulid"},
    ),
    "arena_witness": Layer(("openoutcry.arena.witness",), {"arena", "arena_log", "errors", "native"}, {"httpx"}),
    "arena_client": Layer(
        ("openoutcry.arena.arena_client", "openoutcry.arena.event_stream"), {"arena", "arena_client"}, {"httpx"}
    ),
    # What ranks news has no say in scores: they import neither snapshots nor sources.
    "arena_scoring": Layer(
        ("openoutcry.arena.scoring", "openoutcry.arena.scoring.*"),
        {"arena", "arena_scoring", "errors", "native"},
        {"numpy"},
    ),
    "arena_log": Layer(
        ("openoutcry.arena.log", "openoutcry.arena.log.*"),
        {"arena_log", "errors", "native"},
        {"cryptography"},
    ),
    # Two files, to be read and run by who has nothing of the package.
    "arena_verifier": Layer(("openoutcry.arena.rescoring", "openoutcry.arena.verifier"), set(), set()),
    # Its weights say what is news; no score may know them.
    "arena_snapshots": Layer(
        ("openoutcry.arena.snapshots", "openoutcry.arena.snapshots.*"),
        {"arena", "arena_snapshots"},
        {"brotli", "zstandard"},
    ),
    "arena_sources": Layer(
        ("openoutcry.arena.demo_season", "openoutcry.arena.sources", "openoutcry.arena.sources.*"),
        {"arena", "arena_snapshots", "arena_sources", "root"},
        {"feedparser", "httpx"},
    ),
    "cli": Layer(
        ("openoutcry.__main__", "openoutcry.cli", "openoutcry.cli.*"),
        {*CORE, "board", "cli", "harness", "sandbox", "ledger", "reidentify", "skill", "suite", "worker"},
        {"numpy", "rich", "typer"},
        frozenset(
            {
                "root",
                "arena",
                "arena_client",
                "arena_export",
                "arena_log",
                "arena_questions",
                "arena_scoring",
                "arena_server",
                "arena_snapshots",
                "arena_sources",
                "arena_store",
                "arena_witness",
                "agent_bench",
                "batch_bench",
                "conformance",
                "contamination",
                "leakcheck",
                "ledger",
                "martingale",
                "mcp",
                "picture",
                "realism",
                "report",
                "research",
                "scenario_bench",
                "score_attacks",
                "score_bench",
                "score_picture",
            }
        ),
        libraries_later=frozenset({"httpx", "sqlalchemy", "uvicorn"}),
    ),
}
