"""`evalroom doctor [NAME]`: what an administrator has to set up once, and how."""

from collections.abc import Sequence

from cli.commands.desk_protocols import DeskWorker
from cli.commands.first_poll import first_poll
from cli.commands.machines_check import machine_named
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.machines import DoctorCommand
from cli.render.plain import print_json, print_lines
from cli.wiring.config import config_of
from cli.wiring.desk import desk_running
from core.config.model import MachineConfig
from core.errors import JobFailed, RequestFailed
from core.launch.preflight.shared_folder import SharedFolder, shared_folder_on
from core.text import shown

TO_DO = 1
NOT_REACHED = 3


def doctor(command: DoctorCommand, options: GlobalOptions) -> int:
    """Run `evalroom doctor`; return the exit status.

    Raises:
        UsageWrong: The config does not name this machine.
        StorageError: Others may change the config.
    """

    async def work() -> int:
        config = config_of(options)
        named = () if command.name is None else (machine_named(command.name, config),)
        machines = named or config.machines
        near = config.of_machines([each.name for each in machines])
        async with desk_running(near, options) as desk:
            await first_poll(desk, command.timeout)
            return await check_all(desk, machines, as_json=command.as_json)

    return run_loop(work())


async def check_all(desk: DeskWorker, machines: Sequence[MachineConfig], *, as_json: bool) -> int:
    """Print for each machine what has to be set up there; return the exit status."""
    found = {each.name: await _of(desk, each) for each in machines}
    if as_json:
        rows = [
            {
                "machine": name,
                "reached": one is not None,
                "gpu_locks": one.folder if one else None,
                "trouble": one.trouble if one else None,
                "steps": list(one.steps) if one else [],
            }
            for name, one in found.items()
        ]
        print_json({"machines": rows})
    else:
        for name, one in found.items():
            print_lines(_lines(name, one))
    if all(each is None for each in found.values()):
        return NOT_REACHED
    return TO_DO if any(each is not None and each.trouble for each in found.values()) else 0


async def _of(desk: DeskWorker, machine: MachineConfig) -> SharedFolder | None:
    known = desk.fleet.machines.get(machine.name)
    if known is None or not known.link.is_up:
        return None
    try:
        return await shared_folder_on(desk, machine)
    except JobFailed as error:
        return SharedFolder(folder="", trouble=shown(error.sentence, 400))
    except RequestFailed:
        return None


def _lines(name: str, found: SharedFolder | None) -> list[str]:
    machine = shown(name)
    if found is None:
        return [f"{machine}: not reached"]
    if not found.trouble:
        return [f"{machine}: ok, accounts share GPU reservations in {shown(found.folder, 200)}"]
    steps = [f"    {step}" for step in found.steps]
    advice = ["  an administrator makes the folder once, with:", *steps] if steps else []
    return [f"{machine}: {found.trouble}", *advice]
