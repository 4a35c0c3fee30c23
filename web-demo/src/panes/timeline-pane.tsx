// The timeline: lanes with a bar from the first entry about a thing to its last, and the changes of
// the decision. uPlot has the scale and the zoom; this file draws on it.
import { memo, useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { barsOf, LANES, ROWS, type Bars } from "../document/index.ts";
import { changeAt, countUpTo, holdsAt, type Changes } from "../document/use-decided.ts";
import type { Open } from "../document/use-document.ts";
import { useIndexed } from "../document/use-rows.ts";
import { colour, coloursNow, onColours } from "../parts/colour.ts";
import { useCommands } from "../parts/use-commands.ts";

const LANE_PX = 18;
const AXIS_PX = 22;
const NAMES_PX = 108;
const HEIGHT = (LANES.length + 1) * LANE_PX + AXIS_PX;

/** The lanes, the cursor and the mark; a click goes to an entry, a drag zooms. */
export const TimelinePane = memo(function TimelinePane({
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
  const indexed = useIndexed(open.index);
  // The index is the same object while it grows.
  const bars = useMemo(() => (indexed === 0 ? null : barsOf(open.index)), [open.index, indexed]);
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
    const endColours = onColours(() => made.redraw(false, true));
    return () => {
      sized.disconnect();
      endColours();
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

  const zoomBy = (by: number) => () =>
    plot.current !== null && zoom(plot.current, seq, by, open.length);
  useCommands([
    {
      id: "timeline.in",
      name: "Zoom in",
      group: "Timeline",
      keys: ["[Shift]++"],
      run: zoomBy(0.5),
    },
    { id: "timeline.out", name: "Zoom out", group: "Timeline", keys: ["-"], run: zoomBy(2) },
    {
      id: "timeline.all",
      name: "Show all of it",
      group: "Timeline",
      keys: ["0"],
      run: zoomBy(Number.POSITIVE_INFINITY),
    },
  ]);

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
          <span
            className="note timeline-note"
            role={decided.trouble === null ? undefined : "status"}
          >
            decisions up to #{decided.upTo.toLocaleString("en")}
            {decided.trouble !== null && `, then: ${decided.trouble.message}`}
          </span>
        )}
      </div>
    </section>
  );
});

/** What is drawn. The bars are null until something is indexed. */
interface Drawn {
  seq: number;
  mark: number | null;
  decided: Changes;
  bars: Bars | null;
}

function options(
  width: number,
  length: number,
  drawn: { current: Drawn },
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
function paint(plot: uPlot, { seq, mark, decided, bars }: Drawn) {
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
    coloursNow(),
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
function paintLanes(
  plot: uPlot,
  ctx: CanvasRenderingContext2D,
  decided: Changes,
  bars: Bars | null,
) {
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
  ctx.fillStyle = colour("--accent");
  if (bars !== null) {
    paintBars(plot, ctx, bars, { min, max, lane, ratio });
  }
  let painted = Number.NEGATIVE_INFINITY;
  ctx.fillStyle = colour("--text");
  const last = countUpTo(decided, max + 1);
  for (let at = Math.max(0, countUpTo(decided, min - 2)); at < last; at += 1) {
    const left = x((decided.seqs[at] ?? 0) - 0.5);
    if (left > painted + ratio) {
      painted = left;
      ctx.fillRect(left, bbox.top + LANES.length * lane + 3 * ratio, 2 * ratio, lane - 6 * ratio);
    }
  }
  labels(ctx, decided, { x, min, max, top: bbox.top + (LANES.length + 0.5) * lane, ratio });
}

/**
 * Draws bars. A million of them take some ten milliseconds, without an object or a call for each.
 */
function paintBars(
  plot: uPlot,
  ctx: CanvasRenderingContext2D,
  { length, from, to, lane: lanes, row: rows, rows: rowsOf }: Bars,
  { min, max, lane, ratio }: { min: number; max: number; lane: number; ratio: number },
) {
  const { bbox } = plot;
  const [begin, scale] = [plot.valToPos(min, "x", true), bbox.width / Math.max(1e-9, max - min)];
  const reached = new Float64Array(LANES.length * ROWS).fill(Number.NEGATIVE_INFINITY);
  for (let bar = 0; bar < length; bar += 1) {
    const [first, last] = [from[bar] ?? 0, to[bar] ?? 0];
    if (first > max) {
      break;
    }
    if (last < min) {
      continue;
    }
    const [of, row] = [lanes[bar] ?? 0, rows[bar] ?? 0];
    const left = begin + (first - 0.4 - min) * scale;
    const right = Math.max(begin + (last + 0.4 - min) * scale, left + ratio);
    const at = of * ROWS + row;
    if (right <= (reached[at] ?? 0) + 0.5) {
      continue;
    }
    reached[at] = right;
    const height = (lane - 6 * ratio) / (rowsOf[of] ?? 1);
    const top = bbox.top + of * lane + 3 * ratio + row * height;
    ctx.globalAlpha = 0.45;
    ctx.fillRect(left, top, right - left, height - ratio);
    ctx.globalAlpha = 1;
    ctx.fillRect(left, top, Math.min(2 * ratio, right - left), height - ratio);
  }
}

/** The shortest name of a decision, in pixels. */
const LEAST_LABEL_PX = 20;

/** Draws the names of decisions that have room. */
function labels(
  ctx: CanvasRenderingContext2D,
  changes: Changes,
  at: { x: (at: number) => number; min: number; max: number; top: number; ratio: number },
) {
  ctx.fillStyle = colour("--text");
  ctx.textAlign = "left";
  let free = Number.NEGATIVE_INFINITY;
  const last = countUpTo(changes, at.max);
  for (let index = Math.max(0, countUpTo(changes, at.min) - 1); index < last; index += 1) {
    const end = changes.seqs[index + 1] ?? at.max;
    const left = Math.max(at.x((changes.seqs[index] ?? 0) - 0.5), at.x(at.min)) + 5 * at.ratio;
    const room = at.x(Math.min(end, at.max) - 0.5) - left;
    if (left <= free || room < LEAST_LABEL_PX * at.ratio) {
      continue;
    }
    const decision = changeAt(changes, index)?.decision ?? "";
    const width = ctx.measureText(decision).width;
    if (width < room) {
      ctx.fillText(decision, left, at.top);
      free = left + width + 6 * at.ratio;
    }
  }
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
