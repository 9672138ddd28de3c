import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import type { Page } from 'playwright-core'
import { createBenchFolder, runCommand } from '../program.ts'
import { createSamples, type Made, startStack, Urls } from './start-stack.ts'
import { judgePage, lookAt, openWindow, startBrowser, viewsOf, watchPage } from './watch.ts'

// Opens every public page of a running stack in Chromium, light and dark, on a desktop and on phones. CHROMIUM is the path of the
// browser. The payment page and the bank have more states, which bench/src/pages/payment-page.ts visits.

const VIEWS = viewsOf([1_280, 390, 320])
const PATIENCE_MS = 30_000

const OPERATION = '/docs/#tag/products/POST/products'
/** An operation of payments whose path is too long to fit next to the server's address. */
const LONG_PATH = '/merchants/{merchantId}/transactions'

interface Screen {
  readonly name: string
  readonly open: (page: Page, urls: Urls) => Promise<unknown>
}

const SERVICES = ['AUTH', 'PAYMENTS', 'INVENTORY'] as const

/** The fragment that auth adds to the home page's address after a sign-in. The token has no valid signature. */
const CLAIMS = Buffer.from(JSON.stringify({ sub: 'c0ffee', email: 'ada@example.com' })).toString('base64url')
const SESSION = `access_token=head.${CLAIMS}.signature&refresh_token=refresh&type=signup`
const CODE = '5f0c7a5e-4f0f-4c8e-9d53-3a2f61c0b7de'
const FAILURE = 'error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid+or+has+expired'

const EMPTY: Screen = {
  name: 'mail-none',
  open: async (page, urls) => {
    await page.goto(urls.MAIL_URL)
    // The page reloads its list every two seconds. The second reload proves that the button survived the first.
    for (const _ of ['first', 'second'])
      await page.waitForResponse((response) => response.url().startsWith(urls.MAIL_URL))
    await page.getByRole('button', { name: 'Copy' }).waitFor()
  },
}

function listScreens({ mailId, confirmUrl, invitationUrl, acceptedUrl, payUrl }: Made): readonly Screen[] {
  return [
    { name: 'home', open: (page, urls) => page.goto(urls.HOME_URL) },
    { name: 'home-signed-in', open: (page, urls) => openHash(page, `${urls.HOME_URL}/#${SESSION}`) },
    { name: 'home-failed', open: (page, urls) => openHash(page, `${urls.HOME_URL}/#${FAILURE}`) },
    { name: 'home-code', open: (page, urls) => openHash(page, `${urls.HOME_URL}/?code=${CODE}`) },
    { name: 'home-guide', open: (page, urls) => page.goto(`${urls.HOME_URL}/docs/quick-start/reserve-stock.md`) },
    {
      name: 'home-guide-copied',
      open: (page, urls) => copyExample(page, `${urls.HOME_URL}/docs/quick-start/reserve-stock.md`),
    },
    ...SERVICES.flatMap((service): readonly Screen[] => {
      const name = service.toLowerCase()
      return [
        { name: `${name}-front`, open: (page, urls) => page.goto(`${urls[`${service}_URL`]}/`) },
        { name: `${name}-metrics`, open: (page, urls) => page.goto(new URL('/', urls[`${service}_METRICS_URL`]).href) },
        { name: `${name}-docs`, open: (page, urls) => openDocs(page, `${urls[`${service}_URL`]}/docs`) },
      ]
    }),
    { name: 'docs-operation', open: (page, urls) => openDocs(page, urls.INVENTORY_URL + OPERATION) },
    { name: 'docs-request', open: (page, urls) => openRequest(page, urls.PAYMENTS_URL) },
    { name: 'mail-list', open: (page, urls) => page.goto(urls.MAIL_URL) },
    { name: 'mail-unfound', open: (page, urls) => page.goto(`${urls.MAIL_URL}/?q=zebra`) },
    { name: 'mail-one', open: (page, urls) => page.goto(`${urls.MAIL_URL}/mails/${mailId}`) },
    { name: 'mail-missing', open: (page, urls) => page.goto(`${urls.MAIL_URL}/mails/none`) },
    {
      name: 'mail-question',
      open: async (page, urls) => {
        await page.goto(urls.MAIL_URL)
        await page.getByRole('button', { name: 'Remove all' }).first().click()
      },
    },
    { name: 'auth-confirm', open: (page) => page.goto(confirmUrl) },
    { name: 'invitation', open: (page) => page.goto(invitationUrl) },
    { name: 'invitation-accepted', open: (page) => page.goto(acceptedUrl) },
    { name: 'invitation-unknown', open: (page, urls) => page.goto(`${urls.PAYMENTS_URL}/invitations/none`) },
    { name: 'pay', open: (page) => page.goto(payUrl) },
    {
      name: 'pay-test-cards',
      open: async (page) => {
        await page.goto(payUrl)
        await page.locator('summary').click()
      },
    },
  ]
}

async function openHash(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.locator('#arrival').waitFor()
}

/** Copies the first example of a guide by keyboard. @throws Error if the clipboard has another text */
async function copyExample(page: Page, address: string): Promise<void> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto(address)
  await page.getByRole('button', { name: 'Copy' }).first().press('Enter')
  await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  if (copied !== (await page.locator('pre').first().textContent())) throw new Error(`the button copies ${copied}`)
}

/** Opens the API document, which a library fetches and renders. */
async function openDocs(page: Page, address: string): Promise<void> {
  await page.goto(address, { waitUntil: 'networkidle' })
  await page.locator('h1').first().waitFor()
}

async function openRequest(page: Page, paymentsUrl: string): Promise<void> {
  await openDocs(page, `${paymentsUrl}/docs/#tag/transactions/POST${LONG_PATH}`)
  await page.locator('button', { hasText: `(post ${LONG_PATH})` }).click()
  await page.getByRole('button', { name: 'Close Client' }).waitFor()
}

const command = new Command('node bench/src/pages/stack-pages.ts')
  .description('Opens every page of a stack in Chromium, and fails on what axe-core finds and on what does not fit.')
  .option('--only <pattern>', 'open only the pages whose names match', '')
  .option('--pictures <folder>', 'also take a picture of each page')
  .action(run)
await runCommand(command)

async function run({ only, pictures }: { readonly only: string; readonly pictures?: string }): Promise<void> {
  const folder = createBenchFolder()
  const pattern = new RegExp(only)
  if (pictures) mkdirSync(pictures, { recursive: true })
  try {
    await using started = new AsyncDisposableStack()
    const urls = Urls.parse(await startStack(join(folder, 'data'), started))
    const browser = await startBrowser(started)
    const look = async (screens: readonly Screen[]) => {
      for (const screen of screens.filter(({ name }) => pattern.test(name))) {
        await lookAt(screen.name, VIEWS, async (view, name) => {
          const context = await openWindow(browser, view)
          context.setDefaultTimeout(PATIENCE_MS)
          const page = await context.newPage()
          const watched = watchPage(page, { isOwn, expected: /the server responded with a status of 4/ })
          await screen.open(page, urls)
          const found = await judgePage(page)
          const path = pictures && join(pictures, `${name}.png`)
          if (path) await page.screenshot({ path, fullPage: true, animations: 'disabled' })
          await context.close()
          return [...watched, ...found]
        })
      }
    }
    await look([EMPTY])
    await look(listScreens(await createSamples(urls)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function isOwn({ hostname, protocol }: URL): boolean {
  return ['localhost', '127.0.0.1'].includes(hostname) || ['data:', 'blob:'].includes(protocol)
}
