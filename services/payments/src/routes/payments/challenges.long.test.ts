import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorBodies, paidOrder } from '../../../test/bodies.ts'
import { type Browser, browse, createOrder, hintsOf, walk } from '../../../test/customer.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../../test/payments-app.ts'

let payments: TestPayments
let browser: Browser
let merchant: { id: string; key?: unknown }
beforeAll(async () => {
  payments = await startPayments()
  browser = browse(payments)
  merchant = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR', test: true })
})
afterAll(() => payments.close())

const newOrder = (changes: object = {}) => createOrder(browser, { key: merchant.key, ...changes })
const take = (step: string, order: object, headers = {}) => browser.send(`/payments/challenges/${step}`, order, headers)
const namesOf = async (order: object) => {
  const { status, body } = await browser.send('/payments', order)
  expect(status).toBe(200)
  return body.challenges?.map(({ name }: { name: string }) => name)
}
const outdate = async (column: 'expires' | 'challenged', interval: string) => {
  const { rows } = await sql<{ id: string; moment: Date | null }>`
    SELECT id, ${sql.ref(column)} - ${interval}::interval AS moment FROM ${sql.table('payment_sessions')}
    WHERE merchant_id = ${merchant.id}`.execute(payments.database.db)
  for (const { id, moment } of rows) {
    await sql`UPDATE ${sql.table('payment_sessions')} SET ${sql.id(column)} = ${moment}
      WHERE merchant_id = ${merchant.id} AND id = ${id}`.execute(payments.database.db)
  }
}
const countPaid = async () =>
  (
    await payments.database.db
      .selectFrom('transactions')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('merchant_id', '=', merchant.id)
      .where('successful', '=', true)
      .executeTakeFirst()
  )?.count
const UNAVAILABLE = {
  code: 'PAYMENT_CHALLENGE_UNAVAILABLE',
  message: 'This step does not apply to the order; begin again at /payments',
}

