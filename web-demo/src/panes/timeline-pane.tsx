// The timeline: lanes with a bar from the first entry about a thing to its last, and the changes of
// the decision. uPlot has the scale and the zoom; this file draws on it.
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { LANES, type Row } from "../document/rows.ts";
import { holdsAt, type Changes } from "../document/use-decided.ts";
import type { Open } from "../document/use-document.ts";
import { isTyping } from "../frame/keys.tsx";

const LANE_PX = 18;
const AXIS_PX = 22;
const NAMES_PX = 108;
const HEIGHT = (LANES.length + 1) * LANE_PX + AXIS_PX;

/** The number of rows per lane; more bars share the rows. */
const ROWS = 3;

/** A thing in its lane, with the entries about it. */
interface Bar {
  lane: number;
  /** Its row within the lane, so that overlapping bars are visible. */
  row: number;
  from: number;
  to: number;
}

/** The lanes, the cursor and the mark; a click goes to an entry, a drag zooms. */
export function TimelinePane({
  open,
  seq,
  mark,
  goTo,
  decided,
}: {
  open: Open;
  seq: number;
  mark: number | null;
  goTo: (seq: number) => void;
  decided: Changes;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const bars = useMemo(() => barsOf(open.rows), [open.rows]);
  const drawn = useRef({ seq, mark, decided, bars });
  drawn.current = { seq, mark, decided, bars };
  const [zoomed, setZoomed] = useState(false);

  useEffect(() => {
    const box = place.current;
    if (box === null) {
      return;
    }
    const made = new uPlot(
      options(box.clientWidth, open.length, drawn, goTo, setZoomed),
      [
        [0.5, open.length + 0.5],
        [0, 0],
      ],
      box,
    );
    plot.current = made;
    const sized = new ResizeObserver(() =>
      made.setSize({ width: box.clientWidth, height: HEIGHT }),
    );
    sized.observe(box);
    const theme = new MutationObserver(() => made.redraw(false, true));
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      sized.disconnect();
      theme.disconnect();
      made.destroy();
    };
  }, [open.length, goTo]);

  useEffect(() => {
    const made = plot.current;
    if (made !== null) {
      keepInView(made, seq, open.length);
      made.redraw(false, false);
    }
  }, [seq, mark, decided, bars, open.length]);

  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const by = { "+": 0.5, "-": 2, "0": Number.POSITIVE_INFINITY }[event.key];
      if (by !== undefined && !isTyping(event) && plot.current !== null) {
        zoom(plot.current, drawn.current.seq, by, open.length);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [open.length]);

  const holds = holdsAt(decided, seq);
  return (
    <section className="timeline" aria-label="timeline">
      <div
        ref={place}
        className="timeline-plot"
        role="slider"
        tabIndex={0}
        aria-label="entry at the cursor"
        aria-valuemin={1}
        aria-valuemax={open.length}
        aria-valuenow={seq}
        aria-valuetext={`entry ${seq} of ${open.length}${holds === undefined ? "" : `, ${holds.decision} since entry ${holds.seq}`}`}
      />
      <div className="timeline-foot">
        {zoomed && (
          <button
            type="button"
            className="quiet"
            onClick={() =>
              plot.current !== null &&
              zoom(plot.current, seq, Number.POSITIVE_INFINITY, open.length)
            }
          >
            See all
          </button>
        )}
        {decided.upTo < open.length && (
          <span className="note timeline-note" role="status">
            decisions up to #{decided.upTo.toLocaleString("en")}
            {decided.trouble !== null && `, then: ${decided.trouble.message}`}
          </span>
        )}
      </div>
    </section>
  );
}

/** All bars, and the number of rows per lane. */
interface Bars {
  bars: Bar[];
  rows: number[];
}

function barsOf(rows: readonly Row[]): Bars {
  const bars: Bar[] = [];
  const open = new Map<string, Bar>();
  for (const { seq, lane, subject } of rows) {
    const key = `${lane} ${subject}`;
    const bar = subject === "" ? undefined : open.get(key);
    if (bar === undefined) {
      const made = { lane, row: 0, from: seq, to: seq };
      bars.push(made);
      open.set(key, made);
    } else {
      bar.to = seq;
    }
  }
  // Each bar takes the row that has been free for the longest time.
  const ends = LANES.map(() => new Array<number>(ROWS).fill(0));
  for (const bar of bars) {
    const rows = ends[bar.lane] ?? [];
    const free = rows.findIndex((end) => end < bar.from);
    bar.row = free === -1 ? rows.indexOf(Math.min(...rows)) : free;
    rows[bar.row] = Math.max(bar.to, rows[bar.row] ?? 0);
  }
  return { bars, rows: ends.map((rows) => Math.max(1, rows.filter((end) => end > 0).length)) };
}

