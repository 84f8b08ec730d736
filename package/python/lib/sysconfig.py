"""Names of `sysconfig` that other modules look up. A servlet's Python is not installed anywhere."""

__all__ = ["get_config_var", "get_config_vars", "get_path", "get_paths", "get_platform", "get_python_version"]


def get_config_vars(*names):
    return [None for _ in names] if names else {}


def get_config_var(name):
    return None


def get_paths(*args, **kwargs):
    return {}


def get_path(*args, **kwargs):
    return None


def get_platform():
    return "wasi-wasm32"


def get_python_version():
    return "3.14"
