"""The agent's source: which files are read, what is hidden in them, and what is chosen where not all fits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arksim_ci.evaluation.functions import enclosing, span
from arksim_ci.evaluation.source_choice import SourceChoice
from arksim_ci.evaluation.source_secrets import without_secrets
from arksim_ci.evaluation.sources import MAX_FILE_BYTES, Sources, read_sources, source_root


def write(root: Path, **files: str | bytes) -> None:
    """Write files; `__` in a name stands for `/`, `_dot_` for `.`."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def names(sources: Sources) -> list[str]:
    return [file.name for file in sources.files]


def reasons(sources: Sources) -> dict[str, str]:
    return {each.name: each.reason for each in sources.skipped}


def test_files_of_any_language_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(
        tmp_path,
        src__b_dot_ts="b",
        src__a_dot_py="a",
        src__deep__prompt_dot_txt="p",
        Agent_dot_kt="k",
        other_dot_py="o",
    )
    sources = read_sources([tmp_path / "src", tmp_path / "Agent.kt", tmp_path / "src" / "a.py"], root=tmp_path)
    assert names(sources) == ["Agent.kt", "src/a.py", "src/b.ts", "src/deep/prompt.txt"]
    assert sources.notes() == []


def test_hidden_and_foreign_files_are_passed_over_without_a_word(tmp_path: Path) -> None:
    write(
        tmp_path,
        agent_dot_py="a",
        _dot_env="KEY=1",
        _dot_git__config="g",
        node_modules__x__index_dot_js="x",
        package_lock_dot_json="{}",
        uv_dot_lock="l",
        app_dot_min_dot_js="m",
        logo_dot_png=b"\x89PNG\0\0",
        server_dot_pem="key",
        empty_dot_py="",
        venv__a_dot_py="v",
    )
    (tmp_path / "package_lock.json").rename(tmp_path / "package-lock.json")
    sources = read_sources([tmp_path], root=tmp_path)
    assert names(sources) == ["agent.py"]
    assert sources.notes() == []
    assert reasons(sources) == {
        ".env": "hidden",
        ".git": "hidden",
        "node_modules": "made by a tool, or somebody else's",
        "venv": "made by a tool, or somebody else's",
        "package-lock.json": "made by a tool",
        "uv.lock": "made by a tool",
        "app.min.js": "made by a tool",
        "logo.png": "not text in UTF-8",
        "server.pem": "holds keys",
    }


def test_what_is_named_and_not_read_is_said_with_the_reason(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    write(root, agent_dot_py="a", _dot_env="KEY=1", huge_dot_py="x" * (MAX_FILE_BYTES + 1), latin_dot_py=b"# \xe9\n")
    write(tmp_path, outside_dot_py="o")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / "dangling.py").symlink_to(tmp_path / "nothing.py")
    os.mkfifo(root / "pipe")
    given = [root / name for name in ("agent.py", ".env", "huge.py", "latin.py", "link.py", "dangling.py", "pipe")]
    sources = read_sources([*given, tmp_path / "outside.py"], root=root)
    assert names(sources) == ["agent.py"]
    assert reasons(sources) == {
        ".env": "hidden",
        "huge.py": "larger than 500 kB",
        "latin.py": "not text in UTF-8",
        "link.py": "outside of the repository",
        "dangling.py": "can't be read: No such file or directory",
        "pipe": "not a regular file",
    }
    (note,) = sources.notes()
    assert note.startswith("Not read for code fixes: .env (hidden), huge.py (larger than 500 kB), ")
    assert note.endswith(" and 1 more.")


