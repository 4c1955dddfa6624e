"""Makes the Chinese fonts that the program ships: a subset of Noto Sans CJK SC (OFL 1.1) with GB 2312 and common signs.

`python packaging/make_font.py NotoSansCJK-Regular.ttc NotoSansCJK-Bold.ttc` writes advisor_gui/ui/assets/StackfitHan-*.otf.
It needs fonttools. The family is renamed, so that a system copy of the full font can never be confused with it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTCollection

OUT = Path(__file__).resolve().parent.parent / "advisor_gui" / "ui" / "assets"
FAMILY = "Stackfit Han"
SIMPLIFIED_CHINESE = "Noto Sans CJK SC"


def characters() -> str:
    """GB 2312 (levels 1 and 2), Latin with accents, Greek, punctuation, arrows, mathematical signs, full-width forms."""
    chosen = {chr(c) for low, high in ((0x20, 0x17F), (0x391, 0x3C9), (0x2010, 0x2040), (0x2190, 0x2199), (0x2200, 0x2265),
                                       (0x3000, 0x303F), (0xFF00, 0xFFEF)) for c in range(low, high + 1)}  # fmt: skip
    for row in range(0xA1, 0xF8):
        for cell in range(0xA1, 0xFF):
            try:
                chosen.add(bytes((row, cell)).decode("gb2312"))
            except UnicodeDecodeError:
                continue  # a hole of the table
    return "".join(sorted(chosen))


def main() -> int:
    for source in sys.argv[1:]:
        make(source, "Bold" if "Bold" in source else "Regular")
    return 0


def make(source: str, weight: str) -> None:
    collection = TTCollection(source)
    font = next(f for f in collection.fonts if f["name"].getDebugName(1) == SIMPLIFIED_CHINESE)
    options = subset.Options(layout_features=["*"], name_IDs=[0, 1, 2, 3, 4, 5, 6, 13, 14], notdef_outline=True, desubroutinize=False)
    cutter = subset.Subsetter(options)
    cutter.populate(text=characters())
    cutter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 4, 16):
            record.string = FAMILY
        elif record.nameID in (3, 6):
            record.string = FAMILY.replace(" ", "") + f"-{weight}"
    if "CFF " in font:
        top = font["CFF "].cff
        top.fontNames = [FAMILY.replace(" ", "") + f"-{weight}"]
        top.topDictIndex[0].FamilyName = FAMILY
        top.topDictIndex[0].FullName = FAMILY
    OUT.mkdir(parents=True, exist_ok=True)
    font.save(OUT / f"StackfitHan-{weight}.otf")
    print(OUT / f"StackfitHan-{weight}.otf", (OUT / f"StackfitHan-{weight}.otf").stat().st_size)


if __name__ == "__main__":
    sys.exit(main())
