"""One invented token per form of each issuer, in env, args, command, tags and URIs: refused by V-114, and never printed."""

import copy
import json
import time

import pytest
import yaml
from pydantic import ValidationError
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.render import render
from rackwright.diagnostics.secrets import ISSUERS, has_token, without_tokens
from rackwright.spec import examine
from rackwright.spec.reading.inventory_file import read_inventory
from rackwright.spec.workload_parts import Loras

from tests.properties import samples

A, X, D = "Ab3dEf6hIj9kLm2nOp5q" * 5, "0a1b2c3d4e5f6789" * 8, "4821095736" * 3
CORPUS = {
    "hugging-face": ["hf_" + A[:34], "api_org_" + A[:34]],
    "amazon": ["AKIA" + "Z7Q4M2X9K5W3R8T6", "ASIA" + "Z7Q4M2X9K5W3R8T6"],
    "github": ["ghp_" + A[:36], "ghs_" + A[:36], "github_pat_" + A[:82]],
    "gitlab": ["glpat-" + A[:20], "glrt-" + A[:20], "gldt-" + A[:20], "glcbt-64_" + A[:20]],
    "openai-anthropic": ["sk-" + A[:48], "sk-proj-" + A[:60], "sk-ant-api03-" + A[:90]],
    "google": ["AIza" + A[:35], "GOCSPX-" + A[:28], "ya29." + A[:60]],
    "slack": ["xoxb-" + D[:12] + "-" + A[:24], "xapp-1-" + A[:30], "https://hooks.slack.com/services/T0AB12CD3/B0AB12CD3/" + A[:24]],
    "discord": ["https://discord.com/api/webhooks/" + D[:18] + "/" + A[:68]],
    "teams": ["https://acme.webhook.office.com/webhookb2/" + A[:36] + "@" + A[:36] + "/IncomingWebhook/" + X[:32]],
    "nvidia": ["nvapi-" + A[:64]],
    "vault": ["hvs." + A[:90], "hvb." + A[:90]],
    "terraform-cloud": [A[:14] + ".atlasv1." + A[:60]],
    "pypi": ["pypi-AgEIcHlwaS5vcmc" + A[:60]],
    "npm": ["npm_" + A[:36]],
    "stripe": ["sk_" + "live_" + A[:24], "rk_" + "live_" + A[:24], "whsec_" + A[:32]],
    "azure": ["DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=" + A[:86] + "==", "abc8Q~" + A[:34]],
    "digitalocean": ["dop_v1_" + X[:64]],
    "databricks": ["dapi" + X[:32]],
    "docker": ["dckr_pat_" + A[:27]],
    "pulumi": ["pul-" + X[:40]],
    "sendgrid": ["SG." + A[:22] + "." + A[:43]],
    "grafana": ["glsa_" + A[:32] + "_" + X[:8]],
    "groq": ["gsk_" + A[:52]],
    "replicate": ["r8_" + A[:37]],
    "weights-and-biases": ["wandb_v1_" + A[:40]],
    "telegram": [D[:10] + ":AA" + A[:33]],
    "private-key": ["-----BEGIN OPENSSH PRIVATE KEY-----", "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN" * 2],
    "json-web-token": ["eyJ" + A[:20] + ".eyJ" + A[:40] + "." + A[:43]],
    "header": ["Authorization: Bearer " + A[:40], "Authorization: Basic " + A[:40]],
    "user-in-uri": ["https://user:" + A[:20] + "@example.com/x", "https://" + A[:40] + "@example.com/x"],
    "query-of-uri": [
        "https://acme.blob.core.windows.net/models/x?sv=2024-11-04&sig=" + A[:40] + "%3D",
        "https://example.com/x?token=" + A[:20],
        "https://bucket.s3.amazonaws.com/x?X-Amz-Signature=" + X[:64],
    ],
}
TOKENS = [(issuer, token) for issuer, tokens in CORPUS.items() for token in tokens]
SPEC = """\
api_version: rackwright/v1
name: demo
workloads:
  - name: sft
    kind: finetune
    model: {base: llama-3.1-8b}
    data: {samples: 1000, tokens_per_sample: 500, uri: URI}
    run: RUN
infra: {any_of: [{cloud: aws, regions: [us-east-1]}]}
tags: TAGS
"""
PLACES = {
    "env": ("s3://bucket/x", "{env: {ENDPOINT: 'SECRET'}}", "{}"),
    "args": ("s3://bucket/x", "{args: [serve, 'SECRET']}", "{}"),
    "option": ("s3://bucket/x", "{args: ['--endpoint=SECRET']}", "{}"),
    "command": ("s3://bucket/x", "{command: [sh, -c, 'run SECRET']}", "{}"),
    "uri": ("'SECRET'", "{}", "{}"),
    "path of a uri": ("'https://example.com/SECRET'", "{}", "{}"),
    "tag": ("s3://bucket/x", "{}", "{note: 'SECRET'}"),
}


def spec(place: str, secret: str) -> str:
    uri, run, tags = PLACES[place]
    return SPEC.replace("URI", uri).replace("RUN", run).replace("TAGS", tags).replace("SECRET", secret)


def everything_printed(text: str) -> tuple[set[str], str]:
    """Codes, and the text, JSON and exception of every problem."""
    problems = examine(text).problems
    printed = render(problems, text, "spec.yaml") + json.dumps([p.as_json() for p in problems]) + str(UserError(problems))
    return {problem.code for problem in problems}, printed


