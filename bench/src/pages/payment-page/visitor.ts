import { startChromium } from '@trestle/testing/chromium.ts'
import axe, { type AxeResults } from 'axe-core'
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core'
import type { Stage } from './stage.ts'

/** The browser of a visitor, and the origins that it may load from. */
export interface Visit {
  readonly browser?: BrowserContextOptions
  /** Whether the shop of `examples/` is visited, which uses payments and auth. */
  readonly isShopping?: boolean
}

/** A customer with a fresh browser window, and what that browser did. */
export interface Visitor {
  readonly page: Page
  readonly stage: Stage
  /** @throws Error that names what axe-core finds in any frame of the page */
  expectAccessible(): Promise<void>
  /** @throws Error that names what was loaded from other origins, or what went wrong in a script */
  expectQuiet(): void
  leave(): Promise<void>
}

/** The console reports every answer that failed or was withheld. The journeys check what pages do with them. */
const ANSWERED = /^Failed to load resource: (net::ERR_FAILED|the server responded with a status of (4|502|503))/
const PATIENCE_MS = 20_000

/** Starts Chromium. CHROMIUM names the program. Disposing of `started` ends it. */
export async function startBrowser(started: AsyncDisposableStack): Promise<Browser> {
  const browser = await startChromium(process.env.CHROMIUM)
  started.defer(() => browser.close())
  return browser
}

/** Opens a browser window in which nothing was visited before. */
export async function visit(browser: Browser, stage: Stage, { browser: options, isShopping }: Visit): Promise<Visitor> {
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  const origins = [stage.url, ...(isShopping ? [stage.exampleUrl, stage.authUrl] : [])]
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const problems: string[] = []
  context.on('request', (request) => {
    const url = new URL(request.url())
    const isOwn = origins.includes(url.origin) || url.protocol === 'data:'
    // A link may lead to the shop after the payment. That is a navigation, not a load.
    const isReturn = request.isNavigationRequest() && url.href.startsWith(stage.shopUrl)
    if (!isOwn && !isReturn) problems.push(`loads ${url.href}`)
  })
  page.on('pageerror', (error) => problems.push(`script: ${error.message}`))
  page.on('console', (line) => {
    if (line.type() === 'error' && !ANSWERED.test(line.text())) problems.push(`console: ${line.text()}`)
  })
  return {
    page,
    stage,
    expectAccessible: () => expectAccessible(page),
    expectQuiet: () => {
      if (problems.length > 0) throw new Error(problems.join('\n'))
    },
    leave: () => context.close(),
  }
}

async function expectAccessible(page: Page): Promise<void> {
  const found = await findBarriers(page)
  if (found.length > 0) throw new Error(found.join('\n'))
}

/**
 * Returns the barriers that axe-core finds in a page. The frames are checked one by one, because the policy of the pages
 * forbids axe-core to enter them. A frame that runs no script is left out.
 */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  const found: string[] = []
  for (const frame of page.frames()) {
    if (!(await runsScripts(frame))) continue
    await frame.evaluate(axe.source)
    const { violations } = await frame.evaluate<AxeResults>('axe.run({ iframes: false })')
    const problems = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
    if (problems.length > 0) found.push(frame.url().slice(0, 80), ...problems)
  }
  return found
}

/**
 * Texts that a page cuts, where nothing scrolls to the rest. What only screen readers see is a pixel wide.
 * The name of an operation above a narrow API document is in full below.
 */
export async function findCutTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll('body :not(.t-doc__header *)')]
    .filter((element) => ['hidden', 'clip'].includes(getComputedStyle(element).overflowX) && element.clientWidth > 1)
    .filter((element) => element.scrollWidth > element.clientWidth + 2 && element.innerText?.trim())
    .map((element) => 'is cut: ' + element.innerText.trim().slice(0, 80))`)
}

/** Whether axe-core can run in a frame. A mail is shown in a frame that forbids scripts. */
async function runsScripts(frame: Frame): Promise<boolean> {
  if (!frame.parentFrame()) return true
  const sandbox = await (await frame.frameElement()).getAttribute('sandbox')
  return sandbox === null || sandbox.includes('allow-scripts')
}
