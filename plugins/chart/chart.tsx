/** The chart as people can use it: values under the pointer, series to hide, a part to enlarge, a table, a picture to save. */
import { connect } from "edge-servlets/view";
import { render } from "preact";
import { useRef, useState } from "preact/hooks";
import { axisAround } from "./axis.ts";
import type servlet from "./servlet.ts";
import "./chart.css";

const view = await connect<typeof servlet, "draw_chart">({ name: "chart" });

const [WIDTH, HEIGHT] = [640, 320];
const [LEFT, RIGHT, TOP, BOTTOM] = [56, 12, 12, 48];
const COLOURS = ["#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d"];

interface Line {
  name: string;
  colour: string;
  values: number[];
}

interface Data {
  kind: string;
  title: string;
  xTitle: string;
  yTitle: string;
  lines: Line[];
  labels: string[];
}

/** The arguments of the call, perhaps of a call that is still being written. */
function dataOf(input: (typeof view.state)["input"] = {}): Data {
  const { values, name, series = [], labels = [], kind = "line" } = input;
  const first = { name: name ?? (series.length > 0 ? "values" : ""), values };
  const lines = [first, ...series].map((one, at) => ({
    name: String(one?.name ?? ""),
    colour: COLOURS[at % COLOURS.length]!,
    values: (one?.values ?? []).filter((value) => Number.isFinite(value)),
  }));
  const count = Math.max(...lines.map((line) => line.values.length));
  return {
    kind,
    title: input.title ?? "",
    xTitle: input.x_title ?? "",
    yTitle: input.y_title ?? "",
    lines,
    labels: Array.from({ length: count }, (_, at) => labels[at] ?? String(at + 1)),
  };
}

/** A part of the positions: from the first to the last. */
type Part = readonly [number, number];

