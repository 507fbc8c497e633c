"""tests/cases/cli: arguments and expected exit status. Each case runs as text and with --json, and must write no files."""

from pathlib import Path

import pytest
import yaml

CASES = sorted((Path(__file__).parents[1] / "cases" / "cli").glob("*.yaml"))


def create_files(case: dict, folder: Path) -> set[Path]:
    """Creates the files and folders of a case and returns all paths in the folder."""
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
def test_exit_status(path, as_json, rackwright, stacks):
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    before = create_files(case, stacks)
    result = rackwright(*(["--json"] * as_json if not case["args"] else [case["args"][0], *["--json"] * as_json]), *case["args"][1:])
    assert result.status == case["status"], result.out + result.err
    assert "Traceback" not in result.out + result.err
    assert set(stacks.rglob("*")) == before, "something was written"
    if as_json and case["args"]:
        assert not result.err
        shown = {problem["code"] for problem in result.json.get("problems", ())}
        assert set(case.get("codes", ())) <= shown
    elif case.get("codes") and "U-usage" not in case["codes"]:
        assert not result.out
        assert all(code in result.err for code in case["codes"])
        assert len(result.widest) <= 100
    text = " ".join((result.out + result.err).split())
    for fragment in case.get("says", ()):
        assert fragment in text
