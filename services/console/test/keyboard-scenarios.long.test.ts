import { startChromium } from '@trestle/testing/chromium.ts'
import { canTestWith } from '@trestle/testing/find-program.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { type StubProvider, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from './console-app.ts'
import { callInventory, createLocation, createProduct } from './inventory.ts'
import { createMerchant, createPayableMerchant } from './merchants.ts'
import { createUser, PASSWORD, type RunningService, startService } from './services.ts'
import { idOf, seedTransactions } from './transactions.ts'

// The work of operators without a mouse: each step presses keys, and a step that leads to a page waits for what it shows.

removeFoldersAtEnd()
/** Many times the time that a scenario needs on an idle machine. */
const TIMEOUT_MS = 240_000
/** More stops than any page of the tests has. */
const STOPS_MAX = 120
const WEBHOOKS = { PAYMENTS_WEBHOOK_ALLOW_HTTP: 'true', PAYMENTS_WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' }

/** A step of an operator, or the text that is seen then. `reach`: Tab leads there. `replace`: types over what the field has. */
type Step =
  | readonly ['press', ...string[]]
  | readonly ['reach' | 'type' | 'replace' | 'see', string]
  | readonly ['choose file', name: string, text: string]

type Role = 'support' | 'admin'
type Window = Awaited<ReturnType<Awaited<ReturnType<typeof startChromium>>['newContext']>>
type Page = Awaited<ReturnType<Window['newPage']>>

const open = (name: string): readonly Step[] => [
  ['reach', name],
  ['press', 'Enter'],
]
const search = (text: string, found = text): readonly Step[] => [
  ['press', '/'],
  ['type', text],
  ['press', 'Enter'],
  ['see', `Results for “${text}”`],
  ...open(found),
]
/** Answers the question of a button, which names what will happen. */
const ask = (button: string, consequence: string): readonly Step[] => [...open(button), ['see', consequence]]

/** The work of operators on the pages, with the steps of each. */
const JOURNEYS: readonly (readonly [what: string, role: Role, steps: readonly Step[]])[] = [
  [
    'bans a user whom the search finds',
    'support',
    [
      ...search('clara@example.com'),
      ['see', 'Nothing keeps this user from signing in'],
      ...ask('Ban…', 'can no longer sign in'),
      ['reach', 'For how long'],
      ['press', 'ArrowDown'],
      ...open('Ban'),
      ['see', 'The user is banned'],
    ],
  ],
  [
    'secures an account',
    'admin',
    [
      ...search('robbed@example.com'),
      ['see', 'Nothing keeps this user from signing in'],
      ...ask('Secure…', 'Older ones stay.'),
      ['reach', 'Since'],
      ['type', '2026-01-02T03:04:05Z'],
      ['press', 'Enter'],
      ['see', 'The account is secured'],
    ],
  ],
  [
    'confirms an address',
    'support',
    [
      ['press', 'g', 'u'],
      ['see', 'Signs in by'],
      ...open('late@example.com'),
      ['see', 'The email address is not confirmed.'],
      ...ask('Confirm email…', 'counts as confirmed'),
      ...open('Confirm email'),
      ['see', 'The email address is confirmed'],
    ],
  ],
  [
    'refunds a part of a payment',
    'support',
    [
      ...search(idOf(1), 'EUR 80.00 Visa •••• 0000'),
      ['see', 'Trail'],
      ...ask('Refund…', 'This cannot be undone.'),
      ['reach', 'Amount in EUR'],
      ['replace', '2.50'],
      ['press', 'Enter'],
      ['see', 'EUR 2.50 refunded'],
    ],
  ],
  [
    'captures a payment',
    'admin',
    [
      ...search(idOf(2), 'EUR 40.00 Visa •••• 0000'),
      ['see', 'Trail'],
      ...ask('Capture…', 'Only a refund gives it back.'),
      ['reach', 'Amount in EUR'],
      ['replace', '20.00'],
      ...open('Capture'),
      ['see', 'EUR 20.00 captured'],
    ],
  ],
  [
    'voids a payment',
    'admin',
    [
      ...search(idOf(3), 'EUR 30.00 Visa •••• 0000'),
      ['see', 'Trail'],
      ...ask('Void…', 'can no longer be captured'),
      ...open('Void'),
      ['see', 'EUR 20.00 voided'],
    ],
  ],
  [
    'records the outcome of a dispute',
    'admin',
    [
      ['press', 'g', 'd'],
      ['see', 'Not received'],
      ['press', 'j'],
      ...ask('Outcome…', 'keeps the money'),
      ['reach', 'Outcome'],
      ['press', 'ArrowDown', 'ArrowDown'],
      ...open('Record the outcome'),
      ['see', 'The dispute is lost'],
    ],
  ],
  [
    'pays out a merchant',
    'admin',
    [
      ['press', 'g', 'p'],
      ['see', 'No merchant was paid out yet.'],
      ...ask('Pay out…', 'A job makes a payout'),
      ...open('Pay out'),
      ['see', 'A job pays out'],
    ],
  ],
  [
    'resolves an exception',
    'admin',
    [
      ...open('Exceptions'),
      ['see', 'Answer of the acquirer'],
      ['press', 'j'],
      ...ask('Resolve…', 'leaves the list of those that wait'),
      ['reach', 'Note (optional)'],
      ['type', 'Refunded by hand'],
      ...open('Mark as resolved'),
      ['see', 'The exception is resolved'],
    ],
  ],
  [
    'records an unknown outcome',
    'admin',
    [
      ...open('Exceptions'),
      ['see', 'Unknown outcomes'],
      ...open('Unknown outcomes'),
      ['see', 'EUR 5.00'],
      ...ask('Outcome…', 'Ask north first'),
      ['reach', 'Outcome'],
      ['press', 'ArrowDown', 'ArrowDown'],
      ...open('Record the outcome'),
      ['see', 'The authorization was declined'],
    ],
  ],
  [
    'sends an event again',
    'support',
    [
      ...open('Deliveries'),
      ['see', 'merchant.updated'],
      ['press', 'j', 'Enter'],
      ['see', 'Attempts'],
      ...ask('Send again…', 'The same event goes to'),
      ...open('Send again'),
      ['see', 'The event is on its way again'],
    ],
  ],
  [
    'closes the registration of apps',
    'admin',
    [
      ...open('Jobs'),
      ['see', 'Registration of apps'],
      ...ask('Close registration…', 'New apps can no longer be registered.'),
      ...open('Close registration'),
      ['see', 'The registration of apps is closed'],
    ],
  ],
  [
    'corrects a count of stock',
    'support',
    [
      ['press', 'g', 's'],
      ['see', 'On hand'],
      ...open('Count MUG at SHELF'),
      ['see', 'The counted quantity.'],
      ['replace', '1180'],
      ['press', 'Enter'],
      ['see', 'Count of MUG is recorded'],
    ],
  ],
  [
    'receives stock',
    'support',
    [
      ['press', 'g', 's'],
      ['see', 'On hand'],
      ...open('Move stock'),
      ['see', 'Product and location'],
      ['reach', 'SKU'],
      ['type', 'KETTLE'],
      ['press', 'Enter'],
      ['see', 'Stock now'],
      ['reach', 'Quantity'],
      ['type', '24'],
      ['press', 'Enter'],
      ['see', 'Receive of KETTLE is recorded'],
    ],
  ],
  [
    'changes an attribute of a product',
    'admin',
    [
      ...open('Products'),
      ['see', 'On hand'],
      ...open('KETTLE'),
      ['see', 'Attributes'],
      ...open('Edit'),
      ['see', 'A value that is JSON'],
      ['reach', 'Value of colour'],
      ['replace', 'green'],
      ['press', 'Enter'],
      ['see', 'KETTLE is saved'],
    ],
  ],
  [
    'imports a file of products',
    'admin',
    [
      ...open('Imports'),
      ['see', 'Import products'],
      ['reach', 'File'],
      ['choose file', 'products.csv', 'sku,attributes.name\nPAN,Pan\n'],
      ...open('Import'),
      ['see', '1 of 1 records'],
    ],
  ],
  [
    'adds a key that signs access tokens',
    'admin',
    [
      ...open('Settings'),
      ['see', 'Providers'],
      ...open('Signing keys'),
      ['see', 'There is no key'],
      ...ask('Add a key…', 'signs once it is promoted'),
      ...open('Add'),
      ['see', 'The key is added'],
    ],
  ],
]

describe.runIf(canTestWith('chromium'))('the work of operators, in Chromium', () => {
  const closing = new AsyncDisposableStack()
  let test: TestConsole
  const signedIn = new Map<Role, Window>()

  beforeAll(async () => {
    const sink = await startStubProvider(() => ({ status: 200, body: 'thanks' }))
    closing.defer(() => sink.close())
    const [auth, payments, inventory] = await Promise.all([
      startService('auth'),
      startService('payments', WEBHOOKS),
      startService('inventory'),
    ])
    for (const service of [auth, payments, inventory]) closing.defer(service.stop)
    const port = await freePort()
    test = await openTestConsole([auth, payments, inventory], { CONSOLE_BASE_URL: `http://localhost:${port}` })
    closing.defer(test.close)
    await test.app.listen({ host: '127.0.0.1', port })
    await fillUsers(auth)
    await fillPayments(payments, sink)
    await fillInventory(inventory)
    const chromium = await startChromium()
    closing.defer(() => chromium.close())
    for (const role of ['support', 'admin'] as const) {
      const context = await chromium.newContext()
      const page = await context.newPage()
      await page.goto(`${test.origin}/sign-in`)
      await play(page, [
        ['see', 'Password'],
        ['reach', 'Email'],
        ['type', `${role}@example.com`],
        ['reach', 'Password'],
        ['type', PASSWORD],
        ['press', 'Enter'],
        ['see', 'Sign out'],
      ])
      await page.close()
      signedIn.set(role, context)
    }
  }, TIMEOUT_MS)
  afterAll(() => closing.disposeAsync())

  it.each(JOURNEYS)(
    'an operator %s with the keyboard alone, as %s',
    async (_what, role, steps) => {
      const page = await signedIn.get(role)?.newPage()
      if (page === undefined) return expect.fail(`nobody is signed in as ${role}`)
      // While there is a listener, Chromium asks the test for files and opens no window of its own. It hears of a listener
      // some time after, so one that comes with the key press is too late on a busy machine.
      page.on('filechooser', () => undefined)
      await page.goto(test.origin)
      await play(page, [['see', 'Overview'], ...steps])
      await page.close()
    },
    TIMEOUT_MS,
  )

  it(
    'Enter that is held down or pressed twice opens at most a question, and sends nothing',
    async () => {
      const page = await signedIn.get('support')?.newPage()
      if (page === undefined) return expect.fail('nobody is signed in')
      const asked: string[] = []
      page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`))
      await page.goto(`${test.origin}/transactions/${idOf(1)}`)
      await see(page, 'Trail')
      await page.keyboard.down('Enter')
      await reach(page, 'Refund…')
      asked.length = 0
      await page.keyboard.down('Enter')
      await page.keyboard.up('Enter')
      await play(page, ask('Refund…', 'This cannot be undone.'))
      const heading = await page.locator(':focus').textContent()
      await page.keyboard.press('Enter')
      expect([heading, asked, await page.locator('form[aria-busy]').count()]).toEqual([
        'Refund a payment',
        [`GET /transactions/${idOf(1)}/refund`],
        0,
      ])
      await page.close()
    },
    TIMEOUT_MS,
  )
})

/** Takes the steps in turn. Fails where Tab leads to no such element, or a page shows no such text. */
async function play(page: Page, steps: readonly Step[]): Promise<void> {
  for (const [act, ...words] of steps) {
    const [text = '', content = ''] = words
    if (act === 'press') for (const key of words) await page.keyboard.press(key)
    if (act === 'reach') await reach(page, text)
    if (act === 'replace') await page.keyboard.press('ControlOrMeta+A')
    if (act === 'type' || act === 'replace') await page.keyboard.type(text)
    if (act === 'see') await see(page, text)
    if (act === 'choose file') {
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.keyboard.press('Space')])
      await chooser.setFiles({ name: text, mimeType: 'text/csv', buffer: Buffer.from(content) })
    }
  }
}

/** The name of the field, link or button that has the focus, as a screen reader announces it. A heading may have the name of a button. */
const FOCUSED_NAME = `(({ labels, innerText, ariaLabel, tabIndex }) =>
  tabIndex < 0 ? '' : (ariaLabel ?? labels?.[0]?.innerText ?? innerText ?? '').replaceAll('\u00a0', ' ').trim())(document.activeElement)`

/** Presses Tab until an element with this name has the focus. */
async function reach(page: Page, name: string): Promise<void> {
  const passed: string[] = []
  while (passed.length < STOPS_MAX) {
    const here = await page.evaluate<string>(FOCUSED_NAME)
    if (here === name) return
    passed.push(here)
    await page.keyboard.press('Tab')
  }
  expect.fail(`Tab does not lead to "${name}" on ${page.url()}, but to ${[...new Set(passed)].join(' | ')}`)
}

/** Waits until a page shows a text, and its script acts on keys. */
async function see(page: Page, text: string): Promise<void> {
  await page.getByText(text).filter({ visible: true }).first().waitFor()
  await page.locator('html[data-script]').waitFor()
}

async function fillUsers(auth: RunningService): Promise<void> {
  for (const role of ['support', 'admin'] as const) await createUser(auth, `${role}@example.com`, role)
  for (const name of ['clara', 'robbed']) await createUser(auth, `${name}@example.com`)
  await auth.query('UPDATE auth.users SET email_confirmed_at = NULL WHERE id = $1', [
    (await createUser(auth, 'late@example.com')).id,
  ])
}

async function fillPayments(payments: RunningService, sink: StubProvider): Promise<void> {
  await seedTransactions(payments, [8_000, 4_000, 3_000, 7_000], { capture: 1_000 })
  await payments.command('disputes', 'open', idOf(4), '--amount', '500', '--reason', '131')
  await createPayableMerchant(payments, 'EUR')
  const { merchantId, appKey } = await createMerchant(payments, 'Coffee')
  const authorization = `Basic ${Buffer.from(`:${appKey}`).toString('base64')}`
  const send = (method: 'POST' | 'PUT', path: string, body: object) =>
    fetch(`${payments.url}/merchants/${merchantId}${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  await send('POST', '/webhooks', { url: `${sink.url}/events`, events: ['merchant.updated'] })
  await send('PUT', '', { name: 'Coffee and tea' })
  await payments.query(
    'INSERT INTO payments.acquirer_exceptions (merchant_id, id, payload, created) VALUES ($1, $2, $3, now())',
    [merchantId, '6901f3a0000000000000000e', JSON.stringify({ type: 'operation', acquirer: 'north' })],
  )
  await payments.query(
    `INSERT INTO payments.attempts (merchant_id, id, created, kind, state, request)
    SELECT m.id, n.id, n.created, 'charge', 'unknown', $2::jsonb
    FROM payments.merchants m, payments.new_id(m.tag) n WHERE m.id = $1`,
    [merchantId, JSON.stringify({ acquirer: 'north', currency: 'EUR', amount: 500 })],
  )
}

async function fillInventory(inventory: RunningService): Promise<void> {
  const productId = await createProduct(inventory, 'MUG')
  await createProduct(inventory, 'KETTLE', '{"colour":"red"}')
  const locationId = await createLocation(inventory, 'SHELF')
  await callInventory(inventory, '/movements', { type: 'receive', productId, locationId, quantity: 1_200 })
}
