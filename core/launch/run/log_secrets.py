"""The variables that a read of a run's logs needs besides Inspect: environment and secrets."""

from collections.abc import Mapping

from core.ctl.decode import inner, text
from core.errors import EvalroomError
from core.launch.ports import OpenSecrets
from core.launch.run.run_record import secret_names
from core.model.run import Run


async def secrets_of_logs(run: Run, open_secrets: OpenSecrets) -> Mapping[str, str]:
    """Return the values of the secrets that reading a run's logs needs; empty: none.

    Only logs at a URL may need them. Without a secret, Inspect says what it lacks.
    """
    if "://" not in run.log_dir or not run.is_ours or not (named := secret_names(run)):
        return {}
    try:
        values = await open_secrets(tuple(named.values()))
    except EvalroomError:
        return {}
    return {variable: values[name] for variable, name in named.items()}


async def variables_of_log(run: Run, location: str, open_secrets: OpenSecrets) -> Mapping[str, str]:
    """Return the variables with which to read one log of a run; empty: those of the login do.

    A location outside the run's log folder, which its eval may name too, gets no secrets.
    """
    env = inner(run.spec, "env")
    given = {name: value for name in env if (value := text(env, name)) is not None}
    if "://" in run.log_dir and location.startswith(f"{run.log_dir.rstrip('/')}/"):
        return {**given, **await secrets_of_logs(run, open_secrets)}
    return {name: value for name, value in given.items() if name == "PYTHONPATH"}
