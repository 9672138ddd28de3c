import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorBodies, refusals, statusAndBody } from './bodies.ts'
import { customerPayment } from './customer-payment.ts'
import { capture } from './operations.ts'
import { createTestApp, createTestMerchant, startPayments, type TestApp, type TestPayments } from './payments-app.ts'

let payments: TestPayments
let owner: TestApp
let stranger: TestApp
/** A user who is not a member of the merchant. The token is the first part of the email address. */
const user = { authorization: 'Bearer ada' }
const member = { authorization: 'Bearer bo' }
/** The owner's object for each path parameter. */
let ids: Record<string, string>
beforeAll(async () => {
  payments = await startPayments({ verifyUser: async (token) => `${token}@example.com` })
  owner = await createTestApp(payments)
  stranger = await createTestApp(payments)
  await createTestMerchant(payments, stranger, { test: true })
  const bank = { iban: 'DK5000400440116243' }
  const { id: merchantId } = await createTestMerchant(payments, owner, { test: true, bank })
  const transactionId = await customerPayment(payments, merchantId, { amount: 90_000 })
  await capture(payments, owner, transactionId, 50_000)
  const send = async (method: 'GET' | 'POST', url: string, payload?: object) =>
    (await payments.app.inject({ method, url, headers: owner.headers, ...(payload && { payload }) })).json()
  const { dispute } = await send('POST', `/test/transactions/${transactionId}/disputes`, { amount: 100 })
  const { fraud } = await send('POST', `/test/transactions/${transactionId}/frauds`, {})
  const { card } = await send('POST', `/merchants/${merchantId}/cards`, { transactionId })
  const { payout } = await send('POST', `/test/merchants/${merchantId}/payouts`, {})
  const { webhook } = await send('POST', `/merchants/${merchantId}/webhooks`, { url: 'https://example.com' })
  await send('POST', `/merchants/${merchantId}/users`, { email: 'eve@example.com' })
  const [[user], [line], [key]] = [
    await send('GET', `/merchants/${merchantId}/users?limit=1`),
    await send('GET', `/merchants/${merchantId}/lines?limit=1`),
    await send('GET', '/me/keys?limit=1'),
  ]
  ids = {
    merchantId,
    transactionId,
    disputeId: dispute.id,
    fraudId: fraud.id,
    cardId: card.id,
    payoutId: payout.id,
    webhookId: webhook.id,
    userId: user.id,
    lineId: line.id,
    keyId: key.id,
    appId: owner.id,
    identityId: owner.id,
  }
})
afterAll(() => payments.close())

interface Documented {
  readonly security?: readonly object[]
}

/** Returns all calls in the API document that name another caller's object. It includes new routes automatically. */
async function callsOnObjects(): Promise<{ method: 'GET'; url: string }[]> {
  const document = await payments.app.describeApi()
  const calls: { method: 'GET'; url: string }[] = []
  for (const [path, operations] of Object.entries(document.paths ?? {})) {
    // Neither keys of apps nor tokens of users give access to operators' routes.
    if (path.startsWith('/operator/')) continue
    if (!path.includes('{') && !/^\/(disputes|frauds)$/.test(path)) continue
    for (const [method, { security }] of Object.entries<Documented>(operations)) {
      if (security?.length === 0) continue
      const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? expect.unreachable(`no ${name}`))
      const query = `limit=9&filter[merchantId]=${ids.merchantId}&from=2026-01-01&to=2026-01-02`
      calls.push({ method: method.toUpperCase() as 'GET', url: `${url}?${query}` })
    }
  }
  return calls
}

type Headers = TestApp['headers'] | typeof user

/** Expects that each call is refused and changes nothing. */
async function expectShutOut(headers: Headers): Promise<void> {
  const rows = () =>
    Promise.all(
      ['transactions', 'lines', 'events', 'merchant_apps', 'merchant_users', 'webhooks', 'audit'].map(async (table) => {
        const { rows: all } = await sql<{ row: string }>`
          SELECT to_jsonb(t)::text AS row FROM ${sql.table(table)} t ORDER BY 1`.execute(payments.database.db)
        return all
      }),
    )
  const before = await rows()
  const calls = await callsOnObjects()
  expect(calls.length).toBeGreaterThan(35)
  for (const { method, url } of calls) {
    const bodies =
      method === 'GET' ? [undefined] : [undefined, { amount: 1, currency: 'EUR', outcome: 'won', advance: 1 }]
    for (const payload of bodies) {
      const answer = await payments.app.inject({ method, url, headers, ...(payload && { payload }) })
      const isOfCaller = url.startsWith('/me/') && headers !== user
      const refusal = isOfCaller ? refusals.notFound : refusals.forbidden
      expect([method, url, statusAndBody(answer)]).toEqual([method, url, refusal])
    }
  }
  expect(await rows()).toEqual(before)
}

/** Returns the reads that all members of the merchant may make. */
async function readsOfMembers() {
  const calls = await callsOnObjects()
  return calls.filter(({ method, url }) => method === 'GET' && !url.startsWith('/identities'))
}

describe('an app that is no member of a merchant', () => {
  // ASVS 8.2.1, 8.2.2, 8.3.1, 8.4.1
  it('403: sees and changes nothing below it, by any route, with any body', () => expectShutOut(stranger.headers))

  it('200: may use the same calls as a member, until the next request after the revocation', async () => {
    const url = `/merchants/${ids.merchantId}/apps`
    const request = { headers: owner.headers, payload: { appId: stranger.id } }
    await payments.app.inject({ method: 'POST', url, ...request })
    const reads = await readsOfMembers()
    const outcomes = async () => {
      const answers = await Promise.all(
        reads.map((read) => payments.app.inject({ ...read, headers: stranger.headers })),
      )
      return new Set(answers.map(({ statusCode, body }) => (statusCode === 200 ? '200' : body)))
    }
    expect(await outcomes()).toEqual(new Set(['200']))
    const membership = payments.database.db.updateTable('merchant_apps').where('app_id', '=', stranger.id)
    await membership.set({ pending: true }).execute()
    await expectShutOut(stranger.headers)
    await membership.set({ pending: false }).execute()
    expect(await outcomes()).toEqual(new Set(['200']))
    await payments.app.inject({ method: 'DELETE', url: `${url}/${stranger.id}`, headers: owner.headers })
    expect(await outcomes()).toEqual(new Set([`${JSON.stringify(errorBodies.forbidden)}\n`]))
  })
})

describe('a user', () => {
  // ASVS 8.2.2, 8.4.1
  it('403: sees and changes nothing below a merchant of others', async () => {
    await payments.app.inject({ url: '/me', headers: user })
    await expectShutOut(user)
  })

  it('200: gets the same answers as an app, as a member', async () => {
    const me = await payments.app.inject({ url: '/me', headers: member })
    const membership = { merchant_id: ids.merchantId ?? '', user_id: me.json().identity.id, created: new Date() }
    await payments.database.db.insertInto('merchant_users').values(membership).execute()
    const reads = await readsOfMembers()
    expect(reads.length).toBeGreaterThan(10)
    for (const read of reads) {
      for (const order of ['', `&after=${'0'.repeat(24)}`]) {
        const url = `${read.url}${order}`
        const [toApp, toUser] = await Promise.all(
          [owner.headers, member].map((headers) => payments.app.inject({ url, headers })),
        )
        expect([url, toUser?.statusCode, toUser?.body]).toEqual([url, 200, toApp?.body])
      }
    }
  })
})