describe('POST /payments/challenges/:step', () => {
  it('200: answers the task of each step, in the order of the offers', async () => {
    const order = await newOrder({ returnUrl: 'https://shop.example/back?a=1#top' })
    const lookup = await take('card-lookup', order)
    expect([lookup.status, lookup.body]).toEqual([200, { hints: [expect.stringMatching(/^[A-Za-z0-9+/]{1,510}=*$/)] }])
    const { hints } = lookup.body
    const device = {
      name: 'device-fingerprint',
      type: 'background-iframe',
      path: '/payments/challenges/device-fingerprint',
    }
    expect((await browser.send('/payments', { ...order, hints })).body).toEqual({ challenges: [device] })
    const page = 'https://payments.example/acs/fingerprint'
    const frame = {
      action: page,
      url: page,
      method: 'POST',
      fields: { state: expect.any(String) },
      timeout: 10_000,
      hints: [],
    }
    expect((await take('device-fingerprint', { ...order, hints })).body).toEqual(frame)
    const path = '/payments/challenges/tds-fingerprint'
    expect((await browser.send('/payments', { ...order, hints })).body).toEqual({
      challenges: [{ name: 'tds-fingerprint', type: 'background-iframe', path }],
    })
    expect((await browser.send(path, { ...order, hints })).body).toEqual(frame)
    const last = '/payments/challenges/tds-challenge'
    const offered = {
      challenges: [
        { name: 'tds-challenge', type: 'iframe', path: last },
        { name: 'tds-challenge', type: 'redirect', path: `${last}/redirect` },
        { name: 'tds-challenge', type: 'poll', path: `${last}/poll` },
      ],
    }
    expect((await browser.send('/payments', { ...order, hints })).body).toEqual(offered)
    // The same challenge is offered until the customer decides.
    expect((await browser.send('/payments', { ...order, hints })).body).toEqual(offered)
    const bank = 'https://payments.example/acs/challenge'
    expect((await browser.send(last, { ...order, hints })).body).toEqual({
      action: bank,
      url: bank,
      method: 'POST',
      fields: { state: expect.any(String) },
      width: 390,
      height: 400,
      timeout: 600_000,
      hints: [],
    })
    expect((await browser.send(`${last}/redirect`, { ...order, hints })).body).toEqual({
      url: expect.stringMatching(/^https:\/\/payments\.example\/acs\/challenge\?state=[\w%]+$/),
      hints: [expect.any(String)],
    })
    expect((await browser.send(`${last}/poll`, { ...order, hints })).body).toEqual({
      notBefore: expect.stringMatching(/^\d{4}-.*Z$/),
      interval: 2_000,
      hints: [],
    })
  })

  it('200: polls until the customer has answered in another frame', async () => {
    const order = await newOrder()
    const { hints } = await walk(browser, order, { until: 'tds-fingerprint' })
    expect(await namesOf({ ...order, hints })).toContain('tds-challenge')
    const poll = async () => {
      const { status, body } = await take('tds-challenge/poll', { ...order, hints })
      expect(status).toBe(200)
      return body.hints
    }
    expect(await poll()).toEqual([])
    await outdate('challenged', '1 minute')
    expect(await poll()).toEqual([])
    const { url, fields } = (await take('tds-challenge', { ...order, hints })).body
    const frameHints = hintsOf(await browser.submit(url, { ...fields, decision: 'approve' }))
    expect(frameHints).toHaveLength(1)
    const polled = await poll()
    const paid = await browser.send('/payments', { ...order, hints: [...hints, ...polled] })
    expect([paid.status, paid.body]).toEqual(paidOrder)
  })

  it.each(['device-fingerprint', 'tds-fingerprint', 'tds-challenge', 'tds-challenge/poll'])(
    '400: refuses %s before it is offered',
    async (step) => {
      const order = await newOrder()
      const { hints } = (await take('card-lookup', order)).body
      for (const each of [order, { ...order, hints }]) {
        const { status, body } = await take(step, each)
        expect([status, body]).toEqual([400, UNAVAILABLE])
      }
    },
  )

  it('200: lets a client take an earlier step, any number of times', async () => {
    const order = await newOrder()
    const { hints } = await walk(browser, order, { until: 'tds-fingerprint' })
    await browser.send('/payments', { ...order, hints })
    for (const step of ['device-fingerprint', 'tds-fingerprint', 'tds-challenge', 'device-fingerprint']) {
      const { status, body } = await take(step, { ...order, hints })
      expect([step, status, body.method]).toEqual([step, 200, 'POST'])
    }
    expect((await namesOf({ ...order, hints }))?.at(-1)).toBe('tds-challenge')
  })

  /** Opens an order up to the challenge in one client, and pays the same order in another client. */
  async function payElsewhere() {
    const order = await newOrder()
    const { hints } = await walk(browser, order, { until: 'tds-fingerprint' })
    await browser.send('/payments', { ...order, hints })
    const { url, fields } = (await take('tds-challenge', { ...order, hints })).body
    const proven = hintsOf(await browser.submit(url, { ...fields, decision: 'approve' }))
    const paid = await browser.send('/payments', { ...order, hints: [...hints, ...proven] })
    expect([paid.status, paid.body]).toEqual(paidOrder)
    return { order, hints, paid, late: await take('tds-challenge', { ...order, hints }) }
  }

  it('200: answers a hint when another client has paid the same order', async () => {
    const { late } = await payElsewhere()
    expect([late.status, late.body]).toEqual([200, { hints: [expect.any(String)] }])
  })

  it('201: answers the transaction to a client whose hint says that another client has paid the order', async () => {
    const { order, hints, paid, late } = await payElsewhere()
    const answer = await browser.send('/payments', { ...order, hints: [...hints, ...late.body.hints] })
    expect([answer.status, answer.body]).toEqual([201, paid.body])
  })

  // ASVS 2.3.1
  it('400: refuses a decided challenge, a second lookup, a redirect without a URL, and an ended session', async () => {
    const order = await newOrder()
    const { hints } = await walk(browser, order, { until: 'tds-challenge' })
    const refused = async (step: string) => {
      const { status, body } = await take(step, { ...order, hints })
      expect([step, status, body]).toEqual([step, 400, UNAVAILABLE])
    }
    for (const step of ['card-lookup', 'tds-challenge', 'tds-challenge/poll']) {
      await refused(step)
    }
    expect((await take('tds-challenge/redirect', { ...order, hints: hints.slice(0, -1) })).body).toEqual(UNAVAILABLE)
    await outdate('expires', '30 minutes')
    for (const step of ['device-fingerprint', 'tds-fingerprint', 'tds-challenge']) await refused(step)
    expect(await namesOf({ ...order, hints })).toEqual(['card-lookup'])
  })

  it.each(['other', 'card-lookup/poll', 'tds-challenge/iframe', 'tds-challenge/poll/x'])(
    '404: refuses an unknown step as JSON, whatever its body: %s',
    async (path) => {
      for (const order of [await newOrder(), {}]) {
        const { status, body } = await take(path, order)
        expect([status, body]).toEqual([404, errorBodies.endpointNotFound])
      }
    },
  )

  it('400: refuses after ten minutes without an answer, and accepts an answer in time', async () => {
    const order = await newOrder()
    const { hints } = await walk(browser, order, { until: 'tds-fingerprint' })
    await browser.send('/payments', { ...order, hints })
    const { url, fields } = (await take('tds-challenge', { ...order, hints })).body
    const other = await newOrder()
    const answered = await walk(browser, other, { until: 'tds-challenge' })
    await outdate('challenged', '10 minutes')
    const paid = await browser.send('/payments', { ...other, hints: answered.hints })
    expect([paid.status, paid.body]).toEqual(paidOrder)
    // After the timeout the bank stores no decision, and the shop continues without a hint.
    expect(await browser.submit(url, { ...fields, decision: 'approve' })).toContain('data-hints="[]"')
    const late = await browser.send('/payments', { ...order, hints })
    expect([late.status, late.body]).toEqual([400, { code: 'TDSECURE_FAILED', message: '3-D Secure failed' }])
  })
})

