import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expectBody, refusals, refusedField, statusAndBody } from '../../../test/bodies.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let other: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())
beforeEach(async () => {
  member = await createTestApp(payments)
  other = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member, { test: true })).id
})

const LAST = refusedField('appId', 'is the only app of the merchant', 'LIMIT_EXCEEDED')
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const add = (payload: object | string, headers: object = {}, id = merchantId) =>
  payments.app.inject({
    method: 'POST',
    url: `/merchants/${id}/apps`,
    headers: { ...member.headers, ...headers },
    payload,
  })
const revoke = (appId: string, headers: object = {}, id = merchantId) =>
  payments.app.inject({
    method: 'DELETE',
    url: `/merchants/${id}/apps/${appId}`,
    headers: { ...member.headers, ...headers },
  })
const list = (query = 'limit=10', headers: object = {}, id = merchantId) =>
  payments.app.inject({ url: `/merchants/${id}/apps?${query}`, headers: { ...member.headers, ...headers } })
const idsOf = async (query?: string) => expectBody(200, await list(query)).map(({ id }: { id: string }) => id)
/** Replaces the merchant of the test by a live merchant. The last member of a live merchant cannot be removed. */
const goLive = async () => {
  merchantId = (await createTestMerchant(payments, member)).id
}
/** Invites a user to the merchant. @returns the id of the user at the merchant */
async function invite(): Promise<string> {
  const payload = { email: 'ann@example.com' }
  await payments.app.inject({ method: 'POST', url: `/merchants/${merchantId}/users`, headers: member.headers, payload })
  const { db } = payments.database
  const row = await db
    .selectFrom('merchant_users')
    .where('merchant_id', '=', merchantId)
    .selectAll()
    .executeTakeFirstOrThrow()
  return row.member_id ?? row.user_id
}
/** Invites a user and accepts the invitation. */
async function join(): Promise<string> {
  const id = await invite()
  const { db } = payments.database
  await db.updateTable('merchant_users').set({ pending: false }).where('merchant_id', '=', merchantId).execute()
  return id
}
/** Returns 200 if the app is a member of the merchant, otherwise the status and the body of the refusal. */
const see = async ({ headers }: TestApp) => {
  const response = await payments.app.inject({ url: `/merchants/${merchantId}`, headers })
  return response.statusCode === 200 ? 200 : statusAndBody(response)
}
const eventsOf = () =>
  payments.database.db
    .selectFrom('events')
    .select(['type', 'object_id'])
    .where('merchant_id', '=', merchantId)
    .orderBy('id')
    .execute()
const auditOf = () =>
  payments.database.db
    .selectFrom('audit')
    .select(['action', 'identity_id', 'payload'])
    .where('merchant_id', '=', merchantId)
    .orderBy('id')
    .execute()

async function named(name: string): Promise<TestApp> {
  const response = await payments.app.inject({ method: 'POST', url: '/apps', payload: { name } })
  const { id, key } = response.json().app
  return { id, key, headers: basic(key) }
}

