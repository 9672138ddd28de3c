import { LineChart } from 'echarts/charts'
import { GraphicComponent, GridComponent, LegendComponent, TitleComponent } from 'echarts/components'
import { type EChartsCoreOption, init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'

use([LineChart, GraphicComponent, GridComponent, LegendComponent, TitleComponent, SVGRenderer])

/** The width of a picture. */
export const WIDTH = 1_200
/** The space between cards, above the first card, and inside of a card. */
export const [GAP, HEADER, INSET] = [16, 56, 14]
/** The height of the labels of an axis. */
export const AXIS = 24

/** Without quotes: the library writes a font into attributes as it is. */
const FONT = 'system-ui, sans-serif'
/** The colours of everything but lines. */
export const COLOURS = {
  page: '#eef1f4',
  card: '#ffffff',
  text: '#1a1d21',
  faint: '#555d66',
  line: '#e3e7eb',
  alert: '#b3261e',
}

/** An axis of times, in the plot of an index. */
export function timeAxis(gridIndex: number, bounds: { readonly min?: number; readonly max?: number }): object {
  return {
    type: 'time',
    gridIndex,
    splitNumber: 4,
    ...bounds,
    axisLine: { lineStyle: { color: COLOURS.line } },
    axisTick: { show: false },
    axisLabel: { color: COLOURS.faint, fontSize: 11, hideOverlap: true, formatter: '{HH}:{mm}' },
  }
}

/** The rectangle behind a plot. */
export function cardOf(shape: {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}): object {
  const { left: x, top: y, width, height } = shape
  return { type: 'rect', z: -1, silent: true, shape: { x, y, width, height, r: 8 }, style: { fill: COLOURS.card } }
}

/** The title of a picture. */
export function heading(text: string): object {
  return { left: GAP, top: GAP, text, textStyle: textOf(20, 700), padding: 0 }
}

/** The style of a text. */
export function textOf(fontSize: number, fontWeight: number): object {
  return { fontFamily: FONT, fontSize, fontWeight, color: COLOURS.text }
}

/** Draws what the library is given. Returns SVG. */
export function draw(height: number, option: EChartsCoreOption): string {
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
