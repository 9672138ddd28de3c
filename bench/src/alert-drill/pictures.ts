import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { ROOT } from './stage.ts'

const FOLDER = join(ROOT, 'docs', 'observability')
const WIDTH = 700
const GRAPHS_MAX = 3
/** A picture shows no graph that reaches below this height: it would only add bytes. */
const HEIGHT_MAX = 2_100
/** Shows only the informative parts of the page: whole expressions, with their graphs and legends. */
const STYLE = `
  nav, .query-history, .form-inline, .eval_stats, .text-right, .nav-tabs, .prometheus_input_group, #add_graph {
    display: none !important
  }
  body { padding-top: 8px !important }
  .col-lg-10 { max-width: none !important; flex: none !important }
  .expression_input {
    field-sizing: content; height: auto !important; border: 0; box-shadow: none !important; resize: none; font: 13px monospace
  }`
const PATIENCE_MS = 30_000

/** Queries to be drawn, and the name of the picture. */
interface Pictured {
  readonly uid: string
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
}

/** The period of the graphs: a number of minutes before a time. */
interface Span {
  readonly minutes: number
  readonly end: Date
}

/** Fails early if the pictures cannot be taken. @throws Error when there is no browser */
export async function checkBrowser(): Promise<void> {
  await withPage(async () => {})
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
      const address = `${url}/graph?${new URLSearchParams(Object.assign({}, ...graphs))}`
      await page.goto(address, { waitUntil: 'networkidle', timeout: PATIENCE_MS })
      await page.addStyleTag({ content: STYLE })
      const clip = { x: 0, y: 0, width: WIDTH, height: await heightOf(page) }
      await page.screenshot({ path: join(FOLDER, `${uid}.png`), fullPage: true, clip, animations: 'disabled' })
    }
  })
}

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof chromium.launch>>['newPage']>>

/** The height down to the end of the last graph that fits. */
async function heightOf(page: Page): Promise<number> {
  const top = (await page.locator('body').boundingBox())?.y ?? 0
  const boxes = await Promise.all((await page.locator('.graph_wrapper').all()).map((graph) => graph.boundingBox()))
  const ends = boxes.map((box) => (box ? Math.ceil(box.y + box.height - top) : 0))
  return Math.max(...ends.filter((end) => end <= HEIGHT_MAX))
}

async function withPage(use: (page: Page) => Promise<void>): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    // Chromium's sandbox does not work in a container.
    args: ['--no-sandbox', '--disable-quic'],
  })
  try {
    await use(await browser.newPage({ viewport: { width: WIDTH, height: 800 } }))
  } finally {
    await browser.close()
  }
}
