import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { createBenchFolder, ROOT, say } from '../program.ts'
import { createFixture, type Fixture } from './payment-page/fixture.ts'
import { scenarios } from './payment-page/scenarios.ts'
import { openSession, type Scenario } from './payment-page/session.ts'
import { enterCard, findBankFrame, linkOf, UNASKED } from './payment-page/steps.ts'
import { openWindow, startBrowser, viewsOf } from './watch.ts'

// Pays by payment links in a real browser: in every language, by keyboard, with and without scripts, with axe-core on every page.
// `node bench/src/pages/payment-page.ts`. A page that loads something from another origin fails too. The exit status is 1 after a
// failure. `--only <pattern>` runs some of the scenarios. `--pictures` runs none, but renews the pictures of docs/payment-page.
// CHROMIUM is the path of the browser.

const SCENARIO_MS = 120_000
const VIEWS = viewsOf([390, 1_280], 800)

interface Picture {
  readonly name: string
  readonly show: (page: Page, fixture: Fixture) => Promise<void>
}

const ORDER = { value: '24.50', text: 'Order 1042: two bags of Huila, whole beans', reference: '1042' }

const pictures: readonly Picture[] = [
  { name: 'payment', show: async (page, fixture) => void (await page.goto(linkOf(fixture, ORDER))) },
  {
    name: 'fields',
    show: async (page, fixture) => {
      await page.goto(linkOf(fixture, { ...ORDER, recurring: 'y' }))
      await enterCard(page, { number: '1000', expiry: '01/20' })
    },
  },
  {
    name: 'approval',
    show: async (page, fixture) => {
      await page.goto(linkOf(fixture, ORDER))
      await enterCard(page)
      await findBankFrame(page)
    },
  },
  {
    name: 'refused',
    show: async (page, fixture) => {
      await page.goto(linkOf(fixture, ORDER))
      await enterCard(page)
      await (await findBankFrame(page)).getByRole('button', { name: 'Decline' }).click()
      await page.locator('#alert:not(:empty)').waitFor()
    },
  },
  {
    name: 'receipt',
    show: async (page, fixture) => {
      await page.goto(linkOf(fixture, ORDER))
      await enterCard(page, { number: UNASKED })
      await page.waitForURL('**/pos/receipt?**')
    },
  },
  {
    name: 'return',
    show: async (page, fixture) => {
      await page.goto(linkOf(fixture, { ...ORDER, redirect: fixture.shopUrl }))
      await enterCard(page, { number: UNASKED })
      await page.locator('#leave').waitFor()
    },
  },
  {
    name: 'amount',
    show: async (page, fixture) => {
      await page.goto(linkOf(fixture, { ...ORDER, value: '0' }))
    },
  },
  { name: 'trouble', show: async (page, fixture) => void (await page.goto(`${fixture.url}/pos/receipt?receipt=none`)) },
  { name: 'problem', show: async (page, fixture) => void (await page.goto(linkOf(fixture, { ...ORDER, test: '' }))) },
]

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, pictures: { type: 'boolean', default: false } },
})
const folder = createBenchFolder()

try {
  await using started = new AsyncDisposableStack()
  const fixture = await createFixture(folder, started)
  const browser = await startBrowser(started)
  if (values.pictures) await takePictures(browser, fixture)
  else {
    const pattern = new RegExp(values.only)
    for (const scenario of scenarios.filter(({ name }) => pattern.test(name))) await run(browser, fixture, scenario)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function run(browser: Browser, fixture: Fixture, scenario: Scenario): Promise<void> {
  const session = await openSession(browser, fixture, scenario)
  const late = setTimeout(() => session.close(), SCENARIO_MS)
  try {
    await scenario.run(session)
    session.expectQuiet()
    say(`ok    ${scenario.name}`)
  } catch (error) {
    process.exitCode = 1
    say(`FAIL  ${scenario.name}\n${error instanceof Error ? error.message : error}`)
  } finally {
    clearTimeout(late)
    await session.close()
  }
}

async function takePictures(browser: Browser, fixture: Fixture): Promise<void> {
  const folder = join(ROOT, 'docs', 'payment-page')
  mkdirSync(folder, { recursive: true })
  for (const view of VIEWS) {
    const context = await openWindow(browser, view)
    for (const { name, show } of pictures) {
      const page = await context.newPage()
      await show(page, fixture)
      const path = join(folder, `${name}-${view.width}-${view.scheme}.png`)
      await page.screenshot({ path, animations: 'disabled' })
      await page.close()
    }
    await context.close()
  }
}
