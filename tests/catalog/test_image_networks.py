"""Published work of image networks: names, sizes, sources."""

import pytest
from rackwright.catalog import networks
from rackwright.catalog.networks import find_network


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("ResNet-50-v1.5", "resnet-50-v1.5"),
        ("convnext_base.fb_in1k", "convnext_base"),
        ("mask_rcnn_R_50_FPN_3x_gn", "mask_rcnn_r_50_fpn"),
        ("FLUX.1-dev", "flux.1"),
        ("stabilityai/stable-diffusion-xl-base-1.0", "sdxl"),
        ("ViT-B/16 (384)", "vit-base-384"),
    ],
)
def test_a_printed_name_finds_its_network(printed, name):
    found = find_network(printed)
    assert found
    assert found.name == name


def test_an_unknown_name_has_no_network():
    assert find_network("Nobody-13B") is None


def test_convolutions_grow_with_the_pixels_and_attention_with_their_square():
    sdxl = find_network("sdxl")
    assert sdxl
    half = sdxl.at(512 * 512)
    assert half.flops == pytest.approx((sdxl.flops - sdxl.attention_flops) / 4 + sdxl.attention_flops / 16)
    assert half.activations == pytest.approx(sdxl.activations / 4)


def test_every_row_has_work_and_a_source():
    for row in networks._index().values():
        assert row.source
        assert row.as_of
        assert min(row.parameters, row.flops, row.activations) > 0
        assert row.attention_flops < row.flops


def test_networks_of_both_tables_agree():
    named, listed = find_network("ResNeXt101-32x4d"), find_network("resnext101_32x4d")
    assert named
    assert listed
    assert named.flops == pytest.approx(listed.flops, rel=0.01)


def test_a_gate_moves_its_elements_again():
    gated, plain = find_network("efficientnet_b0"), find_network("resnet18")
    assert gated
    assert plain
    assert gated.moved == pytest.approx(networks.GATED_PASSES * gated.activations)
    assert plain.moved == plain.activations


def test_densenet_moves_the_inputs_that_it_concatenates():
    """arXiv 1608.06993, table 1: each layer of a block normalises the outputs of all layers before it."""
    inputs, channels, side = 0, 64, 56
    for layers in (6, 12, 24, 16):
        inputs += side**2 * sum(channels + 32 * i for i in range(layers))
        channels += 32 * layers
        inputs += side**2 * channels  # of the transition, or of the last norm
        channels, side = channels // 2, side // 2
    found = find_network("densenet121")
    assert found
    assert found.activations == pytest.approx(inputs + 6.9e6, rel=0.01)
