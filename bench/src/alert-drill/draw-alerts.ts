import { AXIS, COLOURS, cardOf, draw, GAP, HEADER, heading, INSET, timeAxis, WIDTH } from './picture.ts'

/** The times at which an alert fired, in milliseconds since 1970. */
export interface Firing {
  readonly alert: string
  readonly times: readonly number[]
}

const [ROW, NAMES] = [22, 250]

/** Draws a row for each alert, with a bar while it fired. `span` is the period in milliseconds since 1970. Returns SVG. */
export function drawAlerts(
  title: string,
  firings: readonly Firing[],
  span: readonly [start: number, end: number],
): string {
  const height = HEADER + firings.length * ROW + 2 * AXIS + GAP
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
        type: 'line',
        data: [
          [start, alert],
          [end, alert],
        ],
        symbol: 'none',
        silent: true,
        lineStyle: { color: COLOURS.alert, width: 10, cap: 'round' },
      })),
    ),
  })
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
