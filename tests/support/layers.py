"""The table of layers: the folders of the package, and the allowed imports of each.

`tests/tree/test_layers.py` checks every module against its row. A row may name only rows above it, so that imports run
in one direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

ANY = "*"


@dataclass(frozen=True)
class Layer:
    """A group of modules and its allowed imports.

    Attributes:
        modules: Names; `a.*` stands for everything below `a`.
        layers: Rows above this one that it imports.
        libraries: Third-party packages.
        deferred: Third-party packages of extras, imported only inside functions.
        by_name: Modules that import or run others by a computed name.
    """

    modules: tuple[str, ...]
    layers: frozenset[str] = frozenset()
    libraries: frozenset[str] = frozenset()
    deferred: frozenset[str] = frozenset()
    by_name: frozenset[str] = field(default_factory=frozenset)


def _layer(modules: str, layers: str = "", libraries: str = "numpy", deferred: str = "", by_name: str = "") -> Layer:
    names = tuple(f"openoutcry.{name}" for name in modules.split())
    by = frozenset(f"openoutcry.{name}" for name in by_name.split())
    return Layer(names, *(frozenset(text.split()) for text in (layers, libraries, deferred)), by)


BASE = "native errors"
CORE = f"{BASE} untrusted data scenarios agents records backtest"

LAYERS = {
    "native": _layer("openoutcry_py", libraries=""),
    "errors": _layer("errors arguments", "native"),
    # Text and files of unknown origin: every print of the package goes through these modules.
    "untrusted": _layer(
        "untrusted untrusted.bounded_file untrusted.counted_nouns untrusted.diagnostics untrusted.terminal", BASE, ""
    ),
    "consoles": _layer("untrusted.rich_console", "untrusted", "rich"),
    # The core: needs only NumPy, and has the public names of `import openoutcry`.
    "readers": _layer("data.readers data.readers.*", f"{BASE} untrusted", deferred="pyarrow"),
    "data": _layer(
        "data data.*",
        f"{BASE} untrusted readers",
        deferred="exchange_calendars pandas polars pyarrow typing_extensions",
    ),
    "scenarios": _layer("scenarios scenarios.*", f"{BASE} untrusted data", ""),
    # The worker runs as a separate file, which needs only the standard library.
    "agents": _layer("agents agents.*", f"{BASE} data", by_name="agents.python_worker"),
    "records": _layer("records records.*", f"{BASE} untrusted", ""),
    "backtest": _layer("backtest backtest.*", f"{BASE} untrusted data agents records", deferred="ray"),
    # Learners.
    "gym": _layer(
        "gym gym.environment gym.vector gym.spaces gym.episodes gym.rewards gym.buffers gym.observed_columns "
        "gym.action_schemes gym.episode_markets gym.replaced_markets "
        "gym.sub_environments gym.settings gym.step_info gym.lane_actions gym.lane_views gym.market_arguments "
        "gym.rendering vector",
        f"{BASE} data scenarios",
        "gymnasium numpy",
    ),
    "sb3": _layer("gym.sb3", "errors", "gymnasium numpy stable_baselines3"),
    "puffer": _layer("gym.puffer puffer", "gym", "gymnasium numpy pufferlib"),
    # Agents in separate processes. Scripts of the sandbox run without the package.
    "sandbox": _layer(
        "harness.sandbox harness.sandbox.*",
        "errors",
        libraries="",
        deferred="numpy",
        by_name="harness.sandbox.launcher harness.sandbox.escapes.run_attempt harness.sandbox.escapes.attempt_server"
        " harness.sandbox.escapes.language",
    ),
    "harness": _layer("harness harness.*", f"{BASE} untrusted agents sandbox", "", "httpx"),
    "conformance": _layer(
        "harness.conformance harness.conformance.*",
        f"{BASE} untrusted data scenarios agents backtest harness",
        by_name="harness.conformance.agent_files",
    ),
    "mcp": _layer("harness.mcp harness.mcp.*", f"{CORE} harness", "anyio mcp mcp_types numpy pydantic"),
    # Scores, then pages and pictures.
    "scoring": _layer("scoring scoring.*", f"{CORE} readers harness"),
    "pages": _layer(
        "report report.charts report.charts.* report.pages report.pages.* report.views report.views.* report.render"
        " report.text_format report.wasm_engine",
        "native untrusted",
    ),
    "report": _layer(
        "report.comparison report.fill_metrics report.run_analysis report.run_orders report.run_origin"
        " report.run_report report.run_statistics report.run_trace report.score_report"
        " report.self_verifying report.tables report.tables.*",
        f"{BASE} data scenarios agents records backtest scoring pages untrusted",
        deferred="pyarrow",
    ),
    # Trained policies: runs, scores and reports of them.
    "evaluation": _layer(
        "gym.evaluation gym.evaluation_environment gym.policies",
        f"{BASE} data backtest records gym scoring report",
        "gymnasium numpy",
        "tensordict torch",
    ),
    "sb3_callback": _layer("gym.sb3_callback", "errors untrusted pages evaluation", "numpy stable_baselines3"),
    "sb3_names": _layer("sb3", "sb3 sb3_callback", ""),
    "audits": _layer(
        "audits audits.*",
        f"{CORE} gym harness scoring pages",
        deferred="gymnasium pandas polars",
        by_name="audits.leakcheck.market_frames audits.leakcheck.target_lookup",
    ),
    "testing": _layer("testing testing.*", "", "gymnasium numpy pytest", by_name="testing"),
    # Apps. Imports between apps run in one direction.
    "ledger": _layer(
        "ledger ledger.*", f"{BASE} untrusted data agents records backtest scoring", deferred="fastapi pyarrow uvicorn"
    ),
    "research": _layer(
        "research research.*",
        f"{BASE} untrusted data agents records backtest harness sandbox scoring pages ledger",
        deferred="anthropic openai optuna",
        by_name="research.code_worker research.llm_clients.sdk_clients",
    ),
    "arena_protocol": _layer("arena arena.protocol arena.timestamps", "errors", ""),
    "arena_log": _layer("arena.log arena.log.*", BASE, "cryptography"),
    # Scores must not depend on the ranking of news: scoring imports neither snapshots nor sources.
    "arena_scoring": _layer("arena.scoring arena.scoring.*", f"{BASE} arena_protocol"),
    "arena_snapshots": _layer("arena.snapshots arena.snapshots.*", "arena_protocol", "brotli zstandard"),
    "arena_sources": _layer(
        "arena.sources arena.sources.* arena.demo_season",
        "untrusted arena_protocol arena_snapshots",
        "feedparser httpx",
    ),
    # Two files that run without the package, for auditors.
    "arena_verifier": _layer("arena.verifier arena.rescoring", libraries="", by_name="arena.verifier"),
    "arena_schemas": _layer(
        "arena.request_schema arena.submission_schema", "native arena_protocol arena_log", "pydantic"
    ),
    "arena_store": _layer(
        "arena.store arena.store.* arena.season_scheduler",
        f"{BASE} records arena_protocol arena_log arena_scoring arena_snapshots arena_schemas",
        "alembic sqlalchemy",
        "alembic",
    ),
    "arena_export": _layer(
        "arena.season_export",
        f"{BASE} arena_protocol arena_log arena_scoring arena_store arena_verifier",
        "sqlalchemy",
    ),
    # The prompt of a model is built from one snapshot, never from a result.
    "arena_prompt": _layer("arena.forecast_prompt", "errors agents arena_snapshots", ""),
    "arena_questions": _layer(
        "arena.past_questions arena.dataset_splits",
        f"{BASE} untrusted arena_protocol arena_scoring arena_snapshots arena_verifier arena_prompt",
        "",
    ),
    "arena_server": _layer(
        "arena.server arena.server.*",
        f"{BASE} untrusted arena_protocol arena_log arena_scoring arena_snapshots arena_schemas arena_store",
        "fastapi pydantic sqlalchemy starlette",
    ),
    "arena_pages": _layer(
        "arena.pages arena.pages.*",
        "pages arena_protocol arena_log arena_scoring arena_schemas arena_store arena_server",
        "fastapi jinja2 numpy sqlalchemy starlette ulid",
    ),
    "arena_app": _layer("arena.app", "arena_protocol arena_store arena_server arena_pages", "fastapi starlette"),
    "arena_witness": _layer("arena.witness", f"{BASE} records arena_protocol arena_log", "httpx"),
    "arena_client": _layer("arena.arena_client arena.event_stream", "errors arena_protocol", "httpx"),
    # Episodes do not depend on the framework, so that they can be tested and audited without it.
    "rollouts": _layer(
        "verifiers_env.episode_outcome verifiers_env.mandates verifiers_env.parser verifiers_env.prompts"
        " verifiers_env.record_conversations verifiers_env.record_store verifiers_env.reward_hacking"
        " verifiers_env.rewards verifiers_env.rollout_state verifiers_env.row_markets"
        " verifiers_env.scripted_policies verifiers_env.task_rows",
        f"{CORE}",
    ),
    # Forecasts are parsed by the Arena's schema of submissions.
    "forecasts": _layer("verifiers_env.forecast_parser", "arena_protocol arena_schemas rollouts", ""),
    "verifiers": _layer(
        "verifiers_env verifiers_env.arena_tasks verifiers_env.chat_harness verifiers_env.conversation_protocol"
        " verifiers_env.trading_tasks verifiers_env.verifiers_environment",
        "errors untrusted arena_questions rollouts forecasts",
        "aiohttp pydantic verifiers",
        by_name="verifiers_env",
    ),
    "benchmarks": _layer(
        "benchmarks benchmarks.*",
        "native data scenarios records backtest gym harness sandbox scoring audits",
        deferred="arch pandas polars pyarrow raptorbt vectorbt vectorbt_rust",
    ),
    "cli": _layer(
        "cli cli.* __main__",
        f"{CORE} consoles readers harness sandbox scoring audits ledger",
        "numpy rich typer",
        "httpx sqlalchemy uvicorn",
        by_name="cli.commands",
    ),
    # The public names, imported on first use.
    "surface": Layer(("openoutcry",), frozenset({"native"}), by_name=frozenset({"openoutcry"})),
}

# Names of the root, defined before it imports any module, and the modules that read them there.
ROOT_NAMES = {
    "__version__": {
        "openoutcry.arena.sources.http_fetch",
        "openoutcry.cli.version_info",
        "openoutcry.harness.conformance.conformance_report",
        "openoutcry.harness.mcp.mcp_server",
        "openoutcry.ledger.entry_builder",
        "openoutcry.report.run_report",
        "openoutcry.research.ledger_trials",
    },
    "CONTRACT_VERSION": {"openoutcry.research.ledger_trials"},
}


def _deferred(module: str, targets: str, reason: str) -> dict[tuple[str, str], str]:
    return {(f"openoutcry.{module}".rstrip("."), f"openoutcry.{target}"): reason for target in targets.split()}


_COMMAND = "a command defers its imports, so that `openoutcry --help` starts fast"
_PUBLIC = "public names are imported on first use"
_PLUGIN = "pytest loads the plugin in every project"

# Allowed deferred imports (in a function, or only for types) outside the rows above: (module, target) -> reason.
DEFERRED = {
    **_deferred("", "agents data data.dataset data.window records.run_record", _PUBLIC),
    **_deferred("", "backtest.replay backtest.run backtest.sweep scoring.scorer", _PUBLIC),
    **_deferred("", "gym gym.vector verifiers_env", _PUBLIC),
    **_deferred("backtest.executors", "untrusted.rich_console", "without a bar, rich is not imported"),
    **_deferred("cli.arena", "arena.*", _COMMAND),
    **_deferred("cli.arena_operator", "arena.*", _COMMAND),
    **_deferred("cli.arena_scoring", "arena.*", _COMMAND),
    **_deferred("cli.bench", "benchmarks.*", _COMMAND),
    **_deferred("cli.conformance", "harness.conformance harness.conformance.*", _COMMAND),
    **_deferred("cli.demo", "report.*", _COMMAND),
    **_deferred("cli.mcp", "harness.mcp harness.mcp.*", _COMMAND),
    **_deferred("cli.report", "report.*", _COMMAND),
    **_deferred("cli.report_compare", "report.*", _COMMAND),
    **_deferred("cli.compared_tracks", "research.candidate_tracks", _COMMAND),
    **_deferred("cli.research", "report.* research.*", _COMMAND),
    **_deferred("cli.research_output", "research.*", _COMMAND),
    **_deferred("cli.run", "report.*", _COMMAND),
    **_deferred("cli.score", "report.*", _COMMAND),
    **_deferred("cli.selected_agent", "research.*", _COMMAND),
    **_deferred("cli.table_options", "report.*", _COMMAND),
    **_deferred("cli.version_info", "report.wasm_engine", _COMMAND),
    **_deferred("backtest.run", "report.run_report", "`Run.report` and `Run.plot` draw the run"),
    **_deferred("gym", "gym.evaluation", "evaluations import backtests and reports, which a training does not need"),
    **_deferred("gym.rendering", "report.charts.raster", "`render_mode='rgb_array'` draws a picture"),
    **_deferred("testing", "harness.conformance", _PLUGIN),
    **_deferred("testing.pytest_plugin", "audits.leakcheck", _PLUGIN),
}

# Deferred imports that close a cycle of files -> the files of the cycle. Without these imports there is no cycle.
# A report computes the statistics of a run, so that it imports `Run`; `Run.report` imports the report when called.
DEFERRED_CYCLES = {
    ("openoutcry.backtest.run", "openoutcry.report.run_report"): {
        "openoutcry.backtest.run",
        "openoutcry.backtest.trade_list",
        "openoutcry.backtest.trades",
        "openoutcry.report.fill_metrics",
        "openoutcry.report.run_analysis",
        "openoutcry.report.run_orders",
        "openoutcry.report.run_origin",
        "openoutcry.report.run_report",
        "openoutcry.report.run_statistics",
        "openoutcry.report.run_trace",
        "openoutcry.report.tables.file_tables",
        "openoutcry.report.tables.trade_tables",
        "openoutcry.scoring.null_agents",
    },
}