describe('hints', () => {
  const ATTEMPTS = 100

  it(`200: cannot be forged, used for another order or after their session (${ATTEMPTS} attempts of each)`, async () => {
    const paidBefore = await countPaid()
    const order = await newOrder()
    const { hints } = await walk(browser, order, { until: 'tds-challenge' })
    const changes: readonly ((i: number) => Promise<object> | object)[] = [
      (i) => ({ amount: { currency: 'EUR', exponent: 2, value: 1_001 + i } }),
      (i) => ({ amount: { currency: i % 2 ? 'USD' : 'DKK', exponent: 2, value: 1_000 } }),
      (i) => ({ unplanned: { merchant: i % 2 === 0, customer: true } }),
      (i) => ({ plan: [{ amount: order.amount, repeat: { interval: { unit: 'month', value: i + 1 } } }] }),
      (i) => ({ card: { ...order.card, expiry: { month: (i % 7) + 1, year: 2067 } } }),
      async () => ({ card: { ...order.card, number: (await newOrder()).card.number } }),
    ]
    const answers: unknown[] = []
    for (let i = 0; i < ATTEMPTS; i++) {
      // Forged hints: random bytes, hints with flipped bits, and encrypted texts of other kinds.
      const [lookup = '', ...others] = hints
      const altered = Buffer.from(lookup, 'base64')
      altered.writeUInt8(altered.readUInt8(i) ^ (1 << (i % 8)), i)
      const forged = [
        [randomBytes(120).toString('base64')],
        [altered.toString('base64'), ...others],
        [order.card.number.token],
        [lookup.slice(0, -i - 1)],
        ['', '=', '\u0000', 'hint', lookup + lookup],
      ]
      answers.push(await namesOf({ ...order, hints: forged[i % forged.length] }))
      // The hints of this order, sent with another order.
      answers.push(await namesOf({ ...order, ...(await changes[i % changes.length]?.(i)), hints }))
    }
    const other = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR', test: true })
    answers.push(await namesOf({ ...order, integration: { key: other.key }, hints }))
    // Answering a challenge in another session of the same order proves nothing in a new session.
    const fresh = (await take('card-lookup', order)).body.hints
    const mixed = { ...order, hints: [...hints.slice(1), ...fresh] }
    for (const step of ['device-fingerprint', 'tds-fingerprint']) {
      expect(await namesOf(mixed)).toEqual([step])
      await take(step, mixed)
    }
    expect(await namesOf(mixed)).toEqual(['tds-challenge', 'tds-challenge'])
    await outdate('expires', '30 minutes')
    for (let i = 0; i < ATTEMPTS; i++) answers.push(await namesOf({ ...order, hints }))
    expect(answers).toHaveLength(3 * ATTEMPTS + 1)
    for (const names of answers) expect(names).toEqual(['card-lookup'])
    expect(await countPaid()).toBe(paidBefore)
  })
})
