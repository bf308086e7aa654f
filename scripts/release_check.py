"""Whether what would be published works where there is no checkout. `make release-check` runs this.

It builds the source distribution and, from that, the wheel. Each is installed with `[all]` into an empty environment in
a temporary folder, and the README's examples are run there, with the results that the README prints.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
# Neither the checkout's packages nor its settings may help out.
HIDDEN_VARIABLES = {"PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS"}


def say(text: str) -> None:
    print(f"release-check: {text}", flush=True)


def run(command: list[str], folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN_VARIABLES}
    environment |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "NUMBA_CACHE_DIR": str(folder / "numba")}
    status = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
    if status:
        sys.exit(f"release-check: FAILED with exit status {status}: {' '.join(command)}")


def build(folder: Path) -> list[Path]:
    """Return the source distribution and the wheel that was built from it."""
    folder.mkdir()
    run([sys.executable, "-m", "build", "--outdir", str(folder), str(CHECKOUT)], folder)
    return [next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))]


def check(distribution: Path, folder: Path) -> None:
    """Install a distribution into an environment of its own, start its command and run the README's examples."""
    run([sys.executable, "-m", "venv", str(folder)], folder.parent)
    programs = folder / "bin"
    say(f"installing {distribution.name}[all] into an empty environment")
    run([str(programs / "pip"), "install", "--quiet", f"{distribution}[all]", "pytest"], folder)
    run([str(programs / "dpbandits"), "--version"], folder)
    say(f"running the README's examples with {distribution.name}")
    shutil.copy(CHECKOUT / "README.md", folder)
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
    flags = f"doctest_optionflags={' '.join(settings['doctest_optionflags'])}"
    pytest = [str(programs / "pytest"), "-q", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    run([*pytest, "--doctest-glob=README.md", "-o", flags, "README.md"], folder)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="dpbandits-release-") as name:
        folder = Path(name)
        say("building the source distribution, and the wheel from it")
        distributions = build(folder / "dist")
        for number, distribution in enumerate(distributions):
            check(distribution, folder / f"environment-{number}")
    say(f"passed: {' and '.join(distribution.name for distribution in distributions)}")


if __name__ == "__main__":
    main()
