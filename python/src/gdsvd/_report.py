"""Report: an HTML page about a result that a notebook can show."""

from __future__ import annotations

import re


class Report:
    """An HTML page that needs no network. A notebook shows it if it is the value of a cell.

    Attributes
    ----------
    html : str
        The whole page, which can be written to a file.

    Examples
    --------
    >>> from gdsvd._report import Report
    >>> Report("<html><style>body{margin:0}</style><body><p>k</p><script>1</script></body></html>")._repr_html_()
    '<div class="gdsvd-report"><style>.gdsvd-report{&{margin:0}}</style><p>k</p></div>'
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def __repr__(self) -> str:
        return f"Report of {len(self.html)} characters: its html is a page for a browser, and a notebook shows it"

    def _repr_html_(self) -> str:
        """Return the body of the page without scripts, and with styles that apply to it alone and not to the rest of the notebook."""
        style = "".join(re.findall(r"<style>(.*?)</style>", self.html, re.S))
        style = re.sub(r"(?<![\w.#-])(?::root|body)(?=\{)", "&", style)
        body = re.sub(r"<script\b.*?</script>", "", self.html.partition("<body>")[2].partition("</body>")[0], flags=re.S)
        return f'<div class="gdsvd-report"><style>.gdsvd-report{{{style}}}</style>{body}</div>'
