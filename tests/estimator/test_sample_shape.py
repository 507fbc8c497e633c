"""FLOPs of images of another size, documents and speech, compared with published lists of layers."""

import pytest
from rackwright.catalog.models import library
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.estimator.model.sample_shape import with_document_length, with_image_size
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.inputs.sample import request_sample
from rackwright.spec.media import Audio
from rackwright.spec.workload import Batch

from tests.catalog.test_networks import flux, mmdit, sdxl


def resized(name, width, height):
    a = library.find(name).architecture
    n = model_dimensions(a)
    return with_image_size(n, (width, height), a.sample_size, a.patch_size or 0, a.attention_flops_per_sample or 0.0)


@pytest.mark.parametrize(
    ("name", "walk", "width"),
    [
        ("sdxl", sdxl(side=64), 512),
        ("sdxl", sdxl(side=192), 1536),
        ("flux.1-dev", flux(guided=True, image=1024), 512),
        ("flux.1-dev", flux(guided=True, image=9216), 1536),
        ("sd3-medium", mmdit(1536, 24, qk_norm=False, image=1024), 512),
        ("sd3.5-large", mmdit(2432, 38, qk_norm=True, image=9216), 1536),
    ],
)
def test_flops_of_another_size_are_those_of_its_layers(name, walk, width):
    assert resized(name, width, width).flops_per_sample == pytest.approx(walk.flops, rel=0.04)


def test_the_published_size_keeps_the_published_flops():
    for name, size in (("sdxl", 1024), ("flux.1-dev", 1024), ("vit-l-16", 224), ("resnet-50", 224)):
        n = model_dimensions(library.find(name).architecture)
        assert resized(name, size, size).flops_per_sample == pytest.approx(n.flops_per_sample)
        assert resized(name, size, size).sample_tokens == n.sample_tokens


def test_a_vision_transformer_at_384_pixels_is_that_of_timm():
    """timm, results-imagenet.csv: vit_base_patch16_384 has 55.54 GMACs, with attention."""
    assert resized("vit-b-16", 384, 384).flops_per_sample == pytest.approx(2 * 55.54e9, rel=0.02)


def test_the_same_pixels_in_another_shape_cost_the_same():
    assert resized("sdxl", 2048, 512).flops_per_sample == pytest.approx(resized("sdxl", 1024, 1024).flops_per_sample)


def test_a_document_of_an_encoder_attends_in_both_directions():
    """BERT-large at 384 tokens: 24 layers of 12 h^2 weights, 4 h t FLOPs of attention per token and layer, and the pooler."""
    n = model_dimensions(library.find("bert-large").architecture)
    layers, attention = 2 * 24 * 12 * 1024**2, 4 * 1024 * 384 * 24
    assert with_document_length(n, 384, is_encoder=True).flops_per_sample == pytest.approx((layers + attention) * 384, rel=0.01)


def test_whisper_reads_windows_and_writes_their_text():
    """Encoder of Whisper large v3: 635 million parameters on 1,500 positions; 63.5 tokens of text per window (MLPerf v5.1)."""
    a = library.find("whisper-large-v3").architecture
    w = Batch.model_validate({"kind": "batch", "name": "b", "model": {"base": "x"}, "requests": 1, "audio": Audio(seconds=75)})
    found = request_sample(w, a, model_dimensions(a), DEFAULT)
    assert found.sample.passes == 3
    assert found.sample.written_tokens == pytest.approx(63.5)
    encoder = 2 * 635e6 * 1500 + 4 * 32 * 1280 * 1500**2
    assert found.network.flops_per_sample == pytest.approx(encoder + 0.5e12, rel=0.1)
