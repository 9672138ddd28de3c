import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Dashboard } from './dashboards.ts'
import { ROOT } from './stage.ts'

const FOLDER = join(ROOT, 'docs', 'observability')
const WIDTH = 800
const GRAPHS_MAX = 4
/** Of every page: what would lie over the graphs, or takes room without telling anything. */
const QUIET = 'nav, .query_stats, .remove_graph, #add_graph { display: none !important }'
const PATIENCE_MS = 30_000

/** Takes a picture of the first graphs of each dashboard as Prometheus itself draws them. */
export async function takePictures(url: string, dashboards: readonly Dashboard[], minutes: number): Promise<void> {
  await withPage(async (page) => {
    for (const { uid, panels } of dashboards) {
      const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).slice(0, GRAPHS_MAX)
      const graphs = expressions.map((expr, i) => ({
        [`g${i}.expr`]: expr,
        [`g${i}.tab`]: '0',
        [`g${i}.range_input`]: `${minutes}m`,
      }))
      await page.goto(`${url}/graph?${new URLSearchParams(Object.assign({}, ...graphs))}`)
      await page
        .locator('svg')
        .nth(expressions.length - 1)
        .waitFor({ timeout: PATIENCE_MS })
      await page.addStyleTag({ content: QUIET })
      await page.screenshot({ path: join(FOLDER, `${uid}.png`), fullPage: true, animations: 'disabled' })
    }
  })
}

/** Takes a picture of the page of alerts. */
export async function takeAlertsPicture(url: string): Promise<void> {
  await withPage(async (page) => {
    await page.goto(`${url}/alerts`)
    await page.addStyleTag({ content: QUIET })
    await page.screenshot({ path: join(FOLDER, 'alerts.png'), fullPage: true, animations: 'disabled' })
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
