import { type MailSink, startMailSink } from '@trestle/testing/mail-sink.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { refusals, statusAndBody } from '../../../test/bodies.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../../test/payments-app.ts'

let sink: MailSink
let payments: TestPayments
let app: TestApp
let merchantId: string
beforeAll(async () => {
  sink = await startMailSink()
  payments = await startPayments({
    smtp: sink,
    verifyUser: async (token) => `${token}@example.com`,
    // Revocations and invitations wait for each other's locks.
    lockTimeoutMs: 30_000,
  })
  app = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, app)).id
})
afterAll(async () => {
  await payments.close()
  await sink.close()
})

interface Sender {
  readonly headers: object
}

const as = (name: string): Sender => ({ headers: { authorization: `Bearer ${name}` } })
const read = (path: string, { headers }: Sender) =>
  payments.app.inject({ url: `/merchants/${merchantId}${path}`, headers: { ...headers } })
const send = (method: 'POST' | 'DELETE', path: string, { headers }: Sender, payload: object = {}) =>
  payments.app.inject({ method, url: `/merchants/${merchantId}${path}`, headers: { ...headers }, payload })
const statusFor = async (name: string) => (await read('', as(name))).statusCode
const accept = async (path: string) => (await payments.app.inject({ method: 'POST', url: path })).statusCode

/** Invites a user. @returns the path of the link in the mail */
async function invite(sender: Sender, name: string): Promise<string> {
  expect((await send('POST', '/users', sender, { email: `${name}@example.com` })).statusCode).toBe(201)
  const mail = await sink.take(({ to }) => to?.[0]?.address === `${name}@example.com`)
  return /\/invitations\/[\w-]+/.exec(mail.text ?? '')?.[0] ?? ''
}

/** Returns the users of the merchant. The keys are the names before the `@`, and the values are the ids. */
async function listUsers(): Promise<ReadonlyMap<string, string>> {
  const users: readonly { id: string; email: string }[] = (await read('/users?limit=50', app)).json()
  return new Map(users.map(({ id, email }) => [email.replace('@example.com', ''), id]))
}

const eventsSince = async (at: Date) =>
  payments.database.db
    .selectFrom('events')
    .select(['type', 'object_id'])
    .where('merchant_id', '=', merchantId)
    .where('created', '>=', at)
    .orderBy('id')
    .execute()

it('204: ends the invitations that a user has made, so that no revoked user comes back by one', async () => {
  expect(await accept(await invite(app, 'mary'))).toBe(303)
  expect(await accept(await invite(as('mary'), 'peter'))).toBe(303)
  const [own, foreign] = [await invite(as('mary'), 'second'), await invite(app, 'honest')]
  const users = await listUsers()
  const begun = new Date()
  const revoked = await send('DELETE', `/users/${users.get('mary')}`, app)
  expect(statusAndBody(revoked)).toEqual([204, ''])
  expect(await eventsSince(begun)).toEqual(
    ['second', 'mary'].map((name) => ({ type: 'user.revoked', object_id: users.get(name) })),
  )
  expect([...(await listUsers()).keys()]).toEqual(['honest', 'peter'])
  expect(await accept(own)).toBe(404)
  expect(await Promise.all(['mary', 'second', 'peter'].map(statusFor))).toEqual([403, 403, 200])
  expect(await accept(foreign)).toBe(303)
})

it('204: ends the invitations that an app has made', async () => {
  const other = await createTestApp(payments)
  expect((await send('POST', '/apps', app, { appId: other.id })).statusCode).toBe(201)
  const link = await invite(other, 'later')
  expect(statusAndBody(await send('DELETE', `/apps/${other.id}`, app))).toEqual([204, ''])
  expect(await accept(link)).toBe(404)
  expect(await statusFor('later')).toBe(403)
  expect([...(await listUsers()).keys()]).not.toContain('later')
})

it('403: makes no invitation for a user who is revoked at the same moment', async () => {
  for (let round = 0; round < 5; round++) {
    const name = `racer${round}`
    expect(await accept(await invite(app, name))).toBe(303)
    const id = (await listUsers()).get(name)
    const payload = { email: `${name}-second@example.com` }
    const [revoked, invited] = await Promise.all([
      send('DELETE', `/users/${id}`, app),
      send('POST', '/users', as(name), payload),
    ])
    expect(statusAndBody(revoked)).toEqual([204, ''])
    expect([[201, { isMember: false }], refusals.forbidden]).toContainEqual(statusAndBody(invited))
    expect([...(await listUsers()).keys()]).not.toContain(`${name}-second`)
  }
})
