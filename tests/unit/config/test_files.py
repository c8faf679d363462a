from __future__ import annotations

import re
from pathlib import Path

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.config.files import MAX_CONFIG_BYTES, parse_yaml, read_json, read_yaml


def yaml_error(tmp_path: Path, content: str | bytes) -> str:
    return file_error(tmp_path / "config.yaml", content)


def json_error(tmp_path: Path, content: str | bytes) -> str:
    return file_error(tmp_path / "data.json", content)


def file_error(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError) as caught:
        (read_yaml if path.suffix == ".yaml" else read_json)(path)
    text = str(caught.value)
    assert str(path) in text
    return text.replace(f"{path.parent}/", "")


def test_yaml_values_are_those_of_arksims_reader() -> None:
    text = (
        "a: yes\nb: 'yes'\nc: 0777\nd: 1_000\ne: 1e3\nf: ~\ng: 2024-01-02\nh: 0x1F\ni: -1.5\nj: 12:30\nk: no\nl: 00a\n"
    )
    assert parse_yaml(text, "x").value == {
        "a": True,
        "b": "yes",
        "c": 511,
        "d": 1000,
        "e": 1000.0,
        "f": None,
        "g": "2024-01-02",
        "h": 31,
        "i": -1.5,
        "j": "12:30",
        "k": False,
        "l": "00a",
    }


def test_yaml_knows_the_line_of_every_key_and_item() -> None:
    document = parse_yaml("a: 1\nb:\n  c:\n    - x\n    - y\n  d: {e: 2}\n", "x")
    assert document.line(("a",)) == 1
    assert document.line(("b", "c", 1)) == 5
    assert document.line(("b", "d", "e")) == 6
    assert document.line(("b", "d", "unknown")) == 6
    assert document.line(("unknown",)) is None


def test_yaml_anchors_and_merge_keys_work_as_people_use_them() -> None:
    text = "base: &base {a: 1, b: 2}\nuse:\n  <<: *base\n  b: 3\nlist: [*base]\n"
    assert parse_yaml(text, "x").value == {
        "base": {"a": 1, "b": 2},
        "use": {"a": 1, "b": 3},
        "list": [{"a": 1, "b": 2}],
    }


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_utf8_byte_order_mark_is_skipped(tmp_path: Path, line_end: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + f"a: 1{line_end}b: é{line_end}".encode())
    assert read_yaml(path).value == {"a": 1, "b": "é"}
    data = tmp_path / "data.json"
    data.write_bytes(b"\xef\xbb\xbf" + b'{"a": 1}')
    assert read_json(data).value == {"a": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "config.yaml:3: a: this key stands twice, first in line 1"),
        ("a:\n  b: 1\n  b: 2\n", "config.yaml:3: a.b: this key stands twice, first in line 2"),
        ("a: 1\n---\nb: 2\n", "config.yaml:2: a second YAML document begins here (`---`); only one is read"),
        ("a: 1\nb: .nan\n", "config.yaml:2: b: .nan is not a finite number"),
        ("b: -.inf\n", "config.yaml:1: b: -.inf is not a finite number"),
        ("b: 1e999\n", "config.yaml:1: b: the number is too large"),
        ("a: 1\nb: " + "9" * 5000, "config.yaml:2: b: the number has too many digits"),
        ("a: [1,\n", "config.yaml:2: is not valid YAML: did not find expected node content"),
        ("a: b: c\n", "config.yaml:1: is not valid YAML: mapping values are not allowed in this context"),
        ("a:\n\tb: 1\n", "; indent with spaces"),
        ("a: 1\nb: *nothing\n", "config.yaml:2: is not valid YAML: found undefined alias"),
        ("a: x\x07y\n", "config.yaml:1: is not valid YAML: it holds a control character"),
        ("a: 1\nb: {<<: 3}\n", "config.yaml:2: b: `<<` merges mappings only"),
        ("? [a, b]\n: 1\n", "config.yaml:1: a key must be text"),
        ("a: !!python/object/apply:os.system ['true']\n", "config.yaml:1: YAML tags (!!python/object/apply:os.system)"),
        ("a: !secret x\n", "config.yaml:1: YAML tags (!secret) are not supported"),
        (b"\xff\xfea\x00:\x00", "config.yaml: is encoded in UTF-16; save it as UTF-8"),
        (b"\x7fELF\x00\x01", "config.yaml: is a binary file"),
        (b"a: 1\nb: \xe9\n", "config.yaml:2: is not UTF-8 text"),
    ],
)
def test_yaml_that_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert message in yaml_error(tmp_path, content)


