import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { ROOT } from './stage.ts'

const FOLDER = join(ROOT, 'docs', 'observability')
const WIDTH = 700
const GRAPHS_MAX = 3
/** What is below adds bytes rather than news. */
const HEIGHT_MAX = 2_100
const CLIP = { x: 0, y: 0, width: WIDTH, height: HEIGHT_MAX }
/** Of every page: what would lie over the graphs, or takes room without telling anything. */
const QUIET = 'nav, .query_stats, .remove_graph, #add_graph { display: none !important }'
const PATIENCE_MS = 30_000

/** Queries to be drawn, and the name of the picture. */
interface Pictured {
  readonly uid: string
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
}

/** What the graphs show: so many minutes before a time. */
interface Span {
  readonly minutes: number
  readonly end: Date
}

/** Takes a picture of the first graphs of each dashboard as Prometheus itself draws them. */
export async function takePictures(url: string, dashboards: readonly Pictured[], span: Span): Promise<void> {
  const end = span.end.toISOString().slice(0, 19).replace('T', ' ')
  await withPage(async (page) => {
    for (const { uid, panels } of dashboards) {
      const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).slice(0, GRAPHS_MAX)
      const graphs = expressions.map((expr, i) => ({
        [`g${i}.expr`]: expr,
        [`g${i}.tab`]: '0',
        [`g${i}.range_input`]: `${span.minutes}m`,
        [`g${i}.end_input`]: end,
      }))
      await page.goto(`${url}/graph?${new URLSearchParams(Object.assign({}, ...graphs))}`)
      await page
        .locator('svg')
        .nth(expressions.length - 1)
        .waitFor({ timeout: PATIENCE_MS })
      await page.addStyleTag({ content: QUIET })
      await page.screenshot({ path: join(FOLDER, `${uid}.png`), fullPage: true, clip: CLIP, animations: 'disabled' })
    }
  })
}

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof chromium.launch>>['newPage']>>

async function withPage(use: (page: Page) => Promise<void>): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    // A container has no sandbox of its own to give.
    args: ['--no-sandbox', '--disable-quic'],
  })
  try {
    await use(await browser.newPage({ viewport: { width: WIDTH, height: 800 } }))
  } finally {
    await browser.close()
  }
}
