"""read_svg.py FILE WORD...: FILE is a well-formed SVG document, all of it inside its own frame, texts do not lie on each
other, and each WORD is among its texts."""

import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def number(element, name):
    return float(element.get(name))


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def extent(text):
    """The box that a text fills: half its size wide a character."""
    size = number(text, "font-size")
    width = 0.5 * size * len(text.text)
    left = number(text, "x") - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
    return (left, number(text, "y") - 0.7 * size, left + width, number(text, "y"))


def main(path, words):
    root = ElementTree.parse(path).getroot()
    assert root.tag == SVG + "svg", root.tag
    width, height = number(root, "width"), number(root, "height")
    boxes = root.findall(SVG + "rect")
    assert len(boxes) > 8, len(boxes)
    for box in boxes:
        x, y = number(box, "x"), number(box, "y")
        assert 0 <= x and x + number(box, "width") <= width + 0.1, box.attrib
        assert 0 <= y and y + number(box, "height") <= height + 0.1, box.attrib
        assert number(box, "width") > 0 and number(box, "height") > 0, box.attrib
    texts = root.findall(SVG + "text")
    for text in texts:
        left, top, right, bottom = extent(text)
        assert 0 <= left and right <= width and 0 <= top and bottom <= height, (text.text, width, height)
        assert number(text, "font-size") >= 10, text.text
    extents = [(text.text, extent(text)) for text in texts]
    for i, (name, box) in enumerate(extents):
        for other, second in extents[i + 1 :]:
            assert not overlap(box, second), (name, box, other, second)
    for word in words:
        assert any(word in text.text for text in texts), word
    assert len({box.get("fill") for box in boxes}) >= 4


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