describe('POST /merchants/:merchantId/apps', () => {
  it.each([
    ['JSON', (id: string) => ({ appId: id.toUpperCase() }), {}],
    ['form', (id: string) => `appId=${id}`, FORM],
  ])('201: makes an app a member with full rights, as %s', async (_, body, headers) => {
    const shop = await named('Shop')
    expect(await see(shop)).toEqual(refusals.forbidden)
    const response = await add(body(shop.id), headers)
    expect([response.statusCode, response.body]).toEqual([201, `{"app":{"id":"${shop.id}","name":"Shop"}}\n`])
    expect(await see(shop)).toBe(200)
    expect((await add({ appId: other.id }, shop.headers)).json()).toEqual({ app: { id: other.id } })
    expect(await see(other)).toBe(200)
    expect(await eventsOf()).toEqual([shop, other].map(({ id }) => ({ type: 'app.added', object_id: id })))
    expect((await auditOf()).slice(1)).toEqual([
      { action: 'app.added', identity_id: member.id, payload: { appId: shop.id } },
      { action: 'app.added', identity_id: shop.id, payload: { appId: other.id } },
    ])
  })

  it('201: changes nothing when the app is a member, also when many requests come at once', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => add({ appId: other.id })))
    expect(answers.map(({ statusCode, body }) => `${statusCode} ${body}`)).toEqual(
      Array.from({ length: 10 }, () => `201 {"app":{"id":"${other.id}"}}\n`),
    )
    expect((await add({ appId: member.id })).json()).toEqual({ app: { id: member.id } })
    expect(await eventsOf()).toEqual([{ type: 'app.added', object_id: other.id }])
  })

  it('201: repeats the answer to an Idempotency-Key without effect', async () => {
    const key = { 'idempotency-key': 'k' }
    const first = await add({ appId: other.id }, key)
    await revoke(other.id)
    const second = await add({ appId: other.id }, key)
    expect([second.statusCode, second.body]).toEqual([201, first.body])
    expect([first, second].map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, 'true'])
    expect(await see(other)).toEqual(refusals.forbidden)
  })

  it('400: refuses an Idempotency-Key that was used with another body', async () => {
    const key = { 'idempotency-key': 'k' }
    await add({ appId: other.id }, key)
    const mismatch = await add({ appId: member.id }, key)
    expect([mismatch.statusCode, mismatch.json()]).toEqual([
      400,
      [{ field: 'Idempotency-Key', message: 'was used with another body', code: 'MISMATCH' }],
    ])
  })

  it('403: repeats no answer to an app that is no member', async () => {
    const key = { 'idempotency-key': 'k' }
    await add({ appId: other.id }, key)
    await revoke(other.id)
    expect(statusAndBody(await add({ appId: other.id }, { ...key, ...other.headers }))).toEqual(refusals.forbidden)
  })

  it('403: repeats no answer to its own app once the app is no member any more', async () => {
    const key = { 'idempotency-key': 'k' }
    await add({ appId: other.id }, key)
    await revoke(member.id)
    expect(statusAndBody(await add({ appId: other.id }, key))).toEqual(refusals.forbidden)
  })

  it('400: does not remember that an app is unknown', async () => {
    const key = { 'idempotency-key': 'k' }
    const unknown = await add({ appId: UNKNOWN_ID }, key)
    expect([unknown.statusCode, unknown.json()]).toEqual([
      400,
      [{ field: 'appId', message: 'is not an app', code: 'UNKNOWN' }],
    ])
    expect(statusAndBody(await add({ appId: other.id }, key))).toEqual([201, { app: { id: other.id } }])
  })

  it.each([
    [undefined, 'is required', 'REQUIRED'],
    ['', 'is required', 'REQUIRED'],
    [null, 'is required', 'REQUIRED'],
    [5, 'must be a string', 'TYPE'],
    ['x', 'must be 24 hexadecimal digits', 'FORMAT'],
    [`${UNKNOWN_ID}0`, 'must be 24 hexadecimal digits', 'FORMAT'],
  ])('400: refuses the app %j', async (appId, message, code) => {
    const response = await add({ appId })
    expect([response.statusCode, response.json()]).toEqual([400, [{ field: 'appId', message, code }]])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await add({}, basic('x'), UNKNOWN_ID))).toEqual(refusals.unauthorized)
    expect(await idsOf()).toEqual([member.id])
  })

  it('404: refuses an unknown merchant before the body is judged', async () => {
    expect(statusAndBody(await add({}, {}, UNKNOWN_ID))).toEqual(refusals.notFound)
    expect(statusAndBody(await add({}, {}, 'x'))).toEqual(refusals.notFound)
    expect(await idsOf()).toEqual([member.id])
  })

  it('403: refuses an app that is no member, before the body is judged', async () => {
    const strange = await add({}, other.headers)
    expect(statusAndBody(strange)).toEqual(refusals.forbidden)
    expect(statusAndBody(await add({ appId: other.id }, other.headers))).toEqual(refusals.forbidden)
    expect(await idsOf()).toEqual([member.id])
  })
})

