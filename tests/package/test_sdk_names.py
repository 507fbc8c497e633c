"""Names of generated SDKs: options and variables reach the schema, and the engine generates SDKs with them."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright_pulumi.package import host
from rackwright_pulumi.package.sdk_names import SDK_NAMES, VARIABLE, check_names, names_in, with_sdk_names

from tests.package.toy import ROOT

GUIDE = (ROOT / "docs" / "package.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| `--(\w+)` \| `([^`]+)` \| `([^`]+)` \|$", GUIDE, re.MULTILINE)
EXPECTED = {
    "nodejs": {"packageName": "@acme/rackwright"},
    "python": {"packageName": "acme_rackwright"},
    "go": {"modulePath": "github.com/acme/rackwright-go", "importBasePath": "github.com/acme/rackwright-go/rackwright"},
    "csharp": {"rootNamespace": "Acme"},
    "java": {"basePackage": "com.acme"},
}
SMALL = {"name": "rackwright", "version": "0.1.0", "resources": {"rackwright:index:Box": {"isComponent": True}}}


def test_the_guide_lists_every_language_with_its_example():
    assert [language for _, language, _, _ in ROWS] == list(SDK_NAMES)
    for variable, language, example, _ in ROWS:
        assert variable == VARIABLE + language.upper()
        assert example == SDK_NAMES[language].example


def test_examples_of_the_guide_are_in_the_schema():
    environment = {variable: example for variable, _, example, _ in ROWS}
    names = names_in(environment)
    check_names(names)
    assert with_sdk_names(SMALL, names) == SMALL | {"language": EXPECTED}


def test_other_settings_of_a_language_are_kept():
    schema = with_sdk_names({"language": {"nodejs": {"respectSchemaVersion": True}}}, {"nodejs": "@acme/rackwright"})
    assert schema["language"]["nodejs"] == {"respectSchemaVersion": True, "packageName": "@acme/rackwright"}


def test_empty_and_other_variables_are_ignored():
    assert names_in({"RACKWRIGHT_SDK_NODEJS": "", "RACKWRIGHT_SDK_RUBY": "x", "PATH": "/bin"}) == {}


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("nodejs", "@Acme/rackwright"),
        ("nodejs", "acme/rackwright"),
        ("nodejs", "@acme/rackwright\n"),
        ("python", "acme-rackwright"),
        ("go", "rackwright"),
        ("go", "https://github.com/acme/rackwright-go"),
        ("csharp", "acme.tools"),
        ("java", "com.acme."),
    ],
)
def test_invalid_names_are_refused_with_an_example(language, name):
    with pytest.raises(UserError) as error:
        check_names({language: name})
    (problem,) = error.value.problems
    assert (problem.code, str(problem.at)) == ("P-sdk-name", language)
    assert repr(name) in problem.reason
    assert SDK_NAMES[language].example in problem.fix


def test_the_command_of_the_guide_prints_the_schema_with_the_names():
    command = next(line for line in GUIDE.splitlines() if line.startswith("$ python -m rackwright_pulumi.package"))
    arguments = shlex.split(command.removeprefix("$ python").partition(">")[0])
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, env=_environment())
    printed = json.loads(done.stdout)
    committed = json.loads((ROOT / "docs" / "schema" / "components.json").read_text(encoding="utf-8"))
    assert printed == with_sdk_names(committed, {"nodejs": "@acme/rackwright", "go": "github.com/acme/rackwright-go"})


def test_the_command_refuses_an_invalid_name_without_a_traceback():
    arguments = ["-m", "rackwright_pulumi.package", "--go", "rackwright"]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=_environment())
    assert done.returncode == 1
    assert done.stderr.startswith("error P-sdk-name at go: 'rackwright' is not a valid Go module name")


def test_the_plugin_reads_the_variables(monkeypatch):
    started = []
    monkeypatch.setattr(host.pulumi.provider, "main", lambda package, arguments: started.append(package.sdk_names))
    monkeypatch.setenv("RACKWRIGHT_SDK_NODEJS", "@acme/rackwright")
    host.main()
    assert started == [{"nodejs": "@acme/rackwright"}]
    monkeypatch.setenv("RACKWRIGHT_SDK_NODEJS", "Acme")
    with pytest.raises(SystemExit, match="P-sdk-name"):
        host.main()


@pytest.mark.engine
@pytest.mark.parametrize(
    ("language", "file", "text"),
    [
        ("nodejs", "nodejs/package.json", '"name": "@acme/rackwright"'),
        ("go", "go/rackwright/box.go", '"github.com/acme/rackwright-go/rackwright/internal"'),
        ("python", "python/acme_rackwright/box.py", "class Box("),
    ],
)
def test_the_engine_generates_sdks_with_the_names(tmp_path, language, file, text):
    plugin = f"pulumi-language-{language}"
    if not shutil.which("pulumi") or not shutil.which(plugin):
        pytest.skip(f"pulumi or {plugin} is not on PATH")
    schema = with_sdk_names(SMALL, {language: SDK_NAMES[language].example})
    (tmp_path / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    command = ["pulumi", "package", "gen-sdk", "schema.json", "--language", language, "--out", "sdk"]
    environment = os.environ | {"PULUMI_HOME": str(tmp_path / "home"), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert text in (tmp_path / "sdk" / file).read_text(encoding="utf-8")


def _environment() -> dict[str, str]:
    folders = [str(ROOT / "blueprints"), str(ROOT / "components")]
    return {name: value for name, value in os.environ.items() if not name.startswith(VARIABLE)} | {"PYTHONPATH": os.pathsep.join(folders)}
