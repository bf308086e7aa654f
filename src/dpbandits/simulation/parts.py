"""Parts: finished results in a folder, so that a computation that was stopped goes on where it was, to the same bits.

A part has a name made from all it was computed from: what was asked, the program's own source, its libraries. After
that come the runs that are in it, so that more runs begin with those that are there:

    KEY-960.npz         the summary of 960 runs
    KEY-960-1000.npz    the runs from 960 to 1000 themselves

Runs come in chunks that share a generator, so only whole chunks can be gone on with. What is damaged is computed again.
"""

import hashlib
import json
import time
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbandits import _writing
from dpbandits.engine.stamp import classes_in, program_stamp, stamp, stamp_of_constants
from dpbandits.environments.environment import Environment
from dpbandits.errors import InvalidInput
from dpbandits.policies import Policy
from dpbandits.simulation.plays import Plays
from dpbandits.simulation.regrets import Regrets
from dpbandits.simulation.runner import CHECKPOINTS, log_spaced, played_chunks, runs_per_chunk, summarise
from dpbandits.simulation.summary import RegretSummary

_PROGRAM = program_stamp()  # as it is imported: a file that is edited later does not change this process
_SECONDS_BETWEEN_SAVES = 5.0


class Parts:
    """A folder of results, each computed once; without a folder nothing is kept.

    Attributes:
        pulls, seconds: how many pulls were simulated by this process, and the CPU time they took.
        on_runs: called with the number of runs that were just finished.
    """

    def __init__(self, folder: Path | None) -> None:
        self.pulls = 0
        self.seconds = 0.0
        self.on_runs: Callable[[int], None] = lambda runs: None
        self._folder = folder
        self._runs_in_folder: dict[str, set[tuple[int, ...]]] = {}  # by key: which runs are in the folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            _writing.remove_unfinished(folder)
            for path in folder.glob("*-*.npz"):
                key, *runs = path.stem.split("-")
                if all(number.isdecimal() for number in runs):  # not a file of somebody else
                    self._runs_in_folder.setdefault(key, set()).add(tuple(map(int, runs)))
        self._summaries: dict[tuple[str, int], RegretSummary] = {}

    def summary(
        self,
        policy: Policy,
        environment: Environment,
        *,
        horizon: int,
        runs: int,
        seed: int,
        shuffled: bool = False,
        workers: int | None = None,
        points: int = CHECKPOINTS,
    ) -> RegretSummary:
        """Return the regret of a policy over `runs` runs, at about `points` points in time."""
        key = _key(f"{_origin(policy, environment, horizon)} {seed} {shuffled} {points}")
        if (key, runs) not in self._summaries:
            chunk = runs_per_chunk(horizon)
            stored_summary = self._stored_summary(key, runs, chunk)
            done = 0 if stored_summary is None else stored_summary.runs
            if done:
                self.on_runs(done)
            if stored_summary is None or done < runs:
                summaries = summarise(
                    policy,
                    environment,
                    horizon=horizon,
                    runs=runs,
                    seed=seed,
                    shuffled=shuffled,
                    workers=workers,
                    points=points,
                    begun=stored_summary,
                    progress=False,
                )
                stored_summary = self._last_summary(key, summaries, done, (runs // chunk * chunk, runs))
            self._summaries[key, runs] = stored_summary
        return self._summaries[key, runs]

    def every_run(
        self,
        policy: Policy,
        environment: Environment,
        *,
        horizon: int,
        runs: int,
        seed: int,
        copy: int = 0,
        plays: bool = False,
        workers: int | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Return `regrets` of every run at log-spaced times, and its `switches`: how often its arm changed.

        If asked for, also the `plays` of every arm, and which arm was `chosen` at these times. `copy` tells the same
        policy, played twice, apart.
        """
        times = log_spaced(horizon)
        kinds = np.arange(environment.arms) if plays else None
        rows = _room(runs, len(times), environment.arms if plays else 0)
        key = ""
        if self._folder is not None:
            what = "every run and its plays" if plays else "every run"
            key = _key(f"{what} {_origin(policy, environment, horizon)} {seed} {copy}")
        chunk = runs_per_chunk(horizon)
        done = self._loaded_runs(key, rows, chunk)
        if done:
            self.on_runs(done)
        if done < runs:
            chunks = played_chunks(
                policy, environment, times, runs=runs, seed=seed, kinds=kinds, workers=workers, done=done, copy=copy
            )
            milestones = runs // chunk * chunk, runs
            self.pulls += horizon * self._filled(key, chunks, done, rows, milestones)
        return rows

    def kept(self, what: str, compute: Callable[[], Any]) -> Any:
        """Return a result that JSON can hold, computed now or by an earlier process that was asked the same."""
        if self._folder is None:
            return json.loads(json.dumps(compute()))
        path = self._folder / f"{_key(what)}.json"
        with suppress(FileNotFoundError, ValueError):  # what is damaged is computed again
            checksum, text = path.read_text("utf-8").split("\n", 1)
            if checksum == _checksum(path.name, text):
                return json.loads(text)
        text = json.dumps(compute())
        _writing.write_file(path, f"{_checksum(path.name, text)}\n{text}".encode())
        return json.loads(text)  # the same form now as later

    # ---- summaries

    def _stored_summary(self, key: str, runs: int, chunk: int) -> RegretSummary | None:
        """Return the summary to go on from: of all the runs, or else of the most whole chunks of them."""
        counts = (runs_known[0] for runs_known in self._runs_in_folder.get(key, ()) if len(runs_known) == 1)
        for count in sorted((n for n in counts if n == runs or (n < runs and n % chunk == 0)), reverse=True):
            with suppress(FileNotFoundError, InvalidInput):  # what is damaged is computed again
                summary = RegretSummary.load(self._path(key, (count,)))
                if summary.runs == count:
                    return summary
        return None

    def _last_summary(
        self, key: str, summaries: Generator[RegretSummary], done: int, milestones: tuple[int, int]
    ) -> RegretSummary:
        """Return the last summary. It and that of the last whole chunk are kept, others until the next one is saved."""
        last_save, started = time.monotonic(), time.process_time()
        temporary: tuple[int, ...] = ()
        with closing(summaries):
            for summary in summaries:
                self.on_runs(summary.runs - done)
                self.pulls += (summary.runs - done) * summary.horizon
                done = summary.runs
                if done in milestones or time.monotonic() - last_save > _SECONDS_BETWEEN_SAVES:
                    self.seconds += time.process_time() - started
                    self._save(key, (done,), summary.save)
                    if temporary:
                        self._drop(key, temporary)
                    temporary = () if done in milestones else (done,)
                    last_save, started = time.monotonic(), time.process_time()
        return summary

    # ---- the runs themselves

    def _loaded_runs(self, key: str, rows: dict[str, NDArray[Any]], chunk: int) -> int:
        """Fill in the runs that are there, and return how many of the first ones are."""
        done, runs = 0, len(rows["regrets"])
        spans = {span for span in self._runs_in_folder.get(key, ()) if len(span) == 2}
        while done < runs:
            stops = [stop for first, stop in spans if first == done and (stop >= runs or stop % chunk == 0)]
            if not stops:
                break
            stop = max(stops)
            some = slice(0, min(stop, runs) - done)
            try:
                with open(self._path(key, (done, stop)), "rb") as file, np.load(file) as archive:
                    for name, array in rows.items():
                        array[done:stop] = archive[name][some]
            except Exception:  # noqa: BLE001  (a damaged archive can raise anything, and is computed again)
                spans.remove((done, stop))
            else:
                done = min(stop, runs)
        return done

    def _filled(
        self,
        key: str,
        chunks: Generator[Regrets | Plays],
        done: int,
        rows: dict[str, NDArray[Any]],
        milestones: tuple[int, int],
    ) -> int:
        """Fill in the runs that are played, in files of their own, and return how many they are."""
        first = start = done
        last_save, started = time.monotonic(), time.process_time()
        with closing(chunks):
            for chunk in chunks:
                stop = done + len(chunk.regrets)
                for name, array in rows.items():
                    array[done:stop] = getattr(chunk, name)
                self.on_runs(stop - done)
                done = stop
                if done in milestones or time.monotonic() - last_save > _SECONDS_BETWEEN_SAVES:
                    self.seconds += time.process_time() - started
                    arrays = {name: array[first:done] for name, array in rows.items()}
                    self._save(key, (first, done), partial(_writing.write_arrays, arrays=arrays))
                    first, last_save, started = done, time.monotonic(), time.process_time()
        return done - start

    # ---- files

    def _save(self, key: str, runs: tuple[int, ...], write: Callable[[Path], Any]) -> None:
        if self._folder is not None:
            write(self._path(key, runs))
            self._runs_in_folder.setdefault(key, set()).add(runs)

    def _drop(self, key: str, runs: tuple[int, ...]) -> None:
        if self._folder is not None:
            self._path(key, runs).unlink(missing_ok=True)
            self._runs_in_folder[key].discard(runs)

    def _path(self, key: str, runs: tuple[int, ...]) -> Path:
        assert self._folder is not None  # nothing is known without one
        return self._folder / f"{'-'.join([key, *map(str, runs)])}.npz"


def _origin(policy: Policy, environment: Environment, horizon: int) -> str:
    """Return what names a policy in an environment: settings, constants and kernels, also of a user's file."""
    setup, arms = policy.configure(environment.arms, horizon), environment.configure()
    kernels = _stamped((*classes_in(setup.params, arms), setup.state_class, *setup.parts.values()))
    # The text of an environment with many numbers leaves them out, and a policy may compute more than its text tells.
    constants = stamp_of_constants(setup.params, arms, environment.means)
    return f"{policy!r} {environment!r} {kernels} {constants} {sorted(setup.sizes.items())} {horizon}"


def _room(runs: int, points: int, arms: int) -> dict[str, NDArray[Any]]:
    """Return arrays with a row for every run; of no arms, none for their plays."""
    numbers = runs * (points * (2 + arms if arms else 1) + 1)
    try:
        np.empty(numbers)  # in one piece: systems that lend more memory than they have refuse only that
        rows: dict[str, NDArray[Any]] = {"regrets": np.empty((runs, points))}
        rows["switches"] = np.empty(runs, dtype=np.int64)
        if arms:
            rows["plays"] = np.empty((runs, points, arms), dtype=np.int64)
            rows["chosen"] = np.empty((runs, points), dtype=np.int64)
    except MemoryError:
        raise InvalidInput(
            f"Expected runs={runs} to fit into memory, but they need {numbers * 8 / 2**30:.0f} GiB."
        ) from None
    return rows


def _key(made_from: str) -> str:
    return _checksum(_PROGRAM, made_from)[:24]


def _checksum(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


@cache
def _stamped(classes: tuple[type, ...]) -> str:
    return stamp(*classes)