function options(
  width: number,
  length: number,
  drawn: { current: { seq: number; mark: number | null; decided: Changes; bars: Bars } },
  goTo: (seq: number) => void,
  setZoomed: (zoomed: boolean) => void,
): uPlot.Options {
  return {
    width,
    height: HEIGHT,
    padding: [0, 12, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: true, y: false, setScale: true },
      bind: { dblclick: () => null },
    },
    select: { show: true, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: { time: false, range: (_, min, max) => [Math.max(0.5, min), Math.min(length + 0.5, max)] },
      y: { range: [0, 1] },
    },
    series: [{}, { show: false }],
    axes: [
      {
        size: AXIS_PX,
        stroke: () => colour("--muted"),
        grid: { stroke: () => colour("--line"), width: 1 },
        ticks: { show: false },
        values: (_, splits) =>
          splits.map((at) => (Number.isInteger(at) ? at.toLocaleString("en") : "")),
      },
      { size: NAMES_PX, splits: () => [], grid: { show: false }, ticks: { show: false } },
    ],
    hooks: {
      draw: [(plot) => paint(plot, drawn.current)],
      setScale: [
        (plot, name) =>
          name === "x" &&
          setZoomed((plot.scales["x"]?.max ?? length) - (plot.scales["x"]?.min ?? 0) < length - 1),
      ],
      ready: [
        (plot) => {
          plot.over.addEventListener("click", (event) => {
            if (plot.select.width < 2) {
              goTo(Math.round(plot.posToVal(event.offsetX, "x")));
            }
          });
        },
      ],
    },
  };
}

/**
 * The inputs of the painted layer. The cursor moves over it without painting it again.
 */
interface Layer {
  canvas: HTMLCanvasElement;
  of: readonly unknown[];
}

const LAYERS = new WeakMap<uPlot, Layer>();

/** Draws the layer of lanes, and over it the future, the mark and the cursor. */
function paint(
  plot: uPlot,
  { seq, mark, decided, bars }: { seq: number; mark: number | null; decided: Changes; bars: Bars },
) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const x = (at: number) => plot.valToPos(at, "x", true);
  const { width, height } = ctx.canvas;
  const of = [
    plot.scales["x"]?.min,
    plot.scales["x"]?.max,
    width,
    height,
    ratio,
    decided,
    bars,
    document.documentElement.dataset["theme"],
  ];
  let layer = LAYERS.get(plot);
  if (layer === undefined || layer.of.some((part, index) => part !== of[index])) {
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d");
    if (context !== null) {
      paintLanes(plot, context, decided, bars);
    }
    layer = { canvas, of };
    LAYERS.set(plot, layer);
  }
  ctx.save();
  ctx.drawImage(layer.canvas, 0, 0);
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.globalAlpha = 0.55;
  ctx.fillStyle = colour("--panel");
  ctx.fillRect(x(seq + 0.5), bbox.top, bbox.left + bbox.width - x(seq + 0.5), bbox.height);
  ctx.globalAlpha = 1;
  for (const [at, name, dash] of [
    [mark, "--warn", [4, 3]],
    [seq, "--accent", []],
  ] as const) {
    if (at !== null) {
      ctx.strokeStyle = colour(name);
      ctx.lineWidth = 2 * ratio;
      ctx.setLineDash(dash.map((part) => part * ratio));
      ctx.beginPath();
      ctx.moveTo(x(at), bbox.top);
      ctx.lineTo(x(at), bbox.top + bbox.height);
      ctx.stroke();
    }
  }
  ctx.restore();
}