describe('GET /merchants/:merchantId/apps', () => {
  it('200: shows names, or the hint of the newest key unless an operator hides it', async () => {
    const [shop, hidden] = [await named('Shop'), await createTestApp(payments)]
    await payments.database.db.updateTable('apps').set({ hidden: true }).where('id', '=', hidden.id).execute()
    for (const { id } of [shop, hidden]) await add({ appId: id })
    const created = await payments.app.inject({ method: 'POST', url: '/me/keys', headers: member.headers })
    const { key } = created.json().key
    const response = await list()
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual([
      { id: hidden.id, created: createdOf(hidden.id) },
      { id: shop.id, name: 'Shop', created: createdOf(shop.id) },
      { id: member.id, created: createdOf(member.id), keyHint: key.slice(-4) },
    ])
    expect(response.body).not.toContain(key)
    expect((await list(undefined, hidden.headers)).json()).toEqual(response.json())
  })

  it('200: shows the hint of an app that others added only to the app itself', async () => {
    const added = await createTestApp(payments)
    await add({ appId: added.id })
    const own = { id: member.id, created: createdOf(member.id), keyHint: member.key.slice(-4) }
    const shown = { id: added.id, created: createdOf(added.id) }
    expect(statusAndBody(await list())).toEqual([200, [shown, own]])
    expect(statusAndBody(await list(undefined, added.headers))).toEqual([
      200,
      [{ ...shown, keyHint: added.key.slice(-4) }, own],
    ])
  })

  it('200: pages by the id of the app, whenever it was added', async () => {
    const [a, b, c] = [await createTestApp(payments), await createTestApp(payments), await createTestApp(payments)]
    for (const { id } of [c, a, b]) await add({ appId: id })
    expect(await idsOf()).toEqual([c.id, b.id, a.id, member.id])
    expect(await idsOf('limit=2')).toEqual([c.id, b.id])
    expect(await idsOf(`limit=2&before=${b.id}`)).toEqual([a.id, member.id])
    expect(await idsOf(`limit=2&after=${member.id}`)).toEqual([a.id, b.id])
    expect(await idsOf(`limit=9&after=${member.id}&before=${c.id}`)).toEqual([b.id, a.id])
    expect(await idsOf('limit=9&filter[test]=y')).toHaveLength(4)
    expect(await idsOf('limit=9&filter[test]=no')).toEqual([])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await list('', basic('x'), UNKNOWN_ID))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the page is judged', async () => {
    expect(statusAndBody(await list('', {}, UNKNOWN_ID))).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the page is judged', async () => {
    expect(statusAndBody(await list('', other.headers))).toEqual(refusals.forbidden)
  })

  it('400: refuses a page without a limit', async () => {
    const response = await list('')
    expect([response.statusCode, response.json()]).toEqual([
      400,
      [{ field: 'limit', message: 'is required', code: 'REQUIRED' }],
    ])
  })
})

