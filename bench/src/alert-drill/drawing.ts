import { LineChart } from 'echarts/charts'
import { GraphicComponent, GridComponent, LegendComponent, TitleComponent } from 'echarts/components'
import { type EChartsCoreOption, init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'

use([LineChart, GraphicComponent, GridComponent, LegendComponent, TitleComponent, SVGRenderer])

/** A value at a time, which is in milliseconds since 1970. */
export type Point = readonly [at: number, value: number]

/** A series of a graph. */
export interface Line {
  readonly name: string
  readonly points: readonly Point[]
}

/** What a panel of a dashboard shows. */
export interface Graph {
  readonly title: string
  /** Grafana's name of the unit: `reqps`, `s`, `percentunit`, `ops`, `short`, `bytes`. */
  readonly unit: string
  readonly lines: readonly Line[]
}

/** The times at which an alert fired, in milliseconds since 1970. */
export interface Firing {
  readonly alert: string
  readonly times: readonly number[]
}

const WIDTH = 1_200
const COLUMNS = 3
const [GAP, HEADER, INSET] = [16, 56, 14]
const PANEL = { width: (WIDTH - (COLUMNS + 1) * GAP) / COLUMNS, plot: 150, top: 44, axis: 24, entry: 20 }
/** A legend names this many lines at most, those with the highest values. */
const NAMED_MAX = 5
const [ROW, NAMES] = [22, 250]

/** Without quotes: the library writes a font into attributes as it is. */
const FONT = 'system-ui, sans-serif'
const COLOURS = {
  page: '#eef1f4',
  card: '#ffffff',
  text: '#1a1d21',
  faint: '#555d66',
  line: '#e3e7eb',
  alert: '#b3261e',
}
/** Apart from each other for people who see few colours too. */
const LINES = ['#0b5cad', '#d55e00', '#009e73', '#8a4fbf', '#b58900', '#56a0d3', '#c2185b', '#5d6d7e']

/** Draws graphs in rows of three, each with its title and legend. Returns SVG. */
export function drawDashboard(title: string, graphs: readonly Graph[]): string {
  const legend = Math.max(
    1,
    ...graphs.map(({ lines }) => Math.min(lines.length, NAMED_MAX) + Number(lines.length > NAMED_MAX)),
  )
  const panelHeight = PANEL.top + PANEL.plot + PANEL.axis + legend * PANEL.entry + INSET
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

/** Draws a row for each alert, with a bar while it fired. `span` is the period in milliseconds since 1970. Returns SVG. */
export function drawAlerts(
  title: string,
  firings: readonly Firing[],
  span: readonly [start: number, end: number],
): string {
  const height = HEADER + firings.length * ROW + 2 * PANEL.axis + GAP
  const card = { left: GAP, top: HEADER, width: WIDTH - 2 * GAP, height: height - HEADER - GAP }
  return draw(height, {
    title: [heading(title)],
    graphic: [cardOf(card)],
    grid: [
      { left: GAP + NAMES, top: HEADER + INSET, width: card.width - NAMES - 2 * INSET, height: firings.length * ROW },
    ],
    xAxis: [timeAxis(0, { min: span[0], max: span[1] })],
    yAxis: [
      {
        type: 'category',
        inverse: true,
        data: firings.map(({ alert }) => alert),
        axisLine: { show: false },
        axisTick: { show: false },
        axisLabel: { color: COLOURS.text, fontSize: 13, interval: 0 },
        splitLine: { show: true, lineStyle: { color: COLOURS.line } },
      },
    ],
    series: firings.flatMap(({ alert, times }) =>
      barsOf(times).map(([start, end]) => ({
        ...{
          type: 'line',
          data: [
            [start, alert],
            [end, alert],
          ],
          symbol: 'none',
          silent: true,
        },
        lineStyle: { color: COLOURS.alert, width: 10, cap: 'round' },
      })),
    ),
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
  const legendTop = plot.top + plot.height + PANEL.axis
  const more = { left: left + INSET, top: legendTop + NAMED_MAX * PANEL.entry, text: `and ${others} more` }
  return {
    card: cardOf({ left, top, width: PANEL.width, height }),
    title: [
      { left: left + INSET, top: top + INSET, text: title, textStyle: textOf(15, 600), padding: 0 },
      ...(others > 0 ? [{ ...more, textStyle: { ...textOf(12, 400), color: COLOURS.faint }, padding: 0 }] : []),
    ],
    legend: {
      ...{
        left: left + INSET,
        top: legendTop,
        orient: 'vertical',
        align: 'left',
        padding: 0,
        itemGap: PANEL.entry - 14,
      },
      data: named.map(idOf),
      formatter: (id: string) => id.slice(id.indexOf(' ') + 1),
      ...{ icon: 'roundRect', itemWidth: 14, itemHeight: 4, inactiveColor: COLOURS.faint },
      textStyle: { ...textOf(12, 400), width: PANEL.width - 2 * INSET - 24, overflow: 'truncate' },
    },
    grid: plot,
    xAxis: timeAxis(index, {}),
    yAxis: {
      ...{ type: 'value', gridIndex: index, min: 0, splitNumber: 3 },
      axisLabel: { color: COLOURS.faint, fontSize: 11, formatter: (value: number) => formatValue(value, unit) },
      splitLine: { lineStyle: { color: COLOURS.line } },
    },
    series: sorted.map((line, i) => ({
      ...{ type: 'line', name: idOf(line), xAxisIndex: index, yAxisIndex: index, silent: true, symbol: 'none' },
      data: line.points.map(([at, value]) => [at, Number.isFinite(value) ? value : null]),
      lineStyle: { width: 1.75 },
      color: LINES[i % LINES.length],
    })),
  }
}

function timeAxis(gridIndex: number, bounds: { readonly min?: number; readonly max?: number }) {
  return {
    ...{ type: 'time', gridIndex, splitNumber: 4, ...bounds },
    axisLine: { lineStyle: { color: COLOURS.line } },
    axisTick: { show: false },
    axisLabel: { color: COLOURS.faint, fontSize: 11, hideOverlap: true, formatter: '{HH}:{mm}' },
  }
}

function cardOf(shape: {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}) {
  const { left: x, top: y, width, height } = shape
  return { type: 'rect', z: -1, silent: true, shape: { x, y, width, height, r: 8 }, style: { fill: COLOURS.card } }
}

function heading(text: string) {
  return { left: GAP, top: GAP, text, textStyle: textOf(20, 700), padding: 0 }
}

function textOf(fontSize: number, fontWeight: number) {
  return { fontFamily: FONT, fontSize, fontWeight, color: COLOURS.text }
}

function draw(height: number, option: EChartsCoreOption): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height })
  try {
    chart.setOption({
      animation: false,
      useUTC: true,
      backgroundColor: COLOURS.page,
      textStyle: { fontFamily: FONT },
      ...option,
    })
    return `${chart.renderToSVGString()}\n`
  } finally {
    chart.dispose()
  }
}

function highest({ points }: Line): number {
  return Math.max(0, ...points.map(([, value]) => value).filter(Number.isFinite))
}

/** The longest pause between two samples of the same bar, and how long a sample is shown. */
const [PAUSE_MS, SAMPLE_MS] = [60_000, 5_000]

/** Joins the times at which an alert fired to bars. */
function barsOf(times: readonly number[]): readonly (readonly [start: number, end: number])[] {
  const bars: [number, number][] = []
  for (const time of times) {
    const last = bars.at(-1)
    if (last && time - last[1] <= PAUSE_MS) last[1] = time + SAMPLE_MS
    else bars.push([time, time + SAMPLE_MS])
  }
  return bars
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
