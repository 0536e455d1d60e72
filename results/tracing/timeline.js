// SPDX-License-Identifier: BSD-3-Clause
// The timeline in report.html: the wheel zooms at the pointer, dragging moves, a double click shows all.
// `trace` is what timeline.py writes: times in ns.
(function () {
  const canvas = document.querySelector("#zoom canvas"), g = canvas.getContext("2d");
  const note = document.querySelector("#zoom output");
  const LEFT = 80, ROW = 34, AXIS = 30;
  let from, until, drag = null;

  function show(a, b) {
    const span = Math.min(Math.max(b - a, 100), trace.end);
    from = Math.min(Math.max(a, 0), trace.end - span);
    until = from + span;
    draw();
  }

  const width = () => canvas.width - LEFT;
  const x = t => LEFT + (t - from) / (until - from) * width();
  const time = px => from + (px - LEFT) / width() * (until - from);

  // The first of @list's entries of @step numbers that ends behind @t.
  function first(list, step, t) {
    let low = 0, high = list.length / step;
    while (low < high) {
      const middle = low + high >> 1;
      if (list[middle * step + (step > 1 ? 1 : 0)] < t) low = middle + 1; else high = middle;
    }
    return low;
  }

  function axis() {
    const unit = Math.pow(10, Math.floor(Math.log10((until - from) / 4)));
    const step = [1, 2, 5].map(n => n * unit).find(n => (until - from) / n < 12) || 10 * unit;
    const [scale, name] = until - from > 2e9 ? [1e9, "s"] : until - from > 2e6 ? [1e6, "ms"] : [1e3, "us"];
    g.fillStyle = "#444";
    for (let t = Math.ceil(from / step) * step; t < until; t += step) {
      g.fillRect(x(t), canvas.height - AXIS, 1, 5);
      g.fillText(+(t / scale).toFixed(3) + " " + name, x(t) + 3, canvas.height - AXIS + 14);
    }
    for (const t of trace.measured)
      if (t >= from && t <= until) {
        g.fillStyle = "#000";
        g.fillRect(x(t), 0, 1, canvas.height - AXIS);
      }
  }

  function row(r, y) {
    g.fillStyle = "#222";
    g.fillText(r.name, 4, y + 18);
    const box = (b, e, colour) => {
      g.fillStyle = colour;
      const left = Math.max(x(b), LEFT), right = Math.min(x(e), canvas.width);
      g.fillRect(left, y + 10, Math.max(right - left, 0.5), 20);
    };
    if (r.user && r.extent[1] > from && r.extent[0] < until) box(r.extent[0], r.extent[1], trace.colours.user);
    for (let i = 3 * first(r.spans, 3, from); i < r.spans.length && r.spans[i] < until; i += 3)
      box(r.spans[i], r.spans[i + 1], trace.colours[trace.categories[r.spans[i + 2]]]);
    Object.entries(trace.marks).forEach(([kind, colour], n) => {
      const at = r.events[kind] || [];
      g.fillStyle = colour;
      let last = -1;
      for (let i = first(at, 1, from); i < at.length && at[i] < until; i++) {
        const px = Math.round(x(at[i]));
        if (px !== last) g.fillRect(px, y + 7 - 3 * n, 2, 3);
        last = px;
      }
    });
  }

  function draw() {
    canvas.width = canvas.clientWidth;
    canvas.height = trace.rows.length * ROW + AXIS;
    g.font = "12px sans-serif";
    g.clearRect(0, 0, canvas.width, canvas.height);
    trace.rows.forEach((r, i) => row(r, i * ROW));
    axis();
  }

  // What is below the pointer.
  function name(px, py) {
    const r = trace.rows[Math.floor(py / ROW)], t = time(px);
    if (!r || px < LEFT) return "";
    const i = 3 * first(r.spans, 3, t), inside = i < r.spans.length && r.spans[i] <= t;
    const what = inside ? trace.categories[r.spans[i + 2]] + ", " + ((r.spans[i + 1] - r.spans[i]) / 1e3).toFixed(1) + " us"
      : r.user && t >= r.extent[0] && t <= r.extent[1] ? "user" : "";
    return r.name + ", " + (t / 1e9).toFixed(6) + " s" + (what ? ": " + what : "");
  }

  canvas.addEventListener("wheel", e => {
    const at = time(e.offsetX), by = Math.pow(1.002, e.deltaY);
    e.preventDefault();
    show(at - (at - from) * by, at + (until - at) * by);
  }, {passive: false});
  canvas.addEventListener("pointerdown", e => { drag = {x: e.offsetX, from, until}; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointermove", e => {
    note.textContent = name(e.offsetX, e.offsetY);
    if (!drag) return;
    const by = (drag.x - e.offsetX) / width() * (drag.until - drag.from);
    show(drag.from + by, drag.until + by);
  });
  canvas.addEventListener("dblclick", () => show(0, trace.end));
  window.addEventListener("resize", draw);
  if (trace.measured.length === 2) show(trace.measured[0], trace.measured[1]); else show(0, trace.end);
})();