/** Draws lanes, bars and changes of the decision. Bars within one pixel are drawn once. */
function paintLanes(plot: uPlot, ctx: CanvasRenderingContext2D, decided: Changes, bars: Bars) {
  const { bbox } = plot;
  const ratio = devicePixelRatio;
  const lane = LANE_PX * ratio;
  const x = (at: number) => plot.valToPos(at, "x", true);
  const [min, max] = [plot.scales["x"]?.min ?? 0, plot.scales["x"]?.max ?? 1];
  ctx.font = `${11.5 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "middle";
  [...LANES, "Decision"].forEach((name, index) => {
    ctx.fillStyle = colour(index % 2 === 0 ? "--sunken" : "--panel");
    ctx.fillRect(bbox.left, bbox.top + index * lane, bbox.width, lane);
    ctx.fillStyle = colour("--muted");
    ctx.textAlign = "right";
    ctx.fillText(name, bbox.left - 8 * ratio, bbox.top + (index + 0.5) * lane);
  });
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const reached = LANES.map(() => new Array<number>(ROWS).fill(Number.NEGATIVE_INFINITY));
  ctx.fillStyle = colour("--accent");
  for (const bar of bars.bars) {
    if (bar.to < min || bar.from > max) {
      continue;
    }
    const [left, right] = [x(bar.from - 0.4), Math.max(x(bar.to + 0.4), x(bar.from - 0.4) + ratio)];
    const rows = reached[bar.lane] ?? [];
    if (right <= (rows[bar.row] ?? 0) + 0.5) {
      continue;
    }
    rows[bar.row] = right;
    const height = (lane - 6 * ratio) / (bars.rows[bar.lane] ?? 1);
    const top = bbox.top + bar.lane * lane + 3 * ratio + bar.row * height;
    ctx.globalAlpha = 0.45;
    ctx.fillRect(left, top, right - left, height - ratio);
    ctx.globalAlpha = 1;
    ctx.fillRect(left, top, Math.min(2 * ratio, right - left), height - ratio);
  }
  let painted = Number.NEGATIVE_INFINITY;
  ctx.fillStyle = colour("--text");
  for (const change of decided.changes) {
    const left = x(change.seq - 0.5);
    if (change.seq >= min - 1 && change.seq <= max + 1 && left > painted + ratio) {
      painted = left;
      ctx.fillRect(left, bbox.top + LANES.length * lane + 3 * ratio, 2 * ratio, lane - 6 * ratio);
    }
  }
  labels(ctx, decided, { x, min, max, top: bbox.top + (LANES.length + 0.5) * lane, ratio });
}

/** The shortest name of a decision, in pixels. */
const LEAST_LABEL_PX = 20;

/** Draws the names of decisions that have room. */
function labels(
  ctx: CanvasRenderingContext2D,
  { changes }: Changes,
  at: { x: (at: number) => number; min: number; max: number; top: number; ratio: number },
) {
  ctx.fillStyle = colour("--text");
  ctx.textAlign = "left";
  let free = Number.NEGATIVE_INFINITY;
  changes.forEach((change, index) => {
    const end = changes[index + 1]?.seq ?? at.max;
    if (end < at.min || change.seq > at.max) {
      return;
    }
    const left = Math.max(at.x(change.seq - 0.5), at.x(at.min)) + 5 * at.ratio;
    const room = at.x(Math.min(end, at.max) - 0.5) - left;
    if (left <= free || room < LEAST_LABEL_PX * at.ratio) {
      return;
    }
    const width = ctx.measureText(change.decision).width;
    if (width < room) {
      ctx.fillText(change.decision, left, at.top);
      free = left + width + 6 * at.ratio;
    }
  });
}

function zoom(plot: uPlot, about: number, by: number, length: number) {
  const [min, max] = [plot.scales["x"]?.min ?? 0.5, plot.scales["x"]?.max ?? length + 0.5];
  const span = Math.max(8, Math.min(length, (max - min) * by));
  const from = Math.max(0.5, Math.min(length + 0.5 - span, about - span / 2));
  plot.setScale("x", { min: from, max: from + span });
}

function keepInView(plot: uPlot, seq: number, length: number) {
  const [min, max] = [plot.scales["x"]?.min ?? 0.5, plot.scales["x"]?.max ?? length + 0.5];
  // A plot without a drawing has no scale.
  if (min < max && (seq < min || seq > max)) {
    zoom(plot, seq, 1, length);
  }
}

/**
 * The colour of a custom property in this theme, because a canvas cannot resolve `light-dark()`.
 */
function colour(name: string): string {
  const root = document.documentElement;
  const key = `${root.dataset["theme"] ?? ""} ${name}`;
  const known = RESOLVED.get(key);
  if (known !== undefined) {
    return known;
  }
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  root.append(probe);
  const painted = getComputedStyle(probe).color;
  probe.remove();
  RESOLVED.set(key, painted);
  return painted;
}

const RESOLVED = new Map<string, string>();
