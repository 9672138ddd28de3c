import { join } from 'node:path'
import axe, { type AxeResults } from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { findCutTexts } from '../payment-page/visitor.ts'
import { askByKeyboard, skipNavigation, tryKeys, tryMenu, walkByKeyboard } from './keyboard.ts'
import type { ConsoleName, Screen } from './screens.ts'

/** A window of a browser. */
export interface View {
  readonly width: number
  readonly height: number
  readonly scheme: 'light' | 'dark'
}

/** Each screen is opened in all of these. The walk by keyboard is in the last ones of each width. */
export const VIEWS: readonly View[] = [320, 768, 1_280].flatMap((width) =>
  (['dark', 'light'] as const).map((scheme) => ({ width, height: 844, scheme })),
)

/** The cookies of who is signed in. */
export type Session = Awaited<ReturnType<BrowserContext['storageState']>>

/** The browser, with the consoles that are looked at, and the session of each. */
export interface Looker {
  readonly browser: Browser
  readonly consoles: Map<ConsoleName, { readonly url: string; readonly session: Session | undefined }>
}

/** Opens a screen in a window, takes its picture, and returns what is wrong with it. */
export async function lookAtScreen(looker: Looker, { screen, view, pictures }: Glance): Promise<readonly string[]> {
  const { at = 'operator' } = screen
  const { url = '', session } = looker.consoles.get(at) ?? {}
  const context = await openWindow(looker, view, session)
  const page = await context.newPage()
  const watched = watchPage(page)
  const name = join(pictures, `${screen.name}-${view.width}-${view.scheme}`)
  try {
    await screen.open(page, url)
    const found = [...(await judgePage(page))]
    await page.screenshot({ path: `${name}.png`, fullPage: true, animations: 'disabled' })
    if (session !== undefined && new URL(page.url()).pathname === '/sign-in') found.push('shows the sign-in')
    return [...found, ...(view.scheme === 'light' ? await useKeyboard(page, view, name) : []), ...watched]
  } catch (error) {
    return [...watched, error instanceof Error ? error.message : String(error)]
  } finally {
    // The cookie of the page says when the session was used last. With the cookie of the sign-in, a long run would end after 30
    // minutes.
    if (session !== undefined) looker.consoles.set(at, { url, session: await context.storageState() })
    await context.close()
  }
}

/** A browser window as an operator has it. */
export async function openWindow(
  { browser }: Pick<Looker, 'browser'>,
  { width, height, scheme }: View,
  storageState?: Session,
): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Copenhagen',
    ...(storageState && { storageState }),
  })
  context.setDefaultTimeout(PATIENCE_MS)
  return context
}

/** A machine that has other work to do answers late, and is not what is judged. */
const PATIENCE_MS = 300_000

/** The screens to look at, and the folder of the pictures. */
export interface Glance {
  readonly screen: Screen
  readonly view: View
  /** The folder of the pictures. */
  readonly pictures: string
}

/** The whole work by keyboard: on a wide page the walk, the keys and the question; on a narrow one the menu. */
async function useKeyboard(page: Page, { width }: View, name: string): Promise<readonly string[]> {
  const isOfOperator = (await page.locator('header.top').count()) > 0
  const judgeWith = (state: string, part?: string) => async () => {
    await page.screenshot({ path: `${name}-${state}.png`, animations: 'disabled' })
    return judgePage(page, part)
  }
  if (width === 768) return []
  if (width < 768) return isOfOperator ? tryMenu(page, judgeWith('menu', 'header.top')) : []
  if (!isOfOperator) return walkByKeyboard(page)
  return [
    ...(await skipNavigation(page)),
    ...(await walkByKeyboard(page)),
    ...(await tryKeys(page)),
    ...(await askByKeyboard(page, judgeWith('question'))),
  ]
}

/**
 * Watches a page from before it is opened. The list grows: errors of scripts, what its policy forbids, and what is loaded from
 * elsewhere.
 */
function watchPage(page: Page): string[] {
  const problems: string[] = []
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url())
    if (hostname !== 'localhost' && protocol !== 'data:') problems.push(`loads ${request.url()}`)
  })
  page.on('pageerror', (error) => problems.push(`script: ${error.message}`))
  page.on('console', (line) => {
    // The browser reports the status of pages that are meant to be refused.
    const isStatus = /the server responded with a status of (4|503)/.test(line.text())
    // What the policy of a page forbids is an error of the console too.
    if (line.type() === 'error' && !isStatus) problems.push(`console: ${line.text()}`)
  })
  return problems
}

/**
 * Judges the page as it is now: whether it is wider than its window, its texts are cut, or axe-core finds something.
 * @param part a selector of what axe-core looks at: where a menu covers half of a link, the link is no small target
 */
async function judgePage(page: Page, part = 'html'): Promise<readonly string[]> {
  const [width = 0, shown = 0] = await page.evaluate<number[]>('[document.documentElement.scrollWidth, innerWidth]')
  return [
    ...(width > shown ? [`is ${width} px wide in a window of ${shown} px`] : []),
    ...(await findCutTexts(page)),
    ...(await findViolations(page, part)),
  ]
}

/** All rules of axe-core, with the rule on the size of targets (WCAG 2.2), which it leaves out by itself. */
const AXE_OPTIONS = JSON.stringify({ rules: { 'target-size': { enabled: true } } })

async function findViolations(page: Page, part: string): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(part)}, ${AXE_OPTIONS})`)
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`)
}