def test_links_count_as_what_they_lead_to(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    write(root, src__agent_dot_py="a", lib__help_dot_py="h", _dot_env="KEY=1")
    write(tmp_path, secret__keys_dot_py="k")
    (root / "src" / "same.py").symlink_to("agent.py")
    (root / "src" / "lib").symlink_to("../lib")
    (root / "src" / "loop").symlink_to("..")
    (root / "src" / "out").symlink_to(tmp_path / "secret")
    (root / "src" / "env.txt").symlink_to("../.env")
    sources = read_sources([root / "src"], root=root)
    assert names(sources) == ["lib/help.py", "src/agent.py"]
    assert reasons(sources)["src/out"] == "a link out of the repository"
    assert reasons(sources)["src/env.txt"] == "hidden"
    assert sources.notes() == ["Not read for code fixes: src/out (a link out of the repository)."]


def test_the_test_s_own_files_are_no_source(tmp_path: Path) -> None:
    write(tmp_path, agent_dot_py="a", scenarios_dot_json="{}", results__verdict_dot_json="{}")
    sources = read_sources([tmp_path], root=tmp_path, leave_out=[tmp_path / "scenarios.json", tmp_path / "results"])
    assert names(sources) == ["agent.py"]
    assert reasons(sources) == {"scenarios.json": "a file of the test itself", "results": "a file of the test itself"}


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert read_sources([tmp_path / "src"], root=tmp_path).notes() == [
        "There are no code fixes: nothing of code_file_path and code_paths could be read, there is no source file in them."
    ]
    assert Sources().notes() == []


def test_line_ends_and_lines_are_kept(tmp_path: Path) -> None:
    write(tmp_path, a_dot_py="a\r\n\tb\n\x0cc\r", b_dot_py="x\n")
    first, second = read_sources([tmp_path], root=tmp_path).files
    assert (first.text, first.shown) == ("a\r\n\tb\n\x0cc\r", ("a", "\tb", "\x0cc\r"))
    assert second.shown == ("x",)


def test_names_start_at_the_repository_of_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "repo" / "arksim" / "config.yaml"
    write(tmp_path, repo__arksim__config_dot_yaml="", repo__src__agent_dot_py="")
    agent = tmp_path / "repo" / "src" / "agent.py"
    assert source_root(config, tmp_path / "repo", [agent]) == tmp_path / "repo"
    assert source_root(config, tmp_path / "repo" / "arksim", [agent]) == tmp_path / "repo"
    assert source_root(config, tmp_path, [agent]) == tmp_path
    (tmp_path / "repo" / ".git").mkdir()
    assert source_root(config, tmp_path, [agent]) == tmp_path / "repo"


HIDDEN = [
    ('KEY = "sk-proj-0123456789abcdefghij"', "sk-proj-0123456789abcdefghij"),
    ("token: ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ("id = AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("g = 'AIzaSyA0123456789abcdefghijklmnopqrstuv'", "AIzaSyA0123456789abcdefghijklmnopqrstuv"),
    ('password = "hunter2"', "hunter2"),
    ("db_password: str = 'hunter2'", "hunter2"),
    ('const apiKey = "hunter2";', "hunter2"),
    ('"client_secret": "hunter2",', "hunter2"),
    ("{'X-Api-Key': 'hunter2'}", "hunter2"),
    ('if token == "hunter2":', "hunter2"),
    ('os.environ.get("DB_PASSWORD", "hunter2")', "hunter2"),
    ('connect(user="me", password="hunter2")', "hunter2"),
    ('headers["Authorization"] = "Bearer abcdefghijklmnop"', "abcdefghijklmnop"),
    ("curl -H 'Authorization: Bearer abcdefghijklmnop'", "abcdefghijklmnop"),
    ('URL = "postgres://me:hunter2@db/shop"', "hunter2"),
    ('SALT = "0f9e8d7c6b5a49382716050f9e8d7c6b"', "0f9e8d7c6b5a49382716050f9e8d7c6b"),
    ('jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc"', "eyJzdWIiOiIxMjM0In0"),
    ('secret = """hunter2"""', "hunter2"),
]
KEPT = [
    'PASSWORD_RESET = "Use the link in your e-mail to set a new password."',
    "token = request.headers.token",
    'api_key = os.environ["API_KEY"]',
    'password = ""',
    'api_key: "${API_KEY}"',
    "token = f\"{user.token}\"",
    'max_tokens = 500',
    'answer = "You can return shoes within 45 days."',
    'PATH = "/srv/agents/support/knowledge/returns-and-exchanges.md"',
    'sorted(items, key="name")',
]  # fmt: skip


@pytest.mark.parametrize(("line", "secret"), HIDDEN)
def test_what_looks_like_a_secret_is_not_shown(line: str, secret: str) -> None:
    (shown,) = without_secrets([line], "agent.py", str)
    assert secret not in shown
    assert "***" in shown


@pytest.mark.parametrize("line", KEPT)
def test_other_lines_are_shown_as_they_are(line: str) -> None:
    assert without_secrets([line], "agent.py", str) == (line,)


def test_a_key_of_several_lines_is_hidden_and_the_lines_still_count() -> None:
    lines = [
        "A = 1",
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA",
        "",
        "abc",
        "-----END RSA PRIVATE KEY-----",
        "B = 2",
    ]
    shown = without_secrets(lines, "agent.py", str)
    assert shown == ("A = 1", lines[1], "***", "", "***", lines[5], "B = 2")


def test_settings_hold_secrets_without_quotation_marks() -> None:
    lines = ["db:", "  password: hunter2  # old", "  token:", "    name: x", "  secret: ${SECRET}"]
    shown = without_secrets(lines, "settings.yaml", str)
    assert shown == ("db:", "  password: ***  # old", "  token:", "    name: x", "  secret: ${SECRET}")


def test_the_run_s_own_secrets_are_replaced_wherever_they_stand(tmp_path: Path) -> None:
    write(tmp_path, agent_dot_py='A = 1\nB = "the magic word"\n')
    (file,) = read_sources([tmp_path], root=tmp_path, redact=lambda line: line.replace("magic word", "***")).files
    assert file.shown == ("A = 1", 'B = "the ***"')
    assert file.hidden == {2}
    assert "magic word" in file.text


def choice(root: Path, characters: int = 48_000, entry: str | None = None) -> SourceChoice:
    return SourceChoice(read_sources([root], root=root, entry_function=entry), characters)


def blocks(*subjects: str) -> str:
    """Functions of 12 lines, each about one subject."""
    filler = "".join(f"    step_{number} = {number}\n" for number in range(9))
    return "".join(f"def {subject}(order):\n{filler}    return '{subject}'\n\n" for subject in subjects)


def test_source_that_fits_is_shown_whole(tmp_path: Path) -> None:
    write(tmp_path, a_dot_py=blocks("returns", "refunds"), b_dot_py="B = 1\n")
    chosen = choice(tmp_path)
    assert [(each.file, each.first_line) for each in chosen.excerpts("anything")] == [("a.py", 1), ("b.py", 1)]
    assert chosen.notes() == []


def test_what_does_not_fit_is_chosen_by_what_the_error_speaks_of(tmp_path: Path) -> None:
    write(
        tmp_path,
        a_dot_py=blocks(*(f"topic_{letter}" for letter in "abcdefgh"), "refunds", "greeting"),
        b_dot_py=blocks("cancel"),
    )
    chosen = choice(tmp_path, 900)
    (excerpt, *_) = [
        each for each in chosen.excerpts("The agent names a wrong time for the refund.") if "refunds" in each.text
    ]
    assert excerpt.file == "a.py"
    lines = (tmp_path / "a.py").read_text(encoding="utf-8").split("\n")
    assert excerpt.text.split("\n")[0] == lines[excerpt.first_line - 1]
    (note,) = chosen.notes()
    assert note.startswith("The agent's source does not fit into one request: for code fixes, ")
    assert "of 132 lines in" in note


def test_the_entry_function_comes_first(tmp_path: Path) -> None:
    write(tmp_path, a_dot_py=blocks("refunds", "returns", "zebra"))
    (excerpt,) = choice(tmp_path, 500, entry="Agent.zebra").excerpts("refunds refunds")
    assert "def zebra" in excerpt.text


def test_an_entry_function_that_is_nowhere_is_said(tmp_path: Path) -> None:
    write(tmp_path, a_dot_py="A = 1\n")
    chosen = choice(tmp_path, entry="main")
    chosen.excerpts("")
    assert chosen.notes() == ['The entry_function "main" is not defined in the source that was read.']


def test_the_choice_is_the_same_every_time(tmp_path: Path) -> None:
    write(tmp_path, a_dot_py=blocks(*"abcdefgh"), b_dot_py=blocks(*"ijklmnop"))
    assert choice(tmp_path, 1_500).excerpts("word") == choice(tmp_path, 1_500).excerpts("word")


CODE = {
    "python": ("class Agent:\n    def answer(\n        self,\n    ) -> str:\n        if x:\n            return 1\n\nZ = 1\n", 6, "Agent.answer", (2, 6)),
    "typescript": ("export class Agent {\n  async answer(message: string): Promise<string> {\n    return 'x'\n  }\n}\n", 3, "Agent.answer", (2, 4)),
    "arrow": ("const answer = async (message) => {\n  return 1\n}\n", 2, "answer", (1, 3)),
    "go": ("func (a *Agent) answer(m string) string {\n\treturn m\n}\n", 2, "answer", (1, 3)),
    "rust": ("impl Agent {\n    pub fn answer(&self) -> u32 {\n        45\n    }\n}\n", 3, "Agent.answer", (2, 4)),
    "java": ("class Agent {\n  public String answer(String m) {\n    return m;\n  }\n}\n", 3, "Agent.answer", (2, 4)),
    "ruby": ("def answer\n  45\nend\n", 2, "answer", (1, 2)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "name", "lines"), CODE.values(), ids=CODE.keys())
def test_functions_are_found_in_the_usual_languages(text: str, line: int, name: str, lines: tuple[int, int]) -> None:
    assert enclosing(text.split("\n"), line) == name
    assert span(text.split("\n"), "answer") == lines


@pytest.mark.parametrize(
    ("text", "line"), [("A = 1\n", 1), ("", 1), ("\n\n", 2), ("if x:\n  y\n", 2), ("# def f():\n  x", 2)]
)
def test_outside_of_a_function_there_is_none(text: str, line: int) -> None:
    assert enclosing(text.split("\n"), line) is None
    assert span(text.split("\n"), "answer") is None
