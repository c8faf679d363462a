"""What the user's code does wrong costs its own value only."""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from arksim_ci.user_code.host import UserCodeFailed, UserCodeHost
from tests.integration.user_code.conftest import Bench

HEAD = """
import asyncio, ctypes, json, os, signal, subprocess, sys, threading, time
from arksim.evaluator import QuantitativeMetric, QualitativeMetric, QuantResult, QualResult

class Good(QuantitativeMetric):
    def score(self, score_input):
        time.sleep(float(score_input.profile or 0))
        return QuantResult(name=self.name, value=4)
"""


def a_metric(
    body: str, method: str = "def score(self, score_input)", name: str = "Bad", base: str = "QuantitativeMetric"
) -> str:
    lines = "\n".join(f"        {line}" for line in dedent(body).strip().splitlines())
    return f"\nclass {name}({base}):\n    {method}:\n{lines}\n"


async def load(bench: Bench, *metrics: str, seconds: float = 20) -> UserCodeHost:
    file = bench.write("metrics.py", "")
    file.write_text(HEAD + "".join(metrics), encoding="utf-8")
    host = await bench.host(seconds=seconds)
    await host.load_metrics([file])
    return host


FAILS = {
    "raises": ("raise ValueError('boom')", "metric 'Bad': ValueError: boom"),
    "raises BaseException": ("raise BaseException('boom')", "metric 'Bad': BaseException: boom"),
    "exits": ("sys.exit(3)", "metric 'Bad': SystemExit: 3"),
    "interrupts": ("raise KeyboardInterrupt", "metric 'Bad': KeyboardInterrupt"),
    "recurses": ("return self.score(score_input)", "RecursionError"),
    "raises what can't be shown": (
        "class E(Exception):\n    def __str__(self): raise E\nraise E()",
        "metric 'Bad': E$",
    ),
    "returns nothing": ("return None", "score\\(\\) returned NoneType; it must return a QuantResult"),
    "returns a number": ("return 4", "score\\(\\) returned int; it must return a QuantResult"),
    "returns NaN": ("return QuantResult(name='x', value=float('nan'))", "returned nan, which is not a finite number"),
    "returns infinity": ("return QuantResult(name='x', value=-1e999)", "returned -inf, which is not a finite number"),
    "returns 50 MB": ("return QuantResult(name='x', value=1, reason='x' * 50_000_000)", "returned too much: 50 MB are more than the 16 MB"),
    "returns junk": ("return QuantResult.model_construct(value='much')", "'much', which is no number"),
    "closes descriptors": ("os.closerange(3, 256)\nreturn QuantResult(name='x', value=1)", "the worker process ended"),
    "ends the process": ("os._exit(7)", "the worker process ended \\(exit code 7\\) while metric 'Bad' ran"),
    "crashes": ("ctypes.string_at(0)", "the worker process ended \\(killed by SIGSEGV\\)"),
    "kills itself": ("os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
    "stops the loop": ("async def stop(): asyncio.get_running_loop().stop()\nreturn stop()", "the worker process ended \\(exit code 0\\)"),
    "writes to our line": (
        "for fd in range(3, 64):\n    try: os.write(fd, b'nonsense\\n')\n    except OSError: pass\ntime.sleep(5)",
        "the user's code wrote to our line",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", list(FAILS))
async def test_a_bad_metric_costs_its_own_value(bench: Bench, case: str) -> None:
    body, cause = FAILS[case]
    host = await load(bench, a_metric(body))
    with pytest.raises(UserCodeFailed, match=cause):
        await host.score("Bad", {})
    assert (await host.score("Good", {})).value == 4
    with pytest.raises(UserCodeFailed):
        await host.score("Bad", {})


@pytest.mark.parametrize(
    "body", ["raise SystemExit(3)", "raise ValueError('boom')", "await asyncio.sleep(0)\nsys.exit(1)"]
)
async def test_an_async_metric_costs_its_own_value_too(bench: Bench, body: str) -> None:
    host = await load(bench, a_metric(body, "async def score(self, score_input)"))
    with pytest.raises(UserCodeFailed, match="metric 'Bad'"):
        await host.score("Bad", {})
    assert (await host.score("Good", {})).value == 4


async def test_the_traceback_is_in_the_log_and_shows_the_users_lines_only(bench: Bench) -> None:
    host = await load(bench, "\ndef deep():\n    raise ValueError('boom')\n", a_metric("deep()"))
    with pytest.raises(UserCodeFailed):
        await host.score("Bad", {})
    trace = [line for line in bench.log if line.startswith("user code: ")]
    assert trace[0] == "user code: Traceback (most recent call last):"
    assert any("metrics.py" in line and "in deep" in line for line in trace)
    assert trace[-1] == "user code: ValueError: boom"
    assert not any("arksim_ci" in line for line in trace)


async def test_what_it_prints_is_lines_in_the_log_and_nothing_more(bench: Bench) -> None:
    host = await load(
        bench,
        a_metric(
            """
            print("::error::from print")
            sys.stderr.write("::warning::from stderr\\n")
            os.write(1, b"::set-output name=a::from a descriptor\\n")
            ctypes.CDLL(None).puts(b"##[error]from C")
            ctypes.CDLL(None).fflush(None)
            subprocess.run(["echo", "::notice::from a child"])
            print('{"id": 1, "value": 5}')
            print("no end", end="")
            return QuantResult(name="x", value=1)
            """
        ),
    )
    assert (await host.score("Bad", {})).value == 1
    await host.close()
    for text in ("from print", "from stderr", "from a descriptor", "from C", "from a child", '"value": 5', "no end"):
        assert text in bench.logged
    assert all(line.startswith("user code: ") and "##[" not in line for line in bench.log)


async def test_50_mb_of_output_are_read_and_cut(bench: Bench) -> None:
    host = await load(
        bench, a_metric("print('x' * 50_000_000)\nprint('y\\n' * 200_000)\nreturn QuantResult(name='x', value=1)")
    )
    assert (await host.score("Bad", {})).value == 1
    await host.close()
    assert len(bench.logged) < 200_000


async def test_too_much_input_fails_and_does_not_break_the_line(bench: Bench) -> None:
    host = await load(bench)
    with pytest.raises(UserCodeFailed, match="more than the 16 MB"):
        await host.score("Good", {"knowledge": "x" * 20_000_000})
    assert (await host.score("Good", {"knowledge": "x" * 10_000_000})).value == 4


async def test_odd_text_is_cleaned(bench: Bench) -> None:
    host = await load(bench, a_metric("return QuantResult.model_construct(value=1, reason='a\\ud800b\\x00')"))
    assert (await host.score("Bad", {"user_goal": "emoji \U0001f600"})).reason == "a?b\x00"


@pytest.mark.parametrize("body", ["while True: pass", "time.sleep(60)"])
async def test_a_hang_does_not_block_others_and_is_not_paid_for_again_and_again(bench: Bench, body: str) -> None:
    host = await load(bench, a_metric(body), seconds=0.5)
    hangs = [asyncio.create_task(host.score("Bad", {})) for _ in range(2)]
    began = time.monotonic()
    assert (await host.score("Good", {})).value == 4
    assert time.monotonic() - began < 0.5
    for hang in hangs:
        with pytest.raises(UserCodeFailed, match=r"metric 'Bad' did not return within 0.5 s"):
            await hang
    with pytest.raises(UserCodeFailed, match="did not return within"):
        await host.score("Bad", {})
    with pytest.raises(UserCodeFailed, match="did not return 3 times in a row, and is not asked again"):
        await host.score("Bad", {})
    assert (await host.score("Good", {})).value == 4


async def test_an_async_hang_is_cancelled(bench: Bench) -> None:
    host = await load(
        bench,
        a_metric(
            "try:\n    await asyncio.sleep(60)\nfinally:\n    print('let go')", "async def score(self, score_input)"
        ),
        seconds=0.3,
    )
    with pytest.raises(UserCodeFailed, match="did not return within"):
        await host.score("Bad", {})
    assert (await host.score("Good", {})).value == 4
    async with asyncio.timeout(10):
        while "let go" not in bench.logged:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("body", ["time.sleep(60)", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')"])
async def test_a_stuck_process_is_replaced_and_others_are_asked_again(bench: Bench, body: str) -> None:
    # Blocks the event loop; the second one keeps every other thread from running, too.
    host = await load(bench, a_metric(body, "async def score(self, score_input)"), seconds=0.6)
    bad = asyncio.create_task(host.score("Bad", {}))
    await asyncio.sleep(0.1)
    good = asyncio.create_task(host.score("Good", {}))
    with pytest.raises(UserCodeFailed, match=r"did not respond|did not return"):
        await bad
    assert (await good).value == 4


async def test_many_hung_threads_get_the_worker_replaced_without_harm_to_what_runs(bench: Bench) -> None:
    bad = [a_metric("time.sleep(60)", name=f"Bad{number}") for number in range(5)]
    host = await load(bench, a_metric("return QuantResult(name='x', value=os.getpid())", name="Pid"), *bad, seconds=0.8)
    first = (await host.score("Pid", {})).value
    slow = asyncio.create_task(host.score("Good", {"profile": "0.7"}))
    await asyncio.gather(*(host.score(f"Bad{number}", {}) for number in range(5)), return_exceptions=True)
    assert (await slow).value == 4
    assert (await host.score("Pid", {})).value != first
    assert not Path(f"/proc/{first:.0f}").exists() or "Z" in Path(f"/proc/{first:.0f}/stat").read_text().split()


async def test_when_a_process_ends_only_the_one_that_ended_it_fails(bench: Bench) -> None:
    host = await load(bench, a_metric("time.sleep(0.2)\nos._exit(9)"))
    calls = [host.score("Good", {"profile": "0.4"}) for _ in range(3)] + [host.score("Bad", {})]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [result.value for result in results[:3] if not isinstance(result, BaseException)] == [4, 4, 4]
    assert isinstance(results[3], UserCodeFailed)
    assert "exit code 9" in str(results[3])
    # From now on the culprit has a process of its own, and others are not disturbed at all.
    calls = [host.score("Good", {"profile": "0.5"}), host.score("Bad", {})]
    good, bad = await asyncio.gather(*calls, return_exceptions=True)
    assert not isinstance(good, BaseException)
    assert isinstance(bad, UserCodeFailed)


async def test_a_fork_neither_answers_twice_nor_outlives_the_run(bench: Bench) -> None:
    host = await load(
        bench,
        a_metric("child = os.fork()\nreturn QuantResult(name='x', value=1 if child else 2)"),
        a_metric(
            "child = os.fork()\nif not child: time.sleep(600)\nreturn QuantResult(name='x', value=child)", name="Stays"
        ),
        a_metric("child = os.fork()\nif not child: time.sleep(600)\nos._exit(5)", name="Leaves"),
        a_metric("return QuantResult(name='x', value=os.fork())", "async def score(self, score_input)", name="Async"),
    )
    assert (await host.score("Bad", {})).value == 1
    assert await number(host, "Async") > 1
    child = int((await host.score("Stays", {})).value)
    with pytest.raises(UserCodeFailed, match="exit code 5"):
        await host.score("Leaves", {})
    await host.close()
    assert await gone(child)


async def number(host: UserCodeHost, name: str) -> float:
    return float((await host.score(name, {})).value)


async def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return True
        await asyncio.sleep(0.05)
    return False


async def test_patched_modules_are_the_workers_own_trouble(bench: Bench) -> None:
    host = await load(
        bench,
        a_metric(
            """
            json.dumps = lambda *a, **k: "nonsense"
            time.sleep = print = len = None
            sys.stdout = sys.stderr = None
            return QuantResult(name="x", value=1)
            """
        ),
    )
    with pytest.raises(UserCodeFailed):
        await host.score("Bad", {})
    assert (await host.score("Good", {"profile": "0"})).value == 4


async def test_no_token_of_ours_is_within_reach(bench: Bench) -> None:
    file = bench.write("metrics.py", "")
    look = "return QuantResult(name='x', value=1, reason=json.dumps(dict(os.environ)) + str(sys.argv) + str(os.listdir('/proc/self/fd')))"
    file.write_text(
        HEAD + a_metric(look) + a_metric("sys.stdin.read()\nreturn QuantResult(name='x', value=1)", name="Reads")
    )
    secrets = {
        "INPUT_API-KEY": "canary-1",
        "ACTIONS_RUNTIME_TOKEN": "canary-2",
        "GITHUB_TOKEN": "canary-3",
        "GITHUB_OUTPUT": "canary-4",
    }
    with (bench.folder / "secret.txt").open("w"):
        host = await bench.host(environment={**os.environ, **secrets, "MINE": "kept"})
        await host.load_metrics([file])
        seen = (await host.score("Bad", {})).reason or ""
    assert "kept" in seen
    assert "canary" not in seen
    assert "canary" not in Path(f"/proc/{os.getpid()}/cmdline").read_text()
    assert (await host.score("Reads", {})).value == 1


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_our_own_environment_is_closed_to_other_processes(tmp_path: Path) -> None:
    look = "return QuantResult(name='x', value=1, reason=open(f'/proc/{os.getppid()}/environ').read())"
    (tmp_path / "metrics.py").write_text(HEAD + a_metric(look))
    run = subprocess.run(
        [sys.executable, str(a_run(tmp_path))],
        preexec_fn=drop_capabilities,
        env={**os.environ, "INPUT_API-KEY": "canary"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "metric 'Bad': PermissionError" in run.stderr
    assert "canary" not in run.stdout + run.stderr


def drop_capabilities() -> None:
    # As in a container, where root has none of these: CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON.
    drop_from_bounding_set = 24
    for capability in (19, 21, 38):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0)


async def test_many_open_files_are_not_in_the_way(bench: Bench) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2_500
    if hard < wanted:
        pytest.skip("too few file descriptors allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(2_000)]
    try:
        host = await load(bench, a_metric("return QuantResult(name='x', value=len(os.listdir('/proc/self/fd')))"))
        assert await number(host, "Bad") < 20
        await host.close()
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_nothing_is_left_behind(bench: Bench) -> None:
    before = open_files()
    host = await load(
        bench, a_metric("os._exit(3)"), a_metric("return QuantResult(name='x', value=os.getpid())", name="Pid")
    )
    pids = [int((await host.score("Pid", {})).value)]
    for _ in range(3):
        with pytest.raises(UserCodeFailed):
            await host.score("Bad", {})
    pids.append(int((await host.score("Pid", {})).value))
    await host.close()
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()
    assert open_files() == before


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def a_run(folder: Path) -> Path:
    """A script that lets the metric `Bad` score once."""
    script = folder / "run.py"
    script.write_text(
        dedent(
            f"""
            import asyncio, os, sys
            from pathlib import Path
            from arksim_ci.user_code.host import UserCodeHost

            async def ask(*_): ...

            async def main():
                log = lambda line: print(line, flush=True)
                host = UserCodeHost(Path(sys.executable), os.environ, ask_llm=ask, call_timeout_seconds=60, log=log)
                await host.start()
                try:
                    await host.load_metrics([Path({str(folder / "metrics.py")!r})])
                    await host.score("Bad", {{}})
                finally:
                    await host.close()

            asyncio.run(main())
            """
        )
    )
    return script


def test_a_worker_ends_when_its_host_is_killed(tmp_path: Path) -> None:
    body = "child = os.fork()\nif child: print(os.getpid(), child)\nwhile True: time.sleep(0.01)"
    (tmp_path / "metrics.py").write_text(HEAD + a_metric(body))
    host = subprocess.Popen([sys.executable, str(a_run(tmp_path))], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    pids = [int(pid) for pid in host.stdout.readline().removeprefix("user code: ").split()]
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    assert len(pids) == 2
    assert all(asyncio.run(gone(pid)) for pid in pids)


async def test_starting_is_quick(bench: Bench, bare_python: Path) -> None:
    # Loose: the machine may be busy. Alone it takes about 0.1 s.
    began = time.monotonic()
    await bench.host(python=bare_python)
    assert time.monotonic() - began < 3
