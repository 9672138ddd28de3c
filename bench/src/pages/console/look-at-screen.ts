import type { Browser, BrowserContext, Page } from 'playwright-core'
import { judgePage, openWindow, type View, watchPage } from '../watch.ts'
import type { ConsoleName, Screen } from './screens.ts'

export type Cookies = Awaited<ReturnType<BrowserContext['storageState']>>

export interface Looker {
  readonly browser: Browser
  readonly consoles: Map<ConsoleName, { readonly url: string; readonly cookies: Cookies | undefined }>
}

/** Long, because a busy machine answers late, which is not a fault of the page. */
const PATIENCE_MS = 300_000
/** The rule about target sizes (WCAG 2.2). axe-core disables it by default. */
const AXE_OPTIONS = { rules: { 'target-size': { enabled: true } } }

/**
 * Opens a screen in a window, takes a picture, and returns the problems of the screen.
 * @param picture the path of the picture without its extension
 */
export async function lookAtScreen(
  looker: Looker,
  screen: Screen,
  view: View,
  picture: string,
): Promise<readonly string[]> {
  const { at = 'operator' } = screen
  const { url = '', cookies } = looker.consoles.get(at) ?? {}
  const context = await openOperatorWindow(looker.browser, view, cookies)
  const page = await context.newPage()
  const watched = watchPage(page, {
    isOwn: ({ hostname, protocol }) => hostname === 'localhost' || protocol === 'data:',
    expected: /the server responded with a status of (4|503)/,
  })
  try {
    await screen.open(page, url)
    const found = [...(await judgePage(page, AXE_OPTIONS))]
    await page.screenshot({ path: `${picture}.png`, fullPage: true, animations: 'disabled' })
    if (cookies !== undefined && new URL(page.url()).pathname === '/sign-in') found.push('shows the sign-in')
    return [...found, ...(view.scheme === 'light' ? await useKeyboard(page, view, picture) : []), ...watched]
  } catch (error) {
    return [...watched, error instanceof Error ? error.message : String(error)]
  } finally {
    // The cookie stores the last use of the session. Without this update, the session would end after 30 minutes.
    if (cookies !== undefined) looker.consoles.set(at, { url, cookies: await context.storageState() })
    await context.close()
  }
}

export async function openOperatorWindow(browser: Browser, view: View, cookies?: Cookies): Promise<BrowserContext> {
  const options = { timezoneId: 'Europe/Copenhagen', ...(cookies && { storageState: cookies }) }
  const context = await openWindow(browser, view, options)
  context.setDefaultTimeout(PATIENCE_MS)
  return context
}

