"""Names of `dotenv`, which finds no file: a servlet's settings are in `ctx.config`, by `env_vars` of servlet.json."""


def load_dotenv(*args, **options):
    return False


def find_dotenv(*args, **options):
    return ""


def dotenv_values(*args, **options):
    return {}
