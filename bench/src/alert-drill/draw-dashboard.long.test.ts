import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { drawAlerts } from './draw-alerts.ts'
import { drawDashboard, formatValue, type Line } from './draw-dashboard.ts'
import { readDashboards } from './pictures.ts'
import { ROOT } from './stage.ts'

const START = Date.UTC(2026, 0, 1, 12)
const lineOf = (name: string, value: number): Line => ({
  name,
  points: [0, 1, 2].map((minutes) => [START + minutes * 60_000, value]),
})
/** The texts of a picture, in their order. */
const textsOf = (svg: string) => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text = '']) => text)

/** The rest of a picture without elements whose attributes are well formed, comments and styles. */
const malformedIn = (svg: string) =>
  svg.replaceAll(/<!\[CDATA\[.*?\]\]>|<\/?[\w:]+(?:\s+[\w:-]+="[^"<]*")*\s*\/?>/gs, '').match(/[<>]/g)

describe('drawDashboard', () => {
  it('gives each panel its title, its legend and its unit', () => {
    const texts = textsOf(
      drawDashboard('payments', [
        { title: 'Requests', unit: 'reqps', lines: [lineOf('GET /me', 12), lineOf('a <b> & "c"', 6)] },
        { title: 'Median', unit: 's', lines: [lineOf('GET /me', 0.002)] },
      ]),
    )
    const [rates, times] = [
      ['0/s', '5/s', '10/s', '15/s'],
      ['0', '0.5 ms', '1 ms', '1.5 ms', '2 ms'],
    ]
    const minutes = ['12:00', '12:01', '12:02']
    const legends = ['GET /me', 'a &lt;b&gt; &amp; &quot;c&quot;', 'GET /me']
    expect(texts).toEqual([...rates, ...times, ...minutes, ...minutes, ...legends, 'payments', 'Requests', 'Median'])
  })

  it('names the five lines with the highest values, and counts the others', () => {
    const lines = [1, 7, 2, 6, 3, 5, 4].map((value) => lineOf(`line ${value}`, value))
    const texts = textsOf(drawDashboard('auth', [{ title: 'Requests', unit: 'reqps', lines }]))
    expect(texts.filter((text) => /^line|more$/.test(text)).sort()).toEqual(
      ['and 2 more', 'line 3', 'line 4', 'line 5', 'line 6', 'line 7'].sort(),
    )
  })

  it('draws a panel without data, and leaves gaps where there is no number', () => {
    const gap = {
      name: 'gap',
      points: [[START, Number.NaN] as const, [START + 1_000, Number.POSITIVE_INFINITY] as const],
    }
    expect(
      drawDashboard('auth', [
        { title: 'Empty', unit: 's', lines: [] },
        { title: 'Gap', unit: 's', lines: [gap] },
      ]),
    ).not.toMatch(/NaN|Infinity/)
  })
})

it('drawAlerts: gives each alert a row, and a bar for each time that it fired', () => {
  const fired = [0, 5, 10, 200, 205, 290].map((seconds) => START + seconds * 1_000)
  const firings = [
    { alert: 'Quiet', times: [] },
    { alert: 'Down', times: fired },
  ]
  const svg = drawAlerts('Alerts', firings, [START, START + 300_000])
  expect(malformedIn(svg)).toBeNull()
  const minutes = ['12:00', '12:01', '12:02', '12:03', '12:04', '12:05']
  expect(textsOf(svg)).toEqual(['Quiet', 'Down', ...minutes, 'Alerts'])
  expect(svg.match(/d="M[\d.]+ [\d.]+L[^"]*"[^>]*stroke="#b3261e"/g)).toHaveLength(3)
})

it.each([
  [1_234.5, 'reqps', '1230/s'],
  [0, 'reqps', '0/s'],
  [0.25, 's', '250 ms'],
  [1.5, 's', '1.5 s'],
  [0, 's', '0'],
  [0.125, 'percentunit', '12.5 %'],
  [0, 'bytes', '0 B'],
  [3 * 1_024 ** 2, 'bytes', '3 MiB'],
  [2, 'short', '2'],
])('formatValue: %d in %s is %s', (value, unit, text) => {
  expect(formatValue(value, unit)).toBe(text)
})

it('the pictures of docs/observability have the titles of the dashboards', () => {
  const folder = join(ROOT, 'docs', 'observability')
  const titles = new Map(readDashboards().map(({ uid, panels }) => [uid, panels.map(({ title }) => title)]))
  const pictures = globSync('trestle-*.svg', { cwd: folder })
  expect(pictures.map((file) => basename(file, '.svg')).sort()).toEqual([...titles.keys()].sort())
  for (const file of pictures) {
    const svg = readFileSync(join(folder, file), 'utf8')
    expect(malformedIn(svg), file).toBeNull()
    const texts = textsOf(svg)
    const shown = titles.get(basename(file, '.svg'))?.filter((title) => texts.includes(title))
    expect(shown?.length, file).toBeGreaterThanOrEqual(3)
  }
})
