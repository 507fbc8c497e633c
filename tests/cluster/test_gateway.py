"""One gateway for all models on a real API server, with the definitions of Envoy Gateway's chart, and the rendered chart."""

import re
import shutil

import pytest
import yaml
from rackwright_pulumi.kubernetes.objects import namespace_body

from tests.cluster.api import Api, wait_until
from tests.cluster.stacks import namespaces, objects
from tests.cluster.test_rendered import in_namespace, rendered_from
from tests.compile.found import release
from tests.compile.test_envoy_gateway import BUILD, KEYS, ZERO
from tests.render.renderers import needed_source

OPTIONS = {
    "keys": KEYS | {"rate_limit": {"requests": 600}},
    "tokens": {"oidc": {"issuer": "https://login.example.com", "audiences": ["models"], "jwks": "https://login.example.com/keys"}},
    "path": {"route_by": "path"},
}
GROUP = "gateway.envoyproxy.io/v1alpha1"


@pytest.fixture(scope="module")
def envoy(api: Api) -> Api:
    """The API with the definitions of Envoy Gateway."""
    folder = needed_source("envoy-gateway") / "charts" / "gateway-helm" / "charts" / "crds" / "crds" / "generated"
    bodies = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted(folder.glob("*.yaml"))]
    api.must_apply(*bodies)
    kinds = [body["spec"]["names"]["kind"] for body in bodies]
    assert wait_until(lambda: all(api.serves(GROUP, kind) for kind in kinds), 30)
    return api


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("target", BUILD)
def test_every_object_of_a_gateway_is_accepted(target, options, envoy):
    arguments = (OPTIONS[options],) if target == "several" else (OPTIONS[options], ZERO)
    bodies = [body for body in objects(BUILD[target](*arguments)) if body["kind"] not in ("NodePool", "EC2NodeClass")]
    spaces = sorted(namespaces(tuple(bodies)))
    envoy.must_apply(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}} for space in spaces))
    refused = {}
    for body in bodies:
        answer = envoy.apply(body, dry_run=True)
        if not answer.accepted or answer.warnings:
            refused[f"{body['kind']} {body['metadata']['name']}"] = (answer.message, answer.warnings)
    assert refused == {}


def test_the_rendered_chart_is_admitted_in_its_namespace(envoy, tmp_path):
    """The values of a release are those of the file in its repository, with the image of its version."""
    plan = BUILD["eks"]({})
    wanted = release(plan, "gateway-helm")
    chart = tmp_path / "chart"
    shutil.copytree(needed_source("envoy-gateway") / "charts" / "gateway-helm", chart, copy_function=shutil.copyfile)
    for folder in (chart, chart / "charts" / "crds"):
        folder.chmod(0o755)
    text = (chart / "values.tmpl.yaml").read_text()
    images = {"GatewayImage": f"docker.io/envoyproxy/gateway:{wanted.chart_version}", "GatewayImagePullPolicy": "IfNotPresent"}
    (chart / "values.yaml").write_text(re.sub(r"\$\{(\w+)\}", lambda found: images[found[1]], text))
    envoy.must_apply(namespace_body(wanted.namespace, dict(plan.namespaces)[wanted.namespace]))
    envoy.must_apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": wanted.namespace}})
    refused = {}
    for body in rendered_from(wanted, chart):
        if body["kind"] in ("CustomResourceDefinition", "Namespace"):
            continue
        answer = envoy.apply(in_namespace(body, wanted.namespace, envoy), dry_run=True)
        refused |= {} if answer.accepted else {f"{body['kind']} {body['metadata']['name']}": answer.message}
        if body["kind"] in ("Deployment", "Job"):
            spec = {key: value for key, value in body["spec"]["template"]["spec"].items() if key != "serviceAccountName"}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rendered", "namespace": wanted.namespace}, "spec": spec}
            admitted = envoy.apply(pod, dry_run=True)
            refused |= {} if admitted.accepted else {f"pod of {body['metadata']['name']}": admitted.message}
    assert refused == {}