def _leaves(tree: object, at: tuple = ()):
    """Every text of a tree: its path, holder and key."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(value, (dict, list)):
            yield from _leaves(value, (*at, key))
        elif isinstance(value, str):
            yield (*at, key), tree, key


def test_a_token_in_any_text_of_a_spec_is_refused():
    token, seen = CORPUS["hugging-face"][0], set()
    for sample in samples.SPECS.values():
        tree = copy.deepcopy(sample)
        for at, holder, key in [*_leaves(tree)]:
            if (path := tuple(step for step in at if isinstance(step, str))) in seen:
                continue
            seen.add(path)
            before, holder[key] = holder[key], f"{holder[key]}/{token}"
            codes, printed = everything_printed(yaml.safe_dump(tree))
            holder[key] = before
            assert codes, at
            assert token not in printed, at
    assert len(seen) > 80


@pytest.mark.parametrize("name", samples.INVENTORIES)
def test_a_token_in_any_text_of_an_inventory_is_refused(name, tmp_path):
    token, path = CORPUS["hugging-face"][0], tmp_path / "inventory.yaml"
    tree = copy.deepcopy(samples.inventory(name))
    for at, holder, key in [*_leaves(tree)]:
        before, holder[key] = holder[key], token
        path.write_text(yaml.safe_dump(tree), encoding="utf-8")
        holder[key] = before
        with pytest.raises(UserError, match="contains a secret in plain text") as refused:
            read_inventory(path)
        assert token not in str(refused.value), at


def test_every_issuer_has_examples():
    assert CORPUS.keys() == ISSUERS.keys()


@pytest.mark.parametrize(("issuer", "token"), TOKENS, ids=lambda value: value[:14])
def test_a_token_is_refused_everywhere_and_never_printed(issuer, token):
    for place in PLACES:
        if place.endswith("uri") and (" " in token or (place == "uri" and "://" not in token)):
            continue  # no URI
        for disturbance in ("", "bad: ["):
            text = spec(place, token) + disturbance
            codes, printed = everything_printed(text)
            assert disturbance or "V-114" in codes, (place, codes)
            assert token not in printed, (place, disturbance)
            assert token[-12:] not in printed, (place, disturbance)


@pytest.mark.parametrize(
    "args",
    [
        "['--api-key=s3cr3t-value']",
        "[--api-key, s3cr3t-value]",
        "['--hf_token=s3cr3t-value']",
        "[--password, s3cr3t-value]",
        "[sh, -c, 'export WANDB_API_KEY=s3cr3t-value; run']",
        "[sh, -c, 'vllm serve x --api-key=s3cr3t-value']",
        "['https://example.com/x?api_key=s3cr3t-value']",
        "[sh, -c, 'vllm serve x --api-key s3cr3t-value']",
        "['--password s3cr3t-value']",
        "['--password \"s3cr3t-value\"']",
    ],
)
def test_an_option_with_a_secret_name_is_refused_and_not_printed(args):
    for key in ("args", "command"):
        codes, printed = everything_printed(SPEC.replace("URI", "s3://b/x").replace("RUN", f"{{{key}: {args}}}").replace("TAGS", "{}"))
        assert "V-114" in codes
        assert "s3cr3t-value" not in printed


@pytest.mark.parametrize(
    "args",
    [
        "['--api-key=$(API_KEY)']",
        "[--api-key, $API_KEY]",
        "[sh, -c, 'serve --api-key \"$API_KEY\" --token /run/secrets/token']",
        "['--tokenizer=meta-llama/Llama-3.1-8B', '--max-num-batched-tokens=8192']",
        "['--pad-token=<pad>', '--eos-token=stop', --mask-token, mask]",
        "[--token, /run/secrets/token]",
        "['--key=name', --use-auth-token=true]",
        "['--revision=0123456789abcdef0123456789abcdef01234567']",
        "['s3://bucket/path/model-00001-of-00030.safetensors', sha256:" + X[:64] + "]",
    ],
)
def test_ordinary_arguments_are_accepted(args):
    codes, _ = everything_printed(SPEC.replace("URI", "s3://b/x").replace("RUN", f"{{args: {args}}}").replace("TAGS", "{}"))
    assert "V-114" not in codes


def test_a_long_line_is_searched_in_linear_time():
    for text in (
        "a" * 200_000,
        "Account" * 30_000,
        "https://" * 25_000,
        "sk-" * 60_000,
        "x=" * 100_000,
        "?key=" * 40_000,
        "://a:" * 40_000,
    ):
        start = time.process_time()
        has_token(text)
        without_tokens(text)
        assert time.process_time() - start < 2, text[:10]


@pytest.mark.parametrize("uri", ["s3://bucket/*", "s3://bucket*/x", "s3://${BUCKET}/x", "s3://bucket/$(DATE)", "gs://$BUCKET/x"])
def test_a_uri_has_no_wildcards_and_variables(uri):
    problems = examine(SPEC.replace("URI", f"'{uri}'").replace("RUN", "{}").replace("TAGS", "{}")).problems
    (problem,) = [problem for problem in problems if problem.code == "S-110"]
    assert str(problem.at) == "workloads[0].data.uri"
    assert uri in problem.reason


@pytest.mark.parametrize("uri", ["weights://../x", "weights://a/../../x", "hf://../..", "hf://acme/..", "weights://a/.."])
def test_an_adapter_is_below_its_folder(uri):
    with pytest.raises(ValidationError):
        Loras.model_validate({"adapters": {"sql": uri}})
    assert Loras.model_validate({"adapters": {"sql": "weights://adapters/sql-v1.2", "mail": "hf://acme/mail_lora"}})