describe('DELETE /merchants/:merchantId/apps/:appId', () => {
  it('204: ends the membership from the next request on', async () => {
    await add({ appId: other.id })
    const response = await revoke(other.id.toUpperCase())
    expect([response.statusCode, response.body]).toEqual([204, ''])
    expect(await see(other)).toEqual(refusals.forbidden)
    expect((await eventsOf()).at(-1)).toEqual({ type: 'app.revoked', object_id: other.id })
    expect((await auditOf()).at(-1)).toEqual({
      action: 'app.revoked',
      identity_id: member.id,
      payload: { appId: other.id },
    })
    expect(statusAndBody(await revoke(other.id))).toEqual(refusals.notFound)
  })

  it('400: lets the only app of a live merchant not revoke itself', async () => {
    await goLive()
    expect(statusAndBody(await revoke(member.id))).toEqual(LAST)
    expect(await see(member)).toBe(200)
  })

  it('400: counts no invited user at a live merchant', async () => {
    await goLive()
    await invite()
    expect(statusAndBody(await revoke(member.id))).toEqual(LAST)
    expect(await see(member)).toBe(200)
  })

  it('400: counts no app without a good key at a live merchant', async () => {
    await goLive()
    await add({ appId: other.id })
    const keys = payments.owner.db.updateTable('app_keys').where('app_id', '=', other.id)
    await keys.set({ expires: new Date(0) }).execute()
    expect(statusAndBody(await revoke(member.id))).toEqual(LAST)
    expect(await see(member)).toBe(200)
  })

  it('204: lets the only app of a live merchant revoke itself while a user is a member', async () => {
    await goLive()
    await join()
    expect(statusAndBody(await revoke(member.id))).toEqual([204, ''])
    expect(await see(member)).toEqual(refusals.forbidden)
  })

  it('204: lets the only app of a test merchant revoke itself', async () => {
    expect(statusAndBody(await revoke(member.id))).toEqual([204, ''])
    expect(await see(member)).toEqual(refusals.forbidden)
    expect((await eventsOf()).at(-1)).toEqual({ type: 'app.revoked', object_id: member.id })
  })

  it('204: lets an app revoke itself beside another app', async () => {
    await goLive()
    await add({ appId: other.id })
    expect(statusAndBody(await revoke(member.id))).toEqual([204, ''])
    expect(await see(member)).toEqual(refusals.forbidden)
  })

  it('403: lets an app that has revoked itself revoke nobody', async () => {
    await add({ appId: other.id })
    await revoke(member.id)
    expect(statusAndBody(await revoke(member.id))).toEqual(refusals.forbidden)
  })

  it('400: lets the app that is left at a live merchant not revoke itself', async () => {
    await goLive()
    await add({ appId: other.id })
    await revoke(member.id)
    expect(statusAndBody(await revoke(other.id, other.headers))).toEqual(LAST)
  })

  it('404: refuses to revoke an app that is no member', async () => {
    for (const id of [other.id, UNKNOWN_ID, 'x']) expect(statusAndBody(await revoke(id))).toEqual(refusals.notFound)
    expect(statusAndBody(await revoke(member.id, {}, UNKNOWN_ID))).toEqual(refusals.notFound)
    expect(await idsOf()).toEqual([member.id])
  })

  it('403: lets no app revoke that is no member itself', async () => {
    expect(statusAndBody(await revoke(member.id, other.headers))).toEqual(refusals.forbidden)
    expect(await idsOf()).toEqual([member.id])
  })

  it('401: revokes no app by an unknown key', async () => {
    expect(statusAndBody(await revoke(member.id, basic('x')))).toEqual(refusals.unauthorized)
    expect(await idsOf()).toEqual([member.id])
  })

  const send = (type: string, payload: string) =>
    payments.app.inject({
      method: 'DELETE',
      url: `/merchants/${merchantId}/apps/${member.id}`,
      headers: { ...member.headers, 'content-type': type },
      payload,
    })

  it('415: revokes nobody when the body has another media type', async () => {
    expect(statusAndBody(await send('text/xml', '<a/>'))).toEqual(refusals.unsupportedMediaType)
    expect(await idsOf()).toEqual([member.id])
  })

  it('400: revokes nobody when the body is not JSON', async () => {
    expect(statusAndBody(await send('application/json', '{'))).toEqual(
      refusedField('body', 'is not valid JSON', 'FORMAT'),
    )
    expect(await idsOf()).toEqual([member.id])
  })

  it('204: takes an empty text as a body without fields', async () => {
    await add({ appId: other.id })
    expect(statusAndBody(await send('application/json', ''))).toEqual([204, ''])
  })

  it.each([
    ['204, 400', 'themselves', () => [revoke(member.id), revoke(other.id, other.headers)], LAST],
    // The first request revokes the access of the app that sends the second request.
    ['204, 403', 'each other', () => [revoke(other.id), revoke(member.id, other.headers)], refusals.forbidden],
  ] as const)('%s: when two live members revoke %s at once, one of them stays', async (_, _whom, both, refused) => {
    await goLive()
    await add({ appId: other.id })
    const answers = await Promise.all(both())
    const [rejected, ...others] = answers.filter(({ statusCode }) => statusCode !== 204)
    expect([others, answers.filter(({ statusCode, body }) => statusCode === 204 && body === '').length]).toEqual([
      [],
      1,
    ])
    expect(rejected && statusAndBody(rejected)).toEqual(refused)
    const seen = [await see(member), await see(other)]
    expect(seen).toContain(200)
    expect(seen).toContainEqual(refusals.forbidden)
  })

  it('204 and 403: keeps a member of a live merchant whose app leaves in parallel with removing the only user', async () => {
    for (let round = 0; round < 10; round += 1) {
      member = await createTestApp(payments)
      await goLive()
      const user = await join()
      const url = `/merchants/${merchantId}/users/${user}`
      const both = [revoke(member.id), payments.app.inject({ method: 'DELETE', url, headers: member.headers })] as const
      const answers = (await Promise.all(both)).map(statusAndBody)
      const outcomes = [
        [[204, ''], refusals.forbidden],
        [LAST, [204, '']],
      ]
      expect(outcomes).toContainEqual(answers)
    }
  })
})
