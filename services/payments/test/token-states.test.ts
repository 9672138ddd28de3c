import { hasCome, type WatchedRow, watchRows } from '@trestle/testing/watched-rows.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { AuthorizationOutcome } from '../src/acquirers/acquirer.ts'
import { cleanUp } from '../src/use-cases/clean-up.ts'
import { refusedToken } from './checkout-refusals.ts'
import { type Browser, browse, createOrder } from './customer.ts'
import { drawnFor } from './drawn-arrows.ts'
import { settle } from './live-merchant.ts'
import { createTestApp, createTestMerchant, placement, startPayments, type TestPayments } from './payments-app.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

const [CLAIMED, SPENT] = ['payments.token_merchants', 'payments.spent_tokens'] as const
const NUMBER = '4242424242424242'
const DAY_MS = 86_400_000

const north = createStubAcquirer()
let payments: TestPayments
let browser: Browser
/** How far the clock of the process runs ahead. */
let laterMs: number
beforeAll(async () => {
  payments = await startPayments({
    acquirers: new Map([['north', north]]),
    now: () => new Date(Date.now() + laterMs),
  })
  browser = browse(payments)
})
beforeEach(() => {
  laterMs = 0
})
afterAll(() => payments.close())

/** The public key of a live merchant, whose customers meet no 3-D Secure. */
async function createMerchant(): Promise<unknown> {
  const { id, key } = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR' })
  await settle(payments.database.db, id, { acquirer: 'north' })
  return key
}

interface Client {
  readonly order: Awaited<ReturnType<typeof createOrder>>
  readonly hints: string[]
}

const begin = async (key: unknown): Promise<Client> => {
  laterMs = 0
  return { order: await createOrder(browser, { key, number: NUMBER, test: undefined }), hints: [] }
}
const send = (path: string, { order, hints }: Client, changes = {}) =>
  browser.send(path, { ...order, ...changes, hints })
const lookUp = async (client: Client, changes = {}) => {
  const { body } = await send('/payments/challenges/card-lookup', client, changes)
  client.hints.push(...(body.hints ?? []))
}
/** Posts the order, and lets the acquirer answer so. */
const pay = (outcome: AuthorizationOutcome) => (client: Client) => {
  north.answers.authorize = async () => outcome
  return send('/payments', client)
}

const stateOf =
  (state: string) =>
  (watched: WatchedRow): string =>
    hasCome(watched.row.expires, watched) ? 'expired' : state

it('the rows of a token go through the arrows of its diagram, and through no others', async () => {
  const [own, other] = [await createMerchant(), await createMerchant()]
  const watched = await watchRows(payments.url, { [CLAIMED]: stateOf('claimed'), [SPENT]: stateOf('spent') })
  const events = {
    'an order uses it': (client: Client) => lookUp(client),
    'an order of another merchant uses it': (client: Client) => lookUp(client, { integration: { key: other } }),
    'the attempt is declined': pay({ verdict: 'declined', statusCode: 'PAYMENT_CARD_LOST' }),
    'the outcome of the attempt is unknown': pay({ verdict: 'unknown' }),
    'the attempt is approved': pay({ verdict: 'approved', ref: 'n-1', networkRef: null }),
    '24 hours have passed': async () => {
      laterMs += DAY_MS
      for (const table of [CLAIMED, SPENT]) await watched.change(table, "SET expires = expires - interval '24 hours'")
    },
    'clean-up': () => cleanUp({ db: payments.database.db, placement, config: { unusedAppDays: 0 } }),
  }
  const claimed = ['an order uses it']
  const spent = [...claimed, 'the attempt is approved']
  const ways = [[], claimed, spent, ...[claimed, spent].map((way) => [...way, '24 hours have passed'])]
  const found = await watched.explore(events, ways, () => begin(own))
  // The table of claims has no row of a new token, and the table of spent tokens none of a claimed one.
  const arrows = [
    ...(found.get(CLAIMED) ?? []).map((arrow) => arrow.replace('none --> claimed', 'new --> claimed')),
    ...(found.get(SPENT) ?? []).map((arrow) =>
      arrow.replace('none --> spent', 'claimed --> spent').replace('spent --> none', 'spent --> claimed'),
    ),
  ]
  // The next test is about tokens that have no row at all.
  const drawn = drawnFor('checkout')[1]?.filter((arrow) => !['none --> new', 'new --> expired'].includes(arrow))
  expect([...new Set(arrows)].sort()).toEqual(drawn)
  await watched.close()
})

it('a new token is no row, and is refused once its time is over', async () => {
  const { db } = payments.database
  const tables = ['token_merchants', 'spent_tokens'] as const
  for (const table of tables) await db.deleteFrom(table).execute()
  const client = await begin(await createMerchant())
  laterMs = DAY_MS
  const { status, body } = await send('/payments/challenges/card-lookup', client)
  expect([status, body]).toEqual(refusedToken('card.number'))
  expect(await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()))).toEqual([[], []])
})
