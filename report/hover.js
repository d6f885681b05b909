
"use strict";
document.querySelectorAll("svg.hover").forEach(function (svg) {
  const [left, right, top, bottom] = svg.dataset.plot.split(" ").map(Number);
  const axis = function (text, from, to) {
    const [a, b, kind] = text.split(" "), log = kind === "log";
    const lo = log ? Math.log10(a) : Number(a), hi = log ? Math.log10(b) : Number(b);
    const value = p => { const v = lo + (p - from) / (to - from) * (hi - lo); return log ? 10 ** v : v; };
    // No more digits than the path's hundredths of a pixel can tell.
    return function (p) {
      const v = value(p), place = 10 ** Math.ceil(Math.log10(Math.abs(value(p + 0.01) - v)));
      return String(Number((Math.round(v / place) * place).toPrecision(6)));
    };
  };
  const x = axis(svg.dataset.x, left, right), y = axis(svg.dataset.y, bottom, top);
  const lines = Array.from(svg.querySelectorAll("path[data-name]"), path => ({
    name: path.dataset.name,
    points: path.getAttribute("d").split(/[M ]/).filter(Boolean).map(Number)
      .reduce((all, v, i) => { if (i % 2) all[all.length - 1].push(v); else all.push([v]); return all; }, []),
  }));
  const rule = document.createElementNS(svg.namespaceURI, "line");
  rule.setAttribute("class", "axis");
  const tip = document.createElement("div");
  tip.className = "tip";
  const hide = function () { rule.remove(); tip.remove(); };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", function (event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    if (left - 4 > at.x || at.x > right + 4 || lines.length === 0) return hide();
    const near = (points, px) => points.reduce((a, b) => Math.abs(a[0] - px) > Math.abs(b[0] - px) ? b : a);
    const all = lines.map(line => near(line.points, at.x));
    const px = near(all, at.x)[0];
    const text = ["at " + x(px)];
    lines.forEach((line, i) => { if (3 > Math.abs(all[i][0] - px)) text.push(line.name + "  " + y(all[i][1])); });
    tip.textContent = text.join("\n");
    [["x1", px], ["x2", px], ["y1", top], ["y2", bottom]].forEach(([k, v]) => rule.setAttribute(k, v));
    svg.append(rule);
    svg.parentNode.append(tip);
    const scale = svg.clientWidth / svg.viewBox.baseVal.width, room = svg.clientWidth - tip.offsetWidth;
    tip.style.left = Math.min(px * scale + 12, room) + "px";
    tip.style.top = top * scale + "px";
  });
});
