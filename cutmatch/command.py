"""The command `cutmatch`, also where a folder named `apps` comes first on the path."""

from cutmatch.own_packages import put_first


def main(argv=None) -> int:
    """Run the command that `argv[0]` names (default: the process's arguments) and return its exit status."""
    put_first()
    from apps.cli import main as run

    return run(argv)
