// What hinders readers of a page, as a list of sentences.
(() => {
  const found = [];
  const say = (what, e) => {
    const text = (e.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 40);
    found.push(what + ': <' + e.tagName.toLowerCase() + (e.getAttribute('class') ? ' class="' + e.getAttribute('class') + '"' : '') + '> "' + text + '"');
  };
  const all = (s, from) => [...(from || document).querySelectorAll(s)];
  const shown = e => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== 'hidden';
  const named = e => (e.getAttribute('aria-label') || '').trim() || (e.getAttribute('aria-labelledby') || '').split(/\s+/).some(id => id && document.getElementById(id)?.textContent.trim());

  // The document: its language, a title, one h1, headings in order, one main.
  if (!document.documentElement.lang) found.push('the page has no language');
  if (!document.title.trim()) found.push('the page has no title');
  if (all('main').length !== 1) found.push('there are ' + all('main').length + ' main elements');
  const headings = all('h1,h2,h3,h4,h5,h6').filter(shown);
  if (headings.filter(h => h.tagName === 'H1').length !== 1) found.push('there is not one h1');
  let level = 0;
  for (const h of headings) {
    const n = Number(h.tagName[1]);
    if (n > level + 1) say('h' + n + ' follows h' + level, h);
    if (!h.textContent.trim()) say('a heading is empty', h);
    level = n;
  }
  const ids = all('[id]').map(e => e.id);
  for (const id of new Set(ids)) if (ids.filter(x => x === id).length > 1) found.push('id ' + id + ' is there twice');

  // Names: of pictures, controls, what takes the focus, tables and their columns.
  for (const e of all('svg,[role=img]')) if (e.getAttribute('aria-hidden') !== 'true' && !named(e) && !e.querySelector(':scope > title')) say('a picture has no name', e);
  for (const e of all('img')) if (!e.hasAttribute('alt')) say('a picture has no name', e);
  for (const e of all('button,a[href],summary,[role=button],[role=tab]')) if (!named(e) && !e.textContent.trim()) say('a control has no name', e);
  for (const e of all('input:not([type=hidden]),select,textarea')) if (!named(e) && !e.labels?.length) say('a field has no label', e);
  for (const e of all('[tabindex],[role=region],progress,meter')) if (!named(e) && !e.labels?.length) say('what can be reached has no name', e);
  for (const e of all('[tabindex]')) if (e.tabIndex > 0) say('a tabindex changes the order', e);
  for (const e of all('table')) {
    if (!e.caption && !named(e)) say('a table has no name', e);
    if (!e.querySelector('th')) say('a table has no headings', e);
  }
  for (const e of all('th')) if (!e.scope) say('a heading of a table has no scope', e);
  for (const e of all('dl > *')) if (!['DT', 'DD', 'DIV'].includes(e.tagName)) say('what is no part of a list is in it', e);
  for (const e of all('ul > *, ol > *')) if (e.tagName !== 'LI') say('what is no part of a list is in it', e);

  // Contrast of text with what is behind it (WCAG 2.2, 1.4.3): 4.5, whatever its size.
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const seen = new Map();
  const rgba = colour => {
    if (!seen.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const d = canvas.getImageData(0, 0, 1, 1).data;
      seen.set(colour, [d[0], d[1], d[2], d[3] / 255]);
    }
    return seen.get(colour);
  };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const luminance = c => {
    const [r, g, b] = c.slice(0, 3).map(x => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const behind = e => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((b, a) => over(a, b), [255, 255, 255, 1]);
  };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const checked = new Set();
  while (words.nextNode()) {
    const e = words.currentNode.parentElement;
    if (checked.has(e) || !words.currentNode.data.trim() || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(e.tagName) || !shown(e)) continue;
    checked.add(e);
    const style = getComputedStyle(e);
    const back = behind(e);
    const ink = over(rgba(e instanceof SVGElement ? style.fill : style.color), back);
    let opacity = 1;
    for (let a = e; a; a = a.parentElement) opacity *= getComputedStyle(a).opacity;
    const ratio = contrast(over([...ink.slice(0, 3), opacity], back), back);
    if (ratio < 4.5) say('contrast of ' + ratio.toFixed(2), e);
  }
  // Of lines, bars and marks of charts: 3 (1.4.11).
  for (const e of all('svg path, svg rect, svg circle, svg line, svg polyline')) {
    if (e.classList.contains('g') || !shown(e)) continue;
    const style = getComputedStyle(e);
    const paint = style.stroke !== 'none' ? style.stroke : style.fill;
    if (Number(style.fillOpacity) < 1) continue; // a shade of a scale
    const back = behind(e.closest('svg'));
    const c = [...rgba(paint)];
    c[3] *= Number(style.strokeOpacity);
    const ratio = contrast(over(c, back), back);
    if (ratio < 3) say('contrast of ' + ratio.toFixed(2) + ' of a drawing', e);
  }

  // Place: nothing is wider than the window, no text of a chart is cut off or covers another.
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) {
    found.push('the page is ' + document.documentElement.scrollWidth + ' pixels wide in a window of ' + width);
    for (const e of all('body *')) {
      if (e.getBoundingClientRect().right > width + 1 && !e.closest('.scroll')?.contains(e.parentElement)) { say('this is too wide', e); break; }
    }
  }
  for (const svg of all('svg').filter(shown)) {
    const frame = svg.getBoundingClientRect();
    const boxes = all('text', svg).filter(e => e.textContent.trim()).map(e => [e, e.getBoundingClientRect()]);
    for (const [e, b] of boxes) {
      if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.top < frame.top - 1 || b.bottom > frame.bottom + 1) say('text of the chart "' + svg.getAttribute('aria-label') + '" is cut off', e);
      const size = parseFloat(getComputedStyle(e).fontSize) * svg.getScreenCTM().a;
      if (size < 10) say('letters of ' + size.toFixed(1) + ' pixels in the chart "' + svg.getAttribute('aria-label') + '"', e);
    }
    boxes.forEach(([e, a], i) => {
      for (const [f, b] of boxes.slice(i + 1)) {
        // Lines of text have room above and below their letters.
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.35 * Math.min(a.height, b.height)) {
          say('text of the chart "' + svg.getAttribute('aria-label') + '" is covered by "' + f.textContent + '"', e);
        }
      }
    });
  }
  for (const e of all('body *')) {
    if (e instanceof SVGElement || !shown(e)) continue;
    const style = getComputedStyle(e);
    if (['hidden', 'clip'].includes(style.overflowX) && e.scrollWidth > e.clientWidth + 1) say('text is cut off', e);
    // What scrolls must be reached by keys; on paper nothing scrolls.
    const scrolls = ['auto', 'scroll'].includes(style.overflowX) && e.scrollWidth > e.clientWidth + 1 || ['auto', 'scroll'].includes(style.overflowY) && e.scrollHeight > e.clientHeight + 1;
    if (scrolls && matchMedia('print').matches) say('a part is cut off on paper', e);
    if (scrolls && e.tabIndex < 0) say('what scrolls cannot be reached by keys', e);
  }
  return [...new Set(found)];
})()
