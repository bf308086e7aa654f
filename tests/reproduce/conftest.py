"""One small reproduction, shared by the tests that look at what came out."""

from pathlib import Path

import pytest

from dpbandits.reproduce import Finding, Settings, Study, check_claims, play_panels, write_all

SMALL = Settings(horizon=2000, runs=6, effort=0.01)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, dict[str, Finding], Path]:
    folder = tmp_path_factory.mktemp("small")
    study = Study(SMALL, folder)
    play_panels(study)
    findings = check_claims(study)
    write_all(study, findings, folder, flags=" --horizon 2000", bounds=True)
    return study, findings, folder
