"""Names of `subprocess` that other modules look up when they are loaded. A servlet starts no programs."""

__all__ = ["DEVNULL", "PIPE", "STDOUT", "CalledProcessError", "Popen", "SubprocessError", "TimeoutExpired", "run"]

PIPE, STDOUT, DEVNULL = -1, -2, -3


class SubprocessError(Exception): ...


class CalledProcessError(SubprocessError): ...


class TimeoutExpired(SubprocessError): ...


class Popen:
    def __init__(self, *args, **kwargs):
        raise OSError("a servlet starts no programs")


def run(*args, **kwargs):
    raise OSError("a servlet starts no programs")


call = check_call = check_output = getoutput = getstatusoutput = run
