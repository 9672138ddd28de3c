import type { Browser, BrowserContext, Page } from 'playwright-core'
import { judgePage, openWindow, type View, watchPage } from '../watch.ts'
import { askByKeyboard, skipNavigation, tryKeys, tryMenu, walkByKeyboard } from './keyboard.ts'
import type { ConsoleName, Screen } from './screens.ts'

/** The cookies of an operator. */
export type Cookies = Awaited<ReturnType<BrowserContext['storageState']>>

/** The browser, and the consoles with the cookies of each. */
export interface Looker {
  readonly browser: Browser
  readonly consoles: Map<ConsoleName, { readonly url: string; readonly cookies: Cookies | undefined }>
}

/** A machine that has other work to do answers late, and is not what is judged. */
const PATIENCE_MS = 300_000
/** The rule on the size of targets (WCAG 2.2), which axe-core leaves out by itself. */
const AXE_OPTIONS = { rules: { 'target-size': { enabled: true } } }

/**
 * Opens a screen in a window, takes its picture, and returns its problems.
 * @param picture the path of the picture without its ending
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
    // The cookie of the page says when the session was used last. With the cookie of the sign-in, a long run would end after 30
    // minutes.
    if (cookies !== undefined) looker.consoles.set(at, { url, cookies: await context.storageState() })
    await context.close()
  }
}

/** A browser window as an operator has it. */
export async function openOperatorWindow(browser: Browser, view: View, cookies?: Cookies): Promise<BrowserContext> {
  const options = { timezoneId: 'Europe/Copenhagen', ...(cookies && { storageState: cookies }) }
  const context = await openWindow(browser, view, options)
  context.setDefaultTimeout(PATIENCE_MS)
  return context
}

/** The work by keyboard: on a wide page the walk, the keys and the question; on a narrow one the menu. */
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
