"""Makes font-data.ts of Roboto (Apache-2.0; Debian has it as fonts-roboto-unhinted):
pip install pillow; python3 font.py FOLDER-WITH-THE-TTF-FILES > font-data.ts"""

import base64
import sys

from PIL import ImageFont

RANGES = [(0x20, 0x7E), (0xA0, 0x17F), (0x386, 0x3CE), (0x400, 0x45F)]
RANGES += [(ord(one), ord(one)) for one in "–—‘’“”„•…€™−"]


def glyphs(face, size):
    """For each character: advance, left + 16, top, width, height, then its pixels, 2 bits of ink each."""
    font = ImageFont.truetype(f"{sys.argv[1]}/Roboto-{face}.ttf", size)
    data = bytearray()
    for character in [chr(code) for first, last in RANGES for code in range(first, last + 1)]:
        mask, (left, top) = font.getmask2(character, "L")
        width, height = mask.size
        glyph = [round(font.getlength(character)), left + 16, top + 16, width, height]
        inks = [(value + 42) // 85 for value in mask] + [0, 0, 0]
        for at in range(0, width * height, 4):
            glyph.append(sum(ink << 2 * place for place, ink in enumerate(inks[at : at + 4])))
        # In threes, so that each is base64 by itself.
        data += bytes(glyph) + bytes(-len(glyph) % 3)
    return base64.b64encode(data).decode()


print("/** Roboto, Copyright 2015 Google Inc., Apache-2.0, as font.py makes it and font.ts reads it. */")
print(f"export const RANGES = {[list(one) for one in RANGES]};")
print(f'export const REGULAR_12 =\n  "{glyphs("Regular", 12)}";')
print(f'export const MEDIUM_16 =\n  "{glyphs("Medium", 16)}";')