def test_every_duplicate_and_bad_number_of_a_file_is_reported(tmp_path: Path) -> None:
    text = yaml_error(tmp_path, "a: 1\na: 2\nb: .inf\nb: 2\n")
    assert [line.split(":")[1] for line in text.splitlines()] == ["2", "3", "4"]


def test_a_yaml_bomb_is_refused_quickly(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "holds more than 100,000 values" in yaml_error(tmp_path, "\n".join(lines))


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a\n  b: *a\n", "[" * 10_000, "{a: " * 10_000, "- " * 5_000])
def test_endless_and_deep_yaml_is_refused(tmp_path: Path, text: str) -> None:
    assert re.search("is nested more than 50 levels deep|exceeded maximum nesting depth", yaml_error(tmp_path, text))


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    assert "is larger than 10 MB" in yaml_error(tmp_path, b"#" * (MAX_CONFIG_BYTES + 1))


def test_a_syntax_error_does_not_repeat_the_file(tmp_path: Path) -> None:
    assert "sk-secret" not in yaml_error(tmp_path, "key: 'sk-secret-value\n")


def test_a_missing_file_names_the_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("a: 1", encoding="utf-8")
    with pytest.raises(ConfigError, match=r'there is no such file; did you mean "config\.yml"\?'):
        read_yaml(tmp_path / "config.yaml")
    with pytest.raises(ConfigError, match="its folder does not exist either"):
        read_yaml(tmp_path / "nowhere" / "config.yaml")
    with pytest.raises(ConfigError, match="this is a folder"):
        read_yaml(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{\n "a": 1,\n}',
            "data.json:3: is not valid JSON: expecting property name enclosed in double quotes, at column 1",
        ),
        ('{"a": [1, 2', "the file ends too early"),
        ("", "data.json:1: is not valid JSON: expecting value; the file is empty, at column 1"),
        ('{"a": 1}\n{"b": 2}', "data.json:2: is not valid JSON: extra data"),
        ('{"a": 1,\n "b": {"c": 1,\n "c": 2}}', "data.json:3: b.c: this key stands twice, first in line 2"),
        ('{"a":\n NaN}', "data.json:2: NaN is not a number that JSON can hold"),
        ('{"a": [1,\n -Infinity]}', "data.json:2: -Infinity is not a number"),
        ('{"a": 1e999}', "data.json:1: 1e999 is not a number"),
        ('{"a": ' + "9" * 5000 + "}", "99999999999999999999 is not a number"),
        ('{"a":\n "\\ud83d"}', "data.json:2: holds half of a character pair"),
        ("[" * 200 + "]" * 200, "is nested more than 100 levels deep"),
        ("[" * 100_000, "is nested more than 100 levels deep"),
        (b"\xfe\xff\x00{", "is encoded in UTF-16"),
    ],
)
def test_json_that_is_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert message in json_error(tmp_path, content)


def test_json_knows_the_line_of_every_key_and_item(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(
        '{"a": [\n {"b": "x, {[ \\" y",\n "c": []},\n {}],\n "d\\u0065": "\\ud83d\\ude00"}', encoding="utf-8"
    )
    document = read_json(path)
    assert document.line(("a", 0)) == 2
    assert document.line(("a", 0, "c")) == 3
    assert document.line(("a", 1)) == 4
    assert document.line(("de",)) == 5
    assert document.line(("a", 1, "missing")) == 4
