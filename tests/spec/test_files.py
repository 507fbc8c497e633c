"""A file that is not readable text of at most the maximum size is refused with one problem, and is not parsed."""

import os
import time

import pytest
import rackwright
from rackwright import files
from rackwright.diagnostics.errors import UserError
from rackwright.spec import examine, examine_file, load, read
from rackwright.spec.reading import tree as tree_module

FINE = """\
api_version: rackwright/v1
name: demo
workloads:
  - {name: sft, kind: finetune, model: {base: llama-3.1-8b}, data: {samples: 1000, tokens_per_sample: 500}}
infra: {any_of: [{cloud: aws, regions: [us-east-1]}]}
"""


def refused(path) -> tuple[str, str]:
    with pytest.raises(UserError) as error:
        load(path)
    (problem,) = error.value.problems
    assert error.value.source == str(path)
    assert examine_file(path).problems == (problem,)
    return problem.code, f"{problem.reason}; {problem.fix}"


def test_a_file_is_loaded(tmp_path):
    path = tmp_path / "demo.yaml"
    path.write_text(FINE)
    assert load(path) == load(str(path)) == rackwright.load(path) == read(FINE)


def test_a_missing_file_is_named_with_its_neighbour(tmp_path):
    (tmp_path / "llama.yaml").write_text(FINE)
    code, said = refused(tmp_path / "lama.yaml")
    assert (code, said) == ("S-file", f"The file does not exist; did you mean {tmp_path / 'llama.yaml'}?")


def test_a_folder_is_refused(tmp_path):
    assert refused(tmp_path) == ("S-file", "The path is a directory, not a file; ")


def test_a_broken_link_is_reported_with_its_target(tmp_path):
    link = tmp_path / "link.yaml"
    link.symlink_to("gone.yaml")
    assert refused(link) == ("S-file", "The path is a link to gone.yaml, which does not exist; ")


def test_a_link_to_itself_is_refused(tmp_path):
    link = tmp_path / "link.yaml"
    link.symlink_to("link.yaml")
    assert refused(link)[0] == "S-file"


def test_a_file_in_a_file_is_refused(tmp_path):
    (tmp_path / "a.yaml").write_text(FINE)
    assert refused(tmp_path / "a.yaml" / "b.yaml")[0] == "S-file"


def test_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    assert refused(tmp_path / "pipe.yaml") == ("S-file", "The path is a device, pipe or socket, not a file; ")


def test_an_unreadable_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "secret.yaml"
    path.write_text(FINE)

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.os, "open", denied)
    assert refused(path) == ("S-file", "The file cannot be read: Permission denied; ")


def test_a_nul_in_the_path_is_refused():
    assert refused("demo\0.yaml")[0] == "S-file"


def test_ten_megabytes_are_refused_without_reading(tmp_path, monkeypatch):
    path = tmp_path / "large.yaml"
    path.write_bytes(b"- spot\n" * 1_500_000)
    monkeypatch.setattr(files.os, "open", lambda *_: pytest.fail("opened"))
    monkeypatch.setattr(tree_module, "LOADER", lambda *_: pytest.fail("parsed"))
    code, said = refused(path)
    assert code == "S-size"
    assert said.startswith("The file has 10,500,000 bytes; the maximum is 1,000,000")


def test_a_large_text_is_refused_without_parsing(monkeypatch):
    monkeypatch.setattr(tree_module, "LOADER", lambda *_: pytest.fail("parsed"))
    assert [problem.code for problem in examine("#" * 1_000_001).problems] == ["S-size"]


@pytest.mark.parametrize(
    "text", ["[" * 900_000, "- " * 400_000, "{a: " * 200_000, "a: [" + "x, " * 300_000 + "]", "? " * 400_000, "&a " * 300_000]
)
def test_a_megabyte_of_random_text_is_refused_within_seconds(text):
    start = time.process_time()
    assert {problem.code for problem in examine(text).problems} <= {"S-depth", "S-too-many", "S-syntax"}
    assert time.process_time() - start < 5


def test_aliases_are_counted_before_they_are_written_out():
    levels = "".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 200))
    start = time.process_time()
    assert [problem.code for problem in examine(f"l0: &l0 [x, x, x]\n{levels}").problems] == ["S-too-many"]
    assert time.process_time() - start < 1


def test_no_file_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("name: [")
    refused("bad.yaml")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.yaml"]


def test_dates_and_yaml_words_stay_text():
    reading = read(FINE + "tags: {owner: no, since: 2026-12-01}\n")
    assert reading.tags == {"owner": "no", "since": "2026-12-01"}
