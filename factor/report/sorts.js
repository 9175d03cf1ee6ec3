// Numbers, or in columns of text names, that are missing come last.
const sortedBy = new Map(); // of a table, by its id: the column, and 1 or −1 for the direction
const sortTables = () => {
  for (const table of document.querySelectorAll('table.sorts')) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    const value = (row, i) => {
      const cell = row.cells[i];
      const text = cell?.colSpan === 1 ? cell.querySelector('data')?.value ?? cell.textContent : '';
      return heads[i].className === 'text' ? text : parseFloat(text);
    };
    const missing = x => x === '' || x !== x;
    const mark = (i, sign) => {
      heads.forEach(h => h.removeAttribute('aria-sort'));
      heads[i].setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending');
    };
    const sort = () => {
      const [i, sign] = sortedBy.get(table.id);
      mark(i, sign);
      const rows = [...body.rows].map(row => [value(row, i), row]);
      rows.sort(([x], [y]) => missing(x) - missing(y) ||
        sign * (typeof x === 'string' ? x.localeCompare(y, undefined, { numeric: true }) : x - y));
      body.append(...rows.map(([, row]) => row));
    };
    heads.forEach((head, i) => {
      if (head.querySelector('button')) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.onclick = () => {
        sortedBy.set(table.id, [i, head.getAttribute('aria-sort') === 'ascending' ? -1 : 1]);
        sortTables();
      };
    });
    if (sortedBy.has(table.id)) sort();
    else mark(0, 1);
  }
};
