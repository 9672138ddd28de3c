import { startChromium } from '@trestle/testing/chromium.ts'
import axe, { type AxeResults } from 'axe-core'
import type { Browser, BrowserContext, BrowserContextOptions, Frame, Page, Request } from 'playwright-core'
import { say } from '../program.ts'

export interface View {
  readonly width: number
  readonly height: number
  readonly scheme: 'light' | 'dark'
}

/** Returns views of these widths, each dark and light. */
export function viewsOf(widths: readonly number[], height = 844): readonly View[] {
  return widths.flatMap((width) => (['dark', 'light'] as const).map((scheme) => ({ width, height, scheme })))
}

/** Starts Chromium. CHROMIUM is the path of the program. Disposing of `started` stops it. */
export async function startBrowser(started: AsyncDisposableStack): Promise<Browser> {
  const browser = await startChromium(process.env.CHROMIUM)
  started.defer(() => browser.close())
  return browser
}

export function openWindow(
  browser: Browser,
  { width, height, scheme }: View,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  return browser.newContext({ viewport: { width, height }, colorScheme: scheme, locale: 'en-GB', ...options })
}

/** Opens a page in each view and prints the problems. With problems, the exit status is 1. */
export async function lookAt(
  name: string,
  views: readonly View[],
  look: (view: View, picture: string) => Promise<readonly string[]>,
): Promise<void> {
  const problems: string[] = []
  for (const view of views) {
    const found = await look(view, `${name}-${view.width}-${view.scheme}`)
    problems.push(...found.map((problem) => `${view.width} ${view.scheme}: ${problem}`))
  }
  if (problems.length > 0) process.exitCode = 1
  say(`${problems.length > 0 ? 'FAIL' : 'ok  '}  ${[name, ...problems].join('\n        ')}`)
}

/**
 * Watches a page from before it is opened. The returned list grows: script errors, violations of the content security policy
 * (also errors of the console), and requests to other origins.
 * @param expected harmless errors of the console, because the browser reports the status of intentionally refused pages
 */
export function watchPage(
  page: Page,
  { isOwn, expected }: { readonly isOwn: (url: URL, request: Request) => boolean; readonly expected: RegExp },
): string[] {
  const problems: string[] = []
  page.context().on('request', (request) => {
    if (!isOwn(new URL(request.url()), request)) problems.push(`loads ${request.url()}`)
  })
  page.on('pageerror', (error) => problems.push(`script: ${error.message}`))
  page.on('console', (line) => {
    if (line.type() === 'error' && !expected.test(line.text())) problems.push(`console: ${line.text()}`)
  })
  return problems
}

/** Returns problems of the present page: it is wider than its window, texts are cut off, or axe-core finds something. */
export async function judgePage(page: Page, axeOptions: AxeOptions = {}): Promise<readonly string[]> {
  const [width = 0, shown = 0] = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]')
  return [
    ...(width > shown ? [`is ${width} px wide in a window of ${shown} px`] : []),
    ...(await findCutTexts(page)),
    ...(await findBarriers(page, axeOptions)),
  ]
}

interface AxeOptions {
  /** A selector of the part that axe-core checks. */
  readonly part?: string
  /** Rules that axe-core disables by default. */
  readonly rules?: Readonly<Record<string, { readonly enabled: boolean }>>
}

/**
 * Returns the accessibility problems that axe-core finds. Checks each frame separately, because the content security policy
 * forbids axe-core to enter frames. Skips frames without scripts.
 */
export async function findBarriers(
  page: Page,
  { part = 'html', rules = {} }: AxeOptions = {},
): Promise<readonly string[]> {
  const found: string[] = []
  for (const frame of page.frames()) {
    if (!(await runsScripts(frame))) continue
    await frame.evaluate(axe.source)
    const options = JSON.stringify({ iframes: false, rules })
    const { violations } = await frame.evaluate<AxeResults>(`axe.run(${JSON.stringify(part)}, ${options})`)
    const problems = violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`,
    )
    if (problems.length > 0) found.push(frame.url().slice(0, 80), ...problems)
  }
  return found
}

/**
 * Returns texts that the page cuts off without a scroll bar. Text only for screen readers is one pixel wide. The name of an
 * operation above a narrow API document is excluded, because the full name is below.
 */
async function findCutTexts(page: Page): Promise<readonly string[]> {
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