/** Tests Tab, shortcuts and the question on a wide page, and the menu on a narrow page. */
async function useKeyboard(page: Page, { width }: View, name: string): Promise<readonly string[]> {
  const isOfOperator = (await page.locator('header.top').count()) > 0
  const judgeWith = (state: string, part?: string) => async () => {
    await page.screenshot({ path: `${name}-${state}.png`, animations: 'disabled' })
    return judgePage(page, { ...AXE_OPTIONS, ...(part === undefined ? {} : { part }) })
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

// Checks for operators without a mouse. Each function returns a line for each problem.

/** A script that returns all elements that can get the focus: visible, enabled, and in no closed dialog. */
const REACHABLE = `[...document.querySelectorAll('a[href], button, input:not([type="hidden"]), select, textarea, summary, [tabindex="0"]')]
  .filter((element) => !element.disabled && element.getClientRects().length > 0 && element.checkVisibility({ visibilityProperty: true }))
  .filter((element) => !element.closest('dialog:not([open])') && !element.matches('details:not([open]) > :not(summary) *'))`

const NAME = `(element) => (element.getAttribute('aria-label') ?? (element.innerText || element.name || element.id || element.localName)).trim().slice(0, 60)`

interface Stop {
  /** `undefined` for the browser's own buttons, or for no element. */
  readonly at: number | undefined
  readonly name: string
  readonly hasRing: boolean
  /** The element that covers it. */
  readonly cover: string | undefined
}

/** A script that returns the focused element, whether its focus ring is visible, and whether something covers it. */
const STOP = `(() => {
  const name = ${NAME}
  const element = document.activeElement
  const at = globalThis.lookedAt.indexOf(element)
  if (at < 0) return { at: undefined, name: name(element), hasRing: true, cover: undefined }
  const style = getComputedStyle(element)
  const hasRing = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
  const [box] = element.getClientRects()
  const inside = (value, most) => Math.min(Math.max(value, 1), most - 1)
  const top = document.elementFromPoint(inside(box.x + box.width / 2, innerWidth), inside(box.y + box.height / 2, innerHeight))
  const isSeen = top === null || element.contains(top) || top.contains(element) || top.closest('label')?.contains(element)
  return { at, name: name(element), hasRing, cover: isSeen ? undefined : name(top) }
})()`

/** Walks through a page with Tab from the present focus. Each element must get the focus visibly. */
async function walkByKeyboard(page: Page): Promise<readonly string[]> {
  const problems: string[] = []
  const names = await page.evaluate<string[]>(`(globalThis.lookedAt = ${REACHABLE}, globalThis.lookedAt.map(${NAME}))`)
  const reached = new Set<number>()
  for (let presses = 0; presses < names.length + 3; presses += 1) {
    await page.keyboard.press('Tab')
    const { at, name, hasRing, cover } = await page.evaluate<Stop>(STOP)
    // The check begins at a field that the page has focused.
    if (at === undefined || reached.has(at)) continue
    reached.add(at)
    if (!hasRing) problems.push(`the focus is not seen on "${name}"`)
    if (cover !== undefined) problems.push(`"${cover}" lies over "${name}", which has the focus`)
  }
  problems.push(...names.filter((_, at) => !reached.has(at)).map((name) => `Tab does not reach "${name}"`))
  return problems
}

/**
 * Follows the link that skips the navigation. It must be the first stop of a new page, visible, and lead to the content. A page
 * that focuses its first field has already skipped the navigation.
 */
async function skipNavigation(page: Page): Promise<readonly string[]> {
  if ((await page.locator('main :focus').count()) > 0) return []
  await page.keyboard.press('Tab')
  const first = page.locator(':focus')
  if ((await first.getAttribute('href')) !== '#main') return ['the first stop does not skip the navigation']
  const box = await first.boundingBox()
  const problems = box === null || box.width < 40 || box.y < 0 ? ['the link that skips the navigation is not seen'] : []
  await page.keyboard.press('Enter')
  const reached = await page.evaluate('document.activeElement.id')
  return reached === 'main'
    ? problems
    : [...problems, 'the link that skips the navigation does not lead to the content']
}

/** Whether the focus is inside the open dialog, or has left the page for the browser. */
const IS_INSIDE = `(document.activeElement === document.body || document.activeElement.closest('dialog[open]') !== null)`
const PRESSES_IN_DIALOG = 8

/**
 * Opens the first question of a page with Enter. The focus must move into the dialog and stay there. Escape must close the dialog
 * and restore the focus.
 * @param judge checks the open dialog
 * @returns no problems if the page has no question
 */
async function askByKeyboard(page: Page, judge: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const link = page.locator('main a[data-ask]').first()
  if ((await link.count()) === 0) return []
  await link.focus()
  await page.keyboard.press('Enter')
  await page.locator('dialog#dialog[open]').waitFor()
  const problems = [...(await judge())]
  const isFirstInside = await page.evaluate(
    `document.activeElement !== document.body && document.activeElement.closest('dialog[open]') !== null`,
  )
  if (isFirstInside !== true) problems.push('the focus does not go into the question')
  for (let presses = 0; presses < PRESSES_IN_DIALOG; presses += 1) {
    await page.keyboard.press('Tab')
    if ((await page.evaluate(IS_INSIDE)) !== true) problems.push('Tab leaves the open question')
  }
  await page.keyboard.press('Escape')
  if ((await page.locator('dialog[open]').count()) > 0) problems.push('Escape does not close the question')
  const isBack = await page.evaluate(`document.activeElement === document.querySelector('main a[data-ask]')`)
  return isBack === true ? problems : [...problems, 'the focus is not back on the link of the question']
}

/** Tests the shortcuts that open something, and Escape (console reference: Keys of the keyboard). */
async function tryKeys(page: Page): Promise<readonly string[]> {
  const problems: string[] = []
  await page.evaluate('document.activeElement.blur()')
  await page.keyboard.press('?')
  if ((await page.locator('dialog#keys[open]').count()) === 0) problems.push('"?" does not show the keys')
  await page.keyboard.press('Escape')
  if ((await page.locator('dialog[open]').count()) > 0) problems.push('Escape does not close the table of keys')
  await page.keyboard.press('/')
  if ((await page.evaluate('"search" in document.activeElement.dataset')) !== true)
    problems.push('"/" does not focus the search field')
  await page.keyboard.press('Escape')
  if ((await page.evaluate('document.activeElement === document.body')) !== true)
    problems.push('Escape does not leave the search field')
  return problems
}

async function tryMenu(page: Page, judge: () => Promise<readonly string[]>): Promise<readonly string[]> {
  await page.locator('.menu > summary').focus()
  await page.keyboard.press('Enter')
  await page.locator('.menu nav').waitFor()
  const problems = [...(await judge())]
  await page.keyboard.press('Tab')
  await page.keyboard.press('Escape')
  if (await page.locator('.menu nav').isVisible()) problems.push('Escape does not close the menu')
  const isBack = await page.evaluate(`document.activeElement.matches('.menu > summary')`)
  return isBack === true ? problems : [...problems, 'the focus is not back on the menu']
}