function Chart({ data, isWriting }: { data: Data; isWriting: boolean }) {
  const [hidden, setHidden] = useState<readonly number[]>([]);
  const [chosen, setChosen] = useState<Part>();
  const [at, setAt] = useState<number>();
  const [dragged, setDragged] = useState<number>();
  const [note, setNote] = useState("");
  const plot = useRef<SVGSVGElement>(null);
  const all: Part = [0, data.labels.length - 1];
  const [from, to] = chosen && chosen[1] <= all[1] ? chosen : all;
  const shown = data.lines.filter((_line, nth) => !hidden.includes(nth));
  const inside = shown.flatMap(({ values }) => values.slice(from, to + 1));
  if (inside.length === 0 && hidden.length === 0)
    return <p class="empty">{isWriting ? "Drawing …" : "There are no values yet."}</p>;
  const isBar = data.kind === "bar";
  const low = Math.min(...inside, ...(isBar || inside.length === 0 ? [0] : []));
  const high = Math.max(...inside, ...(isBar || inside.length === 0 ? [0] : []));
  const axis = axisAround(low, high === low ? low + 1 : high, 5);
  const [bottom, top] = [axis.first * axis.step, axis.last * axis.step];
  const room = WIDTH - LEFT - RIGHT;
  const places = to - from + (isBar ? 1 : 0) || 1;
  const x = (position: number) => LEFT + ((position - from + (isBar ? 0.5 : 0)) / places) * room;
  const y = (value: number) => TOP + ((top - value) / (top - bottom)) * (HEIGHT - TOP - BOTTOM);
  const ticks = Array.from(
    { length: axis.last - axis.first + 1 },
    (_, step) => (axis.first + step) * axis.step,
  );
  const every = Math.ceil((to - from + 1) / 8);
  const positions = Array.from({ length: to - from + 1 }, (_, step) => from + step);

  const positionUnder = (event: { clientX: number }): number => {
    const box = plot.current!.getBoundingClientRect();
    const along = ((event.clientX - box.left) / box.width) * WIDTH - LEFT;
    const near = Math.round((along / room) * places - (isBar ? 0.5 : 0)) + from;
    return Math.min(Math.max(near, from), to);
  };
  const choose = (a: number, b: number) => {
    if (a !== b) setChosen([Math.min(a, b), Math.max(a, b)]);
    setDragged(undefined);
  };
  const byKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") setChosen(undefined);
    if (step === undefined) return;
    event.preventDefault();
    setAt(Math.min(Math.max((at ?? (step > 0 ? from - 1 : to + 1)) + step, from), to));
  };
  const zoom = (by: number) => {
    const middle = at ?? (from + to) / 2;
    const half = Math.max(((to - from) * by) / 2, 1);
    setChosen([
      Math.max(0, Math.round(middle - half)),
      Math.min(all[1], Math.round(middle + half)),
    ]);
  };
  const save = async () => {
    try {
      await view.save("chart.png", "image/png", await pictureOf(plot.current!));
      setNote("The picture is saved.");
    } catch (error) {
      setNote((error as Error).message);
    }
  };

  return (
    <figure>
      <h1>{data.title || "Chart"}</h1>
      {data.lines.length > 1 && (
        <div class="legend" role="group" aria-label="Series">
          {data.lines.map(({ name, colour }, nth) => (
            <button
              type="button"
              aria-pressed={!hidden.includes(nth)}
              onClick={() =>
                setHidden(
                  hidden.includes(nth) ? hidden.filter((one) => one !== nth) : [...hidden, nth],
                )
              }
            >
              <span class="mark" style={{ background: colour }} />
              {name}
            </button>
          ))}
        </div>
      )}
      <svg
        ref={plot}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${data.title || "Chart"}: ${shown.map(({ name, values }) => `${name} ${values.length} values`).join(", ")}. Arrow keys read the values.`}
        tabindex={0}
        onKeyDown={byKey}
        onPointerMove={(event) => setAt(positionUnder(event))}
        onPointerLeave={() => (setAt(undefined), setDragged(undefined))}
        onPointerDown={(event) => setDragged(positionUnder(event))}
        onPointerUp={(event) => dragged !== undefined && choose(dragged, positionUnder(event))}
      >
        {ticks.map((tick) => (
          <g>
            <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
              {axis.format(tick)}
            </text>
          </g>
        ))}
        {positions
          .filter((position) => (position - from) % every === 0)
          .map((position) => (
            <text x={x(position)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">
              {data.labels[position]}
            </text>
          ))}
        <text x={LEFT + room / 2} y={HEIGHT - 8} text-anchor="middle">
          {data.xTitle}
        </text>
        {dragged !== undefined && at !== undefined && (
          <rect
            class="part"
            x={Math.min(x(dragged), x(at))}
            width={Math.abs(x(at) - x(dragged))}
            y={TOP}
            height={HEIGHT - TOP - BOTTOM}
          />
        )}
        {shown.map(({ colour, values }, nth) =>
          isBar ? (
            positions
              .filter((position) => values[position] !== undefined)
              .map((position) => {
                const width = (room / places) * (0.8 / shown.length);
                const value = y(values[position]!);
                const zero = y(Math.min(Math.max(0, bottom), top));
                return (
                  <rect
                    fill={colour}
                    x={x(position) + (nth - shown.length / 2) * width}
                    width={width}
                    y={Math.min(value, zero)}
                    height={Math.max(Math.abs(zero - value), 1)}
                  />
                );
              })
          ) : (
            <polyline
              fill="none"
              stroke={colour}
              stroke-width="2"
              points={positions
                .filter((position) => values[position] !== undefined)
                .map((position) => `${x(position)},${y(values[position]!)}`)
                .join(" ")}
            />
          ),
        )}
        {at !== undefined && (
          <g>
            <line class="pointer" x1={x(at)} x2={x(at)} y1={TOP} y2={HEIGHT - BOTTOM} />
            {!isBar &&
              shown
                .filter(({ values }) => values[at] !== undefined)
                .map(({ colour, values }) => (
                  <circle cx={x(at)} cy={y(values[at]!)} r="4" fill={colour} />
                ))}
          </g>
        )}
      </svg>
      <p class="values" role="status">
        {at === undefined
          ? note || data.yTitle
          : `${data.labels[at]}: ${shown
              .filter(({ values }) => values[at] !== undefined)
              .map(({ name, values }) => `${name ? `${name} ` : ""}${values[at]}`)
              .join(", ")}`}
      </p>
      <div class="tools">
        <button type="button" onClick={() => zoom(0.5)} disabled={to - from < 3}>
          Zoom in
        </button>
        <button type="button" onClick={() => setChosen(undefined)} disabled={chosen === undefined}>
          Show all
        </button>
        {"downloadFile" in view.capabilities && (
          <button type="button" onClick={save}>
            Save as picture
          </button>
        )}
      </div>
      <Table data={data} />
    </figure>
  );
}

function Table({ data: { lines, labels, xTitle } }: { data: Data }) {
  return (
    <details>
      <summary>Table of values</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">{xTitle || "Position"}</th>
            {lines.map(({ name }) => (
              <th scope="col">{name || "Value"}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {labels.map((label, at) => (
            <tr>
              <th scope="row">{label}</th>
              {lines.map(({ values }) => (
                <td>{values[at]}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

/** The drawing as a PNG of twice its size, with the colours that it has now. */
async function pictureOf(svg: SVGSVGElement): Promise<Uint8Array> {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const { color, fontFamily, backgroundColor } = getComputedStyle(document.body);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(WIDTH * 2));
  copy.setAttribute("height", String(HEIGHT * 2));
  copy.setAttribute("style", `font:12px ${fontFamily};fill:${color}`);
  for (const line of copy.querySelectorAll("line")) line.setAttribute("stroke", "#8888");
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(copy.outerHTML)}`;
  await image.decode();
  const canvas = new OffscreenCanvas(WIDTH * 2, HEIGHT * 2);
  const context = canvas.getContext("2d")!;
  context.fillStyle = backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0);
  return new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
}

view.show(({ input, isPartial = true, result, cancelled }) => {
  const text = result?.content.find((block) => block.type === "text")?.text;
  render(
    <main>
      {result?.isError ? (
        <p class="error">{text}</p>
      ) : cancelled !== undefined ? (
        <p class="empty">It was cancelled.</p>
      ) : (
        <Chart data={dataOf(input)} isWriting={isPartial} />
      )}
    </main>,
    document.body,
  );
});
