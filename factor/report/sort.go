package report

import (
	"crypto/sha256"
	"encoding/base64"
)

// sorts is the script of a page: the headings of tables become buttons that sort by their column, and back. Numbers that are missing come last.
// It has none of the characters that HTML and XML read differently in a script.
const sorts = `
for (const table of document.querySelectorAll('table.sorts')) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const number = (row, i) => {
    const cell = row.cells[i];
    return cell?.colSpan === 1 ? parseFloat(cell.querySelector('data')?.value ?? cell.textContent) : NaN;
  };
  heads.forEach((head, i) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const up = head.getAttribute('aria-sort') !== 'ascending', sign = up ? 1 : -1;
      heads.forEach(h => h.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const rows = [...body.rows].map(row => [number(row, i), row]);
      rows.sort(([x], [y]) => isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : sign * (x - y));
      body.append(...rows.map(([, row]) => row));
    };
  });
  heads[0].setAttribute('aria-sort', 'ascending');
}
`

// policy is what the page may do: show its own style and run its own script, nothing else.
func policy() markup {
	sum := sha256.Sum256([]byte(sorts))
	return markedUp("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))
}
