import { startChromium } from '@trestle/testing/chromium.ts'
import { canTestWith } from '@trestle/testing/find-program.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from './console-app.ts'
import { callInventory, createLocation, createProduct } from './inventory.ts'
import { callAsAdmin, createUser, PASSWORD, type RunningService, startService } from './services.ts'
import { idOf, SHOP_ID, seedTransactions } from './transactions.ts'

removeFoldersAtEnd()
/** Many times what a test needs on an idle machine. */
const TIMEOUT_MS = 120_000
const ADDRESS = 'ada@example.com'

/** Ways out of an attribute, an element and a text, and a link that is a script: at most 255 characters, as a SKU has. */
const SCRIPTS = [
  `"><img src=x onerror="ran('attribute')">`,
  `'><svg onload=ran('svg')>`,
  `--></pre></title></textarea><script>ran('element')</script>`,
  `<iframe srcdoc="<script>parent.ran('frame')</script>"></iframe>`,
  '<a href="javascript:ran()">x</a>',
].join('')

describe.runIf(canTestWith('chromium'))('script that is stored in texts, in Chromium', () => {
  const closing = new AsyncDisposableStack()
  let test: TestConsole
  let chromium: Awaited<ReturnType<typeof startChromium>>
  let paths: readonly string[]

  beforeAll(async () => {
    const [auth, payments, inventory] = await Promise.all([
      startService('auth'),
      startService('payments'),
      startService('inventory'),
    ])
    for (const service of [auth, payments, inventory]) closing.defer(service.stop)
    const port = await freePort()
    test = await openTestConsole([auth, payments, inventory], { CONSOLE_BASE_URL: `http://localhost:${port}` })
    closing.defer(test.close)
    await test.app.listen({ host: '127.0.0.1', port })
    chromium = await startChromium()
    closing.defer(() => chromium.close())
    await createUser(auth, ADDRESS, 'admin')
    paths = [...(await fillUsers(auth)), ...(await fillPayments(payments)), ...(await fillInventory(inventory))]
  }, TIMEOUT_MS)
  afterAll(() => closing.disposeAsync())

  /** Opens each page and the question behind its first button. Returns what has run, and what the policy has forbidden. */
  async function lookAround({ bypassCSP }: { readonly bypassCSP: boolean }): Promise<readonly string[]> {
    const events: string[] = []
    const context = await chromium.newContext({ bypassCSP })
    await context.exposeFunction('ran', (what: string) => events.push(`ran: ${what}`))
    await context.exposeFunction('forbade', (what: string) => events.push(`forbade: ${what}`))
    await context.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
      forbade([event.violatedDirective, event.blockedURI, location.pathname].join(' ')))`)
    const page = await context.newPage()
    page.on('dialog', (dialog) => dialog.dismiss())
    await page.goto(`${test.origin}/sign-in`)
    await page.getByLabel('Email').fill(ADDRESS)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL((url) => url.pathname === '/')
    for (const path of paths) {
      const answer = await page.goto(test.origin + path)
      expect([path, answer?.status()]).toEqual([path, 200])
      // The page shows the stored text, so what did not run was there.
      expect(await page.locator('body').innerHTML()).toContain('ran(')
      const question = page.locator('main a[data-ask]').first()
      if ((await question.count()) === 0) continue
      await question.click()
      await page.locator('#dialog[open]').waitFor()
    }
    await context.close()
    return events
  }

  it(
    'never runs, and pages do nothing that their own policy forbids',
    async () => {
      expect(await lookAround({ bypassCSP: false })).toEqual([])
    },
    TIMEOUT_MS,
  )

  it(
    'never runs without the policy either, because each page escapes it',
    async () => {
      expect(await lookAround({ bypassCSP: true })).toEqual([])
    },
    TIMEOUT_MS,
  )
})

/** Returns the paths of pages that show the texts. */
async function fillUsers(auth: RunningService): Promise<readonly string[]> {
  const metadata = { user_metadata: { full_name: SCRIPTS, [SCRIPTS]: [SCRIPTS] }, app_metadata: { note: SCRIPTS } }
  const { id } = await callAsAdmin(auth, '/admin/users', {
    email: 'eve@example.com',
    password: PASSWORD,
    email_confirm: true,
    ...metadata,
  })
  for (const statement of [
    `INSERT INTO auth.sessions (id, user_id, user_agent, created_at, updated_at)
      VALUES (gen_random_uuid(), $1, $2, now(), now())`,
    `INSERT INTO auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at)
      VALUES (gen_random_uuid(), $1, $2, 'totp', 'verified', now(), now())`,
    `INSERT INTO auth.webauthn_credentials (user_id, credential_id, public_key, sign_count, transports, friendly_name)
      VALUES ($1, 'credential', 'key', 0, '[]', $2)`,
    `INSERT INTO auth.identities (user_id, provider, provider_id, identity_data, created_at, updated_at)
      VALUES ($1, $2, 'eve', jsonb_build_object('sub', 'eve', 'email', $2::text), now(), now())`,
    `INSERT INTO auth.messages (id, kind, purpose, user_id, recipient, status, error)
      VALUES (gen_random_uuid(), 'mail', 'recovery', $1, $2, 'failed', $2)`,
  ]) {
    await auth.query(statement, [id, SCRIPTS])
  }
  return [`/users/${id}`, '/messages']
}

async function fillPayments(payments: RunningService): Promise<readonly string[]> {
  await seedTransactions(payments, [1_250])
  for (const statement of [
    `UPDATE payments.merchants SET name = $1, website = $1, email = $1 || '@shop.example', company_number = $1, holder = $1
      WHERE id = $2`,
    'UPDATE payments.apps a SET name = $1 FROM payments.merchant_apps m WHERE m.app_id = a.id AND m.merchant_id = $2',
    `UPDATE payments.transactions SET descriptor = $1, reference = $1, custom = jsonb_build_object($1::text, $1::text)
      WHERE merchant_id = $2`,
    `INSERT INTO payments.acquirer_exceptions (merchant_id, id, payload, created)
      VALUES ($2, '6901f3a0000000000000000e', jsonb_build_object('type', $1::text, 'acquirer', $1, 'reason', $1), now())`,
    `INSERT INTO payments.webhooks (merchant_id, id, created, url, events, secret_sealed)
      VALUES ($2, '6901f3a0000000000000000f', now(), 'https://shop.example/' || $1, '{}', '')`,
  ]) {
    await payments.query(statement, [SCRIPTS, SHOP_ID])
  }
  const lists = ['/merchants', '/apps', '/transactions', '/exceptions']
  return [...lists, `/merchants/${SHOP_ID}`, `/merchants/${SHOP_ID}/lines`, `/transactions/${idOf(1)}`]
}

async function fillInventory(inventory: RunningService): Promise<readonly string[]> {
  const product = await createProduct(inventory, SCRIPTS, JSON.stringify({ name: SCRIPTS, [SCRIPTS]: SCRIPTS }))
  const location = await createLocation(inventory, 'SHELF', SCRIPTS)
  const receive = { type: 'receive', productId: product, locationId: location, quantity: 3 }
  await callInventory(inventory, '/movements', { ...receive, reason: SCRIPTS, reference: SCRIPTS })
  const kept = { productId: product, locationId: location, quantity: 1, reference: SCRIPTS }
  await callInventory(inventory, '/reservations', kept)
  const ofProduct = ['', '/edit', '/edit?as=json', '/history'].map((below) => `/products/${product}${below}`)
  const ofStock = ['/stock', '/movements', '/reservations', '/locations', `/locations/${location}`]
  return ['/products', ...ofProduct, ...ofStock]
}
