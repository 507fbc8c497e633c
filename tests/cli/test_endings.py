"""tests/cases/cli: what is typed, and how it must end. Each runs as text and with --json, and must leave nothing behind."""

from pathlib import Path

import pytest
import yaml

CASES = sorted((Path(__file__).parents[1] / "cases" / "cli").glob("*.yaml"))


def laid_out(case: dict, folder: Path) -> set[Path]:
    """Makes the case's files and folders; returns everything that is there before the command runs."""
    for name, content in case.get("files", {}).items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, size in case.get("sizes", {}).items():
        (folder / name).write_bytes(b"#" * size)
    for name in case.get("folders", ()):
        (folder / name).mkdir()
    for name, changes in case.get("change", {}).items():
        path = folder / name
        text = path.read_text(encoding="utf-8")
        for old, new in changes.items():
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    return set(folder.rglob("*"))


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path, as_json, rackwright, stacks):
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    before = laid_out(case, stacks)
    said = rackwright(*(["--json"] * as_json if not case["args"] else [case["args"][0], *["--json"] * as_json]), *case["args"][1:])
    assert said.status == case["status"], said.out + said.err
    assert "Traceback" not in said.out + said.err
    assert set(stacks.rglob("*")) == before, "something was written"
    if as_json and case["args"]:
        assert not said.err
        shown = {problem["code"] for problem in said.json.get("problems", ())}
        assert set(case.get("codes", ())) <= shown
    elif case.get("codes") and "U-usage" not in case["codes"]:
        assert not said.out
        assert all(code in said.err for code in case["codes"])
        assert len(said.widest) <= 100
    text = " ".join((said.out + said.err).split())
    for fragment in case.get("says", ()):
        assert fragment in text
