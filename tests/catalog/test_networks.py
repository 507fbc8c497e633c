"""Networks without equal layers: their rows compared with the published list of layers.

Each list counts matrices and convolutions once for parameters and once for operations (a multiply-add is 2).
"""

import pytest
from rackwright.catalog.models import library
from rackwright.estimator.model.from_architecture import count_parameters


class Walk:
    def __init__(self):
        self.parameters, self.flops, self.linear = 0, 0, 0

    def matrix(self, d_in, d_out, rows=1, bias=True):
        self.parameters += d_in * d_out + (d_out if bias else 0)
        self.flops += 2 * d_in * d_out * rows
        self.linear += d_in * d_out

    def conv(self, c_in, c_out, size, side, extra):
        self.parameters += c_in * c_out * size * size + extra * c_out
        self.flops += 2 * c_in * c_out * size * size * side * side

    def norm(self, width):
        self.parameters += 2 * width

    def attend(self, queries, keys, width):
        self.flops += 4 * queries * keys * width


def resnet_50():
    """arXiv 1512.03385, table 1; each convolution has a batch norm of two vectors."""
    walk, channels, side = Walk(), 64, 56
    walk.conv(3, 64, 7, 112, extra=2)
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            out = side // 2 if block == 0 and width > 64 else side
            walk.conv(channels, width, 1, side, extra=2)
            walk.conv(width, width, 3, out, extra=2)
            walk.conv(width, 4 * width, 1, out, extra=2)
            if block == 0:
                walk.conv(channels, 4 * width, 1, out, extra=2)
            channels, side = 4 * width, out
    walk.matrix(2048, 1000)
    return walk


def flux(guided, image=4096, text=512):
    """19 double and 38 single blocks of width 3072 (transformer/config.json)."""
    walk, h, f, both = Walk(), 3072, 4 * 3072, image + text
    for d_in, rows in ((64, image), (4096, text), (768, 1), (h, 1), *([(256, 1), (h, 1)] * (2 if guided else 1))):
        walk.matrix(d_in, h, rows)
    for _ in range(19):
        for rows in (image, text):
            walk.matrix(h, 6 * h)
            for d_in, d_out in ((h, 3 * h), (h, h), (h, f), (f, h)):
                walk.matrix(d_in, d_out, rows)
            walk.norm(128)
        walk.attend(both, both, h)
    for _ in range(38):
        walk.matrix(h, 3 * h)
        walk.matrix(h, 3 * h + f, both)
        walk.matrix(h + f, h, both)
        walk.norm(128)
        walk.attend(both, both, h)
    walk.matrix(h, 2 * h)
    walk.matrix(h, 64, image)
    return walk


def mmdit(h, layers, qk_norm, image=4096, text=333):
    """Stable Diffusion 3: two streams with joint attention; the last text stream ends after its keys and values."""
    walk, both = Walk(), image + text
    walk.conv(16, h, 2, 64, extra=1)
    for d_in, rows in ((4096, text), (256, 1), (h, 1), (2048, 1), (h, 1)):
        walk.matrix(d_in, h, rows)
    for layer in range(layers):
        last = layer == layers - 1
        for rows, ends in ((image, False), (text, last)):
            walk.matrix(h, (2 if ends else 6) * h)
            walk.matrix(h, 3 * h, rows)
            for d_in, d_out in () if ends else ((h, h), (h, 4 * h), (4 * h, h)):
                walk.matrix(d_in, d_out, rows)
            if qk_norm:
                walk.norm(64)
        walk.attend(both, both, h)
    walk.matrix(h, 2 * h)
    walk.matrix(h, 64, image)
    return walk


class Unet(Walk):
    """The parts of SDXL's UNet; the text has 77 tokens of width 2048."""

    def residual(self, c_in, c_out, side):
        self.norm(c_in)
        self.conv(c_in, c_out, 3, side, extra=1)
        self.matrix(1280, c_out)
        self.norm(c_out)
        self.conv(c_out, c_out, 3, side, extra=1)
        if c_in != c_out:
            self.conv(c_in, c_out, 1, side, extra=1)

    def transformer(self, width, layers, side):
        rows = side * side
        if layers:
            self.norm(width)
            self.matrix(width, width, rows)
        for _ in range(layers):
            for source, columns in ((width, rows), (2048, 77)):
                self.norm(width)
                self.matrix(width, width, rows, bias=False)
                self.matrix(source, 2 * width, columns, bias=False)
                self.matrix(width, width, rows)
                self.attend(rows, columns, width)
            self.norm(width)
            self.matrix(width, 8 * width, rows)
            self.matrix(4 * width, width, rows)
        if layers:
            self.matrix(width, width, rows)


def sdxl(side=128):
    """arXiv 2307.01952, table 1, and unet/config.json: widths 320, 640, 1280 with 0, 2, 10 transformer layers, each at half the side."""
    walk, levels = Unet(), ((320, 0), (640, 2), (1280, 10))
    walk.conv(4, 320, 3, side, extra=1)
    for d_in in (320, 1280, 2816, 1280):
        walk.matrix(d_in, 1280)
    width, skips = 320, [320]
    for out, layers in levels:
        for _ in range(2):
            walk.residual(width, out, side)
            walk.transformer(out, layers, side)
            width = out
            skips.append(out)
        if out < 1280:
            side //= 2
            walk.conv(out, out, 3, side, extra=1)
            skips.append(out)
    walk.residual(1280, 1280, side)
    walk.transformer(1280, 10, side)
    walk.residual(1280, 1280, side)
    for out, layers in reversed(levels):
        for _ in range(3):
            walk.residual(width + skips.pop(), out, side)
            walk.transformer(out, layers, side)
            width = out
        if out > 320:
            side *= 2
            walk.conv(out, out, 3, side, extra=1)
    walk.norm(320)
    walk.conv(320, 4, 3, side, extra=1)
    return walk


WALKS = {
    "resnet-50": resnet_50(),
    "flux.1-dev": flux(guided=True),
    "flux.1-schnell": flux(guided=False),
    "sd3-medium": mmdit(1536, 24, qk_norm=False),
    "sd3.5-large": mmdit(2432, 38, qk_norm=True),
    "sdxl": sdxl(),
}


@pytest.mark.parametrize("name", WALKS)
def test_parameters_of_the_row_are_those_of_its_layers(name):
    a, walk = library.find(name).architecture, WALKS[name]
    assert count_parameters(a).trunk == walk.parameters
    assert a.linear_parameter_count in (None, walk.linear)


@pytest.mark.parametrize("name", WALKS)
def test_operations_of_the_row_are_those_of_its_layers(name):
    assert library.find(name).architecture.flops_per_sample == pytest.approx(WALKS[name].flops, rel=0.002)


@pytest.mark.parametrize("name", ["vit-b-16", "vit-l-16"])
def test_operations_of_a_vision_transformer_follow_from_its_shape(name):
    a = library.find(name).architecture
    patch_values, classes = 16 * 16 * 3, 1000
    projections = count_parameters(a).linear * a.sample_tokens + (a.sample_tokens - 1) * patch_values * a.hidden + classes * a.hidden
    attention = 2 * a.layers * a.hidden * a.sample_tokens**2
    assert a.flops_per_sample == pytest.approx(2 * (projections + attention), rel=0.002)
