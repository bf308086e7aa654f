"""A report as data, which becomes a web page or Markdown: headings, paragraphs, tables, pictures, commands."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Code:
    """A command."""

    text: str


@dataclass(frozen=True)
class Badge:
    """A verdict; `kind` decides the colour."""

    text: str
    kind: str


Inline = str | Code | Badge
Cell = Inline | tuple[Inline, ...]  # several are written below each other


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list; each item has some words that stand out, and others."""

    items: tuple[tuple[str, Inline], ...]


@dataclass(frozen=True)
class Table:
    """A table. On narrow screens every row becomes a card with the headers beside its cells."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: bool = False


@dataclass(frozen=True)
class Picture:
    """A drawing, with its file for Markdown and its content for the page, where it has this width if there is room."""

    file: str
    svg: bytes
    alt: str
    width: int | None = None  # pixels; None: whatever there is


@dataclass(frozen=True)
class Pictures:
    """Drawings beside each other, or below each other where there is no room."""

    pictures: tuple[Picture, ...]


Block = Heading | Paragraph | Bullets | Table | Pictures


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return the report as Markdown."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Paragraph):
        return block.text
    if isinstance(block, Bullets):
        return "\n".join(f"- **{lead}** {_markdown_cell(item)}" for lead, item in block.items)
    if isinstance(block, Pictures):
        return "\n".join(f"![{picture.alt}]({picture.file})" for picture in block.pictures)
    lines = [block.header, tuple(["---"] + ["---:" if block.numeric else "---"] * (len(block.header) - 1)), *block.rows]
    return "\n".join("| " + " | ".join(map(_markdown_cell, line)) + " |" for line in lines)


def _markdown_cell(cell: Cell) -> str:
    if isinstance(cell, tuple):
        return "<br>".join(map(_markdown_cell, cell))
    if isinstance(cell, Code):
        return f"`{cell.text}`"
    if isinstance(cell, Badge):
        return f"**{cell.text}**"
    return re.sub(r"<(?=[A-Za-z/!])", "&lt;", cell).replace("|", "\\|")  # what could be a tag, or a column


def to_html(blocks: Sequence[Block], title: str) -> str:
    """Return the report as one page that needs nothing else."""
    body = "\n".join(map(_html, blocks))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Bullets):
        items = (f"<li><strong>{escape(lead)}</strong> {_html_cell(item)}</li>" for lead, item in block.items)
        return "<ul>" + "\n".join(items) + "</ul>"
    if isinstance(block, Pictures):
        return '<div class="pictures">' + "\n".join(map(_html_picture, block.pictures)) + "</div>"
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in block.header)
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<td data-label="{escape(name)}"><div>{_html_cell(cell)}</div></td>'
            for name, cell in zip(block.header, row, strict=True)
        )
        + "</tr>"
        for row in block.rows
    )
    kind = "numeric" if block.numeric else "words"
    return f'<table class="{kind}">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>'


def _html_picture(picture: Picture) -> str:
    data = base64.b64encode(picture.svg).decode()
    width = "" if picture.width is None else f' style="max-width: {picture.width}px"'
    return f'<img alt="{escape(picture.alt)}"{width} src="data:image/svg+xml;base64,{data}">'


def _html_cell(cell: Cell) -> str:
    if isinstance(cell, tuple):
        return "".join(f"<p>{_html_cell(part)}</p>" for part in cell)
    if isinstance(cell, Code):
        return f"<code>{escape(cell.text)}</code>"
    if isinstance(cell, Badge):
        return f'<span class="badge {cell.kind}">{escape(cell.text)}</span>'
    return escape(cell)


_STYLE = """\
:root { color-scheme: light dark; --page: #fff; --text: #1a1a1a; --faint: #666; --rule: #ddd; --strong: #999;
  --code: #f2f2f2; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16181c; --text: #e8e8e8; --faint: #aaa; --rule: #3a3d42; --strong: #777; --code: #25282d; }
}
body { margin: 0; background: var(--page); color: var(--text); overflow-wrap: break-word;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 78rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 1rem 0; }
h2 { font-size: 1.35rem; margin: 2.5rem 0 .5rem; border-bottom: 2px solid var(--rule); padding-bottom: .2rem; }
h3 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
main > p, li { max-width: 52rem; }
li { margin: 0 0 .4rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), 1fr)); gap: 1rem; }
.pictures img { width: 100%; max-width: 46rem; height: auto; background: #fff; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; line-height: 1.4; margin: .75rem 0; }
th, td { text-align: left; vertical-align: top; padding: .5rem .6rem; border-bottom: 1px solid var(--rule); }
thead th { border-bottom: 2px solid var(--strong); position: sticky; top: 0; background: var(--page); }
td p { margin: 0 0 .35rem; }
.words td:nth-child(4) { min-width: 16rem; }
.numeric td:not(:first-child), .numeric th:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums; }
.numeric td { white-space: nowrap; }
.numeric td:first-child { white-space: normal; overflow-wrap: anywhere; }
code { font: .8rem/1.4 ui-monospace, Menlo, Consolas, monospace; background: var(--code); padding: .1rem .3rem;
  border-radius: 3px; overflow-wrap: anywhere; }
.badge { display: inline-block; font-weight: 600; padding: .05rem .55rem; border-radius: 1rem; border: 1.5px solid;
  white-space: nowrap; }
.holds { color: #00543c; background: #e2f4ee; border-color: #009e73; }
.only-if { color: #5c3d00; background: #fdf3dc; border-color: #e69f00; }
.fails { color: #7a2e00; background: #fbe6db; border-color: #d55e00; }
.undecided { color: #444; background: #f0f0f0; border-color: #888; }
@media (max-width: 48rem) {
  body { font-size: 15px; }
  main { padding: .5rem .9rem 3rem; }
  h1 { font-size: 1.5rem; }
  thead { display: none; }
  table, tbody, tr, td { display: block; width: 100%; box-sizing: border-box; }
  tr { border: 1px solid var(--rule); border-radius: 8px; margin: 0 0 1rem; padding: .3rem .2rem; }
  td { border: 0; padding: .25rem .6rem; min-width: 0 !important; }
  .words td::before { content: attr(data-label); display: block; font-size: .75rem; font-weight: 600;
    color: var(--faint); }
  .numeric tr { display: grid; grid-template-columns: 1fr 1fr; }
  .numeric td { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 .6rem; }
  .numeric td::before { content: attr(data-label); color: var(--faint); }
  .numeric td:not(:first-child) div { margin-left: auto; }
  .numeric td:first-child { font-weight: 600; grid-column: 1 / -1; }
  .numeric td:first-child::before { content: none; }
}
"""
