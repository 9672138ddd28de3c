import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { findBarriers, watchPage } from '../watch.ts'
import type { Fixture } from './fixture.ts'

export interface Scenario {
  readonly name: string
  readonly browser?: BrowserContextOptions
  /** Whether the customer visits the shop of `examples/`, which uses payments and auth. */
  readonly isShopping?: boolean
  readonly run: (session: BrowserSession) => Promise<void>
}

/** A customer's new browser window. */
export interface BrowserSession {
  readonly page: Page
  readonly fixture: Fixture
  /** @throws Error that names the findings of axe-core in all frames of the page */
  expectAccessible(): Promise<void>
  /** @throws Error that names requests to other origins, and script errors */
  expectQuiet(): void
  close(): Promise<void>
}

/** The browser reports every failed or blocked request. The scenarios check how pages handle these. */
const ANSWERED = /^Failed to load resource: (net::ERR_FAILED|the server responded with a status of (4|502|503))/
const PATIENCE_MS = 20_000

export async function openSession(
  browser: Browser,
  fixture: Fixture,
  { browser: options, isShopping }: Scenario,
): Promise<BrowserSession> {
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const origins = [fixture.url, ...(isShopping ? [fixture.exampleUrl, fixture.authUrl] : [])]
  const problems = watchPage(page, {
    // A link may lead to the shop after the payment. This is a navigation and not a loaded resource.
    isOwn: (url, request) =>
      origins.includes(url.origin) ||
      url.protocol === 'data:' ||
      (request.isNavigationRequest() && url.href.startsWith(fixture.shopUrl)),
    expected: ANSWERED,
  })
  return {
    page,
    fixture,
    expectAccessible: async () => {
      const found = await findBarriers(page)
      if (found.length > 0) throw new Error(found.join('\n'))
    },
    expectQuiet: () => {
      if (problems.length > 0) throw new Error(problems.join('\n'))
    },
    close: () => context.close(),
  }
}
