import { AXIS, COLOURS, cardOf, draw, GAP, HEADER, heading, INSET, textOf, timeAxis, WIDTH } from './picture.ts'

/** A value at a time, which is in milliseconds since 1970. */
export type Point = readonly [at: number, value: number]

/** A series of a graph. */
export interface Line {
  readonly name: string
  readonly points: readonly Point[]
}

/** The content of a panel of a dashboard. */
export interface Graph {
  readonly title: string
  /** Grafana's name of the unit: `reqps`, `s`, `percentunit`, `ops`, `short`, `bytes`. */
  readonly unit: string
  readonly lines: readonly Line[]
}

const COLUMNS = 3
const PANEL = { width: (WIDTH - (COLUMNS + 1) * GAP) / COLUMNS, plot: 150, top: 44, entry: 20 }
/** A legend names this many lines at most, those with the highest values. */
const NAMED_MAX = 5
/** Apart from each other for people who see few colours too. */
const LINES = ['#0b5cad', '#d55e00', '#009e73', '#8a4fbf', '#b58900', '#56a0d3', '#c2185b', '#5d6d7e']

/** Draws graphs in rows of three, each with its title and legend. Returns SVG. */
export function drawDashboard(title: string, graphs: readonly Graph[]): string {
  const legend = Math.max(
    1,
    ...graphs.map(({ lines }) => Math.min(lines.length, NAMED_MAX) + Number(lines.length > NAMED_MAX)),
  )
  const panelHeight = PANEL.top + PANEL.plot + AXIS + legend * PANEL.entry + INSET
  const height = HEADER + Math.ceil(graphs.length / COLUMNS) * (panelHeight + GAP)
  const panels = graphs.map((graph, i) => {
    const left = GAP + (i % COLUMNS) * (PANEL.width + GAP)
    const top = HEADER + Math.floor(i / COLUMNS) * (panelHeight + GAP)
    return panelOf(graph, { index: i, left, top, height: panelHeight })
  })
  return draw(height, {
    title: [heading(title), ...panels.flatMap((panel) => panel.title)],
    graphic: panels.map((panel) => panel.card),
    legend: panels.map((panel) => panel.legend),
    grid: panels.map((panel) => panel.grid),
    xAxis: panels.map((panel) => panel.xAxis),
    yAxis: panels.map((panel) => panel.yAxis),
    series: panels.flatMap((panel) => panel.series),
  })
}

interface Place {
  readonly index: number
  readonly left: number
  readonly top: number
  readonly height: number
}

function panelOf({ title, unit, lines }: Graph, { index, left, top, height }: Place) {
  const sorted = [...lines].sort((a, b) => highest(b) - highest(a))
  const [named, others] = [sorted.slice(0, NAMED_MAX), sorted.length - NAMED_MAX]
  // Names of series are unique in the whole picture: a legend finds its lines by name.
  const idOf = (line: Line) => `${index} ${line.name}`
  const plot = {
    left: left + INSET + 50,
    top: top + PANEL.top,
    width: PANEL.width - 2 * INSET - 50,
    height: PANEL.plot,
  }
  const legendTop = plot.top + plot.height + AXIS
  const more = { left: left + INSET, top: legendTop + NAMED_MAX * PANEL.entry, text: `and ${others} more` }
  return {
    card: cardOf({ left, top, width: PANEL.width, height }),
    title: [
      { left: left + INSET, top: top + INSET, text: title, textStyle: textOf(15, 600), padding: 0 },
      ...(others > 0 ? [{ ...more, textStyle: { ...textOf(12, 400), color: COLOURS.faint }, padding: 0 }] : []),
    ],
    legend: {
      left: left + INSET,
      top: legendTop,
      orient: 'vertical',
      align: 'left',
      padding: 0,
      itemGap: PANEL.entry - 14,
      data: named.map(idOf),
      formatter: (id: string) => id.slice(id.indexOf(' ') + 1),
      icon: 'roundRect',
      itemWidth: 14,
      itemHeight: 4,
      inactiveColor: COLOURS.faint,
      textStyle: { ...textOf(12, 400), width: PANEL.width - 2 * INSET - 24, overflow: 'truncate' },
    },
    grid: plot,
    xAxis: timeAxis(index, {}),
    yAxis: {
      type: 'value',
      gridIndex: index,
      min: 0,
      splitNumber: 3,
      axisLabel: { color: COLOURS.faint, fontSize: 11, formatter: (value: number) => formatValue(value, unit) },
      splitLine: { lineStyle: { color: COLOURS.line } },
    },
    series: sorted.map((line, i) => ({
      type: 'line',
      name: idOf(line),
      xAxisIndex: index,
      yAxisIndex: index,
      silent: true,
      symbol: 'none',
      data: line.points.map(([at, value]) => [at, Number.isFinite(value) ? value : null]),
      lineStyle: { width: 1.75 },
      color: LINES[i % LINES.length],
    })),
  }
}

function highest({ points }: Line): number {
  return Math.max(0, ...points.map(([, value]) => value).filter(Number.isFinite))
}

const BYTES = ['B', 'KiB', 'MiB', 'GiB']

/** A value with its unit, as short as on an axis. */
export function formatValue(value: number, unit: string): string {
  const short = (number: number) => String(Number(number.toPrecision(3)))
  if (unit === 'reqps' || unit === 'ops') return `${short(value)}/s`
  if (unit === 'percentunit') return `${short(value * 100)} %`
  if (unit === 's' && value !== 0) return Math.abs(value) < 1 ? `${short(value * 1_000)} ms` : `${short(value)} s`
  if (unit !== 'bytes') return short(value)
  const step = value === 0 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log2(value) / 10))
  return `${short(value / 1_024 ** step)} ${BYTES[step]}`
}
