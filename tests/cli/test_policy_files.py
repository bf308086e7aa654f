"""A policy class is found in a user's own file, and its kernels work from there."""

import os
import pickle
import sys
from pathlib import Path

import pytest

import dpbandits as dpb
from dpbandits import InvalidInput
from dpbandits.cli.files import policy_class
from dpbandits.mechanisms import SeededNoise
from dpbandits.policies import select, update

EXAMPLE = Path(__file__).parents[2] / "examples" / "explore_then_commit.py"


def copied(folder: Path, name: str = "mine.py", text: str | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(EXAMPLE.read_text() if text is None else text)
    return path


def test_a_policy_from_a_file_plays(tmp_path: Path) -> None:
    kind = policy_class(f"{copied(tmp_path)}:ExploreThenCommit")
    policy = kind(epsilon=1.0, plays=5)  # type: ignore[call-arg]
    setup = policy.configure(2, 100)
    params = setup.params
    state, noise = setup.allocate(float), SeededNoise(1)
    for t in range(1, 11):
        arm = select(params, state, t)
        assert arm == (t - 1) // 5
        update(params, state, arm, 1, 1.0, t + 1, noise)
    assert all(state.means != 0)


def test_the_same_file_is_the_same_class_and_others_are_not(tmp_path: Path) -> None:
    first = policy_class(f"{copied(tmp_path / 'a')}:ExploreThenCommit")
    assert policy_class(f"{tmp_path}/a/../a/mine.py:ExploreThenCommit") is first
    assert pickle.loads(pickle.dumps(first)) is first  # noqa: S301  (so that compiled code can be kept on disk)
    assert policy_class(f"{copied(tmp_path / 'b')}:ExploreThenCommit") is not first
    copied(tmp_path / "a", text=EXAMPLE.read_text() + "\n# edited\n")
    assert policy_class(f"{tmp_path}/a/mine.py:ExploreThenCommit") is not first


def test_odd_names_of_files_and_modules_beside_them(tmp_path: Path) -> None:
    copied(tmp_path, "beside_a_policy.py", "PLAYS = 7\n")
    text = EXAMPLE.read_text().replace("plays: int\n\n    def", "plays: int = beside_a_policy.PLAYS\n\n    def")
    path = copied(tmp_path, "my own.v2.py", text.replace("import math", "import math\n\nimport beside_a_policy"))
    kind = policy_class(f"{path}:ExploreThenCommit")
    assert kind(epsilon=1.0).plays == 7  # type: ignore[call-arg, attr-defined]
    assert pickle.loads(pickle.dumps(kind)) is kind  # noqa: S301


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mine.py", "Expected policy='mine.py' as FILE.py:NAME, such as mine.py:ExploreThenCommit."),
        ("mine.py:", "Expected policy='mine.py:' as FILE.py:NAME"),
        ("mine:Name", "Expected policy='mine:Name' as FILE.py:NAME"),
        ("missing.py:Name", "Expected file='missing.py' to be one that can be read: No such file or directory."),
        ("folder.py:Name", "Expected file='folder.py' to be one that can be read: Is a directory."),
        ("mine.py:Name", "Expected 'Name' to be the class of a policy in 'mine.py', which has: ExploreThenCommit."),
        ("mine.py:Policy", "Expected 'Policy' to be the class of a policy in 'mine.py'"),  # an abstract one
        ("half.py:Half", "Expected 'Half' in 'half.py' to be a complete policy. It lacks `setup`."),
        ("mine.py:Params", "Expected 'Params' to be the class of a policy in 'mine.py'"),
        ("empty.py:Name", "Expected 'Name' to be the class of a policy in 'empty.py', which has: none."),
        ("wrong.py:Name", "Expected file='wrong.py' to be a Python file that runs. It fails with ZeroDivisionError: "),
        ("exits.py:Name", "Expected file='exits.py' to be a Python file that runs. It fails with SystemExit: 0"),
        ("words.py:Name", "Expected file='words.py' to be a Python file that runs. It fails with SyntaxError: "),
    ],
)
def test_what_names_no_policy_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    copied(tmp_path)
    copied(tmp_path, "empty.py", "")
    copied(tmp_path, "half.py", "import dpbandits\n\nclass Half(dpbandits.Policy):\n    pass\n")
    copied(tmp_path, "wrong.py", "1 / 0\n")
    copied(tmp_path, "words.py", "no program\n")
    copied(tmp_path, "exits.py", "import sys\n\nsys.exit(0)\n")
    (tmp_path / "folder.py").mkdir()
    monkeypatch.chdir(tmp_path)
    known = set(sys.modules)
    with pytest.raises(InvalidInput) as refused:
        policy_class(text)
    assert str(refused.value).startswith(message)
    assert not any(name.startswith(("wrong_", "words_", "exits_")) for name in set(sys.modules) - known)


def test_one_of_our_own_files_works_too() -> None:
    file = Path(os.path.relpath(dpb.policies.dp_imed.__file__))
    assert policy_class(f"{file}:DPIMED").name == "dp-imed"
