import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { type MailSink, startMailSink } from '@trestle/testing/mail-sink.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventRow, expectBody, refusals, refusedField, statusAndBody } from '../../../test/bodies.ts'
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

let sink: MailSink
let payments: TestPayments
let member: TestApp
let stranger: TestApp
let merchantId: string
/** An email address that is new for each test. */
let email: string
let addresses = 0
beforeAll(async () => {
  sink = await startMailSink()
  payments = await startPayments({ smtp: sink })
  stranger = await createTestApp(payments)
})
afterAll(async () => {
  await payments.close()
  await sink.close()
})
beforeEach(async () => {
  const response = await payments.app.inject({ method: 'POST', url: '/apps', payload: { name: 'Shop & Co' } })
  const { id, key } = response.json().app
  member = { id, key, headers: basic(key) }
  merchantId = (await createTestMerchant(payments, member, { name: 'Coffee', test: true })).id
  addresses += 1
  email = `Person.${addresses}@example.com`
})

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const INVITED = [201, '{"isMember":false}\n']
const NO_INVITATION = '<h1>There is no such invitation</h1>'

const invite = (payload: object | string = { email }, headers: object = {}, id = merchantId) =>
  payments.app.inject({
    method: 'POST',
    url: `/merchants/${id}/users`,
    headers: { ...member.headers, ...headers },
    payload,
  })
const revoke = (userId: string, headers: object = {}, id = merchantId) =>
  payments.app.inject({
    method: 'DELETE',
    url: `/merchants/${id}/users/${userId}`,
    headers: { ...member.headers, ...headers },
  })
const list = (query = 'limit=10', headers: object = {}, id = merchantId) =>
  payments.app.inject({ url: `/merchants/${id}/users?${query}`, headers: { ...member.headers, ...headers } })
const users = async () => expectBody(200, await list())
const read = (url: string) => payments.app.inject({ url, headers: member.headers })
const mailTo = (address: string) =>
  sink.take(({ to }) => to?.some((each) => each.address?.toLowerCase() === address.toLowerCase()) ?? false)
const linkIn = (text: string | undefined) =>
  /https:\/\/payments\.example(\/invitations\/[\w-]{43})\n/.exec(text ?? '')?.[1] ?? ''
const accept = (link: string) => payments.app.inject({ method: 'POST', url: link })
const open = (link: string) => payments.app.inject({ url: link })
const rowsOf = (table: 'events' | 'audit') =>
  payments.database.db.selectFrom(table).selectAll().where('merchant_id', '=', merchantId).orderBy('id').execute()
/** Returns the number of ids that the database has generated. Each id contains its number. */
const idsDrawn = async () =>
  (await sql<{ last_value: bigint }>`SELECT last_value FROM ${sql.table('id_counter')}`.execute(payments.database.db))
    .rows[0]?.last_value ?? expect.unreachable()
/** Moves the invitations 601 s into the past, so that they may be mailed again. */
const letTimePass = () =>
  payments.database.db
    .updateTable('invitations')
    .set({ created: new Date(Date.now() - 601_000) })
    .where('merchant_id', '=', merchantId)
    .execute()

describe('POST /merchants/:merchantId/users', () => {
  it('201: invites by mail, and the link makes the user a member', async () => {
    const response = await invite()
    expect([response.statusCode, response.body]).toEqual([201, '{"isMember":false}\n'])
    const [user] = await users()
    const mail = await mailTo(email)
    expect(mail.subject).toBe('You are invited to look after a merchant')
    expect(mail.from).toEqual({ address: 'payments@example.com', name: '' })
    expect(mail.text).toContain('you are invited to look after a merchant at payments.example.')
    expect(mail.html).toContain(`<a href="https://payments.example${linkIn(mail.text)}">See the invitation</a>`)
    // The mail must not contain the names of apps and merchants, because clients choose them freely.
    for (const name of ['Shop & Co', 'Coffee']) expect(`${mail.subject} ${mail.text} ${mail.html}`).not.toContain(name)
    expect(user).toEqual({ id: user?.id, email, created: createdOf(user?.id ?? ''), pending: true })
    const link = linkIn(mail.text)
    expect((await accept(link)).statusCode).toBe(303)
    expect(await users()).toEqual([{ ...user, pending: false }])
    const again = await invite()
    expect([again.statusCode, again.body]).toEqual([201, '{"isMember":true}\n'])
    expect(sink.mails.filter(({ to }) => to?.[0]?.address === email)).toHaveLength(1)
    expect(await rowsOf('events')).toEqual([
      eventRow({
        merchant_id: merchantId,
        type: 'user.invited',
        object_id: user?.id,
        data: { id: user?.id, email, name: null, pending: true, created: expect.any(String) },
      }),
    ])
    expect((await rowsOf('audit')).map(({ action }) => action)).toEqual(['app.added', 'user.invited', 'user.accepted'])
  })

  it('201: accepts a form, and finds a user by an address in any case', async () => {
    const form = await invite(`email=${encodeURIComponent(email.toUpperCase())}`, FORM)
    expect([form.statusCode, form.body]).toEqual(INVITED)
    await mailTo(email.toUpperCase())
    const again = await invite()
    expect([again.statusCode, again.body]).toEqual(INVITED)
    expect(await users()).toEqual([{ email: email.toUpperCase(), pending: true, id: anyId, created: anyTime }])
    expect(
      await payments.database.db.selectFrom('users').select('id').where('email', 'ilike', email).execute(),
    ).toHaveLength(1)
  })

  it('201: finds a user by each spelling of an internationalised domain', async () => {
    const [local] = email.split('@')
    const stored = `${local}@xn--mller-kva.example`
    await invite({ email: `${local}@Müller.example` })
    await mailTo(stored)
    const again = await invite({ email: stored })
    expect([again.statusCode, again.body]).toEqual(INVITED)
    expect(await users()).toEqual([{ email: stored, pending: true, id: anyId, created: anyTime }])
  })

  it('201: reveals nothing of a user whom another merchant has invited before', async () => {
    const other = (await createTestMerchant(payments, stranger)).id
    const known = `known.${email}`
    await invite({ email: known.toUpperCase() }, stranger.headers, other)
    const record = { name: 'Barbara', created: new Date('2026-01-01T00:00:00.000Z') }
    await payments.database.db.updateTable('users').set(record).where('email', '=', known.toUpperCase()).execute()
    const drawn: unknown[] = []
    for (const address of [known, `new.${email}`]) {
      const [begun, before] = [Date.now(), await idsDrawn()]
      await invite({ email: address })
      drawn.push((await idsDrawn()) - before)
      const [user] = await users()
      const { id = '', created = '' } = user ?? {}
      expect(user).toEqual({ id, email: address, created: createdOf(id), pending: true })
      expect(Date.parse(created)).toBeGreaterThanOrEqual(begun)
      const [event] = (await read(`/merchants/${merchantId}/events?limit=1`)).json()
      expect([event.type, event.data]).toEqual(['user.invited', { user }])
      expect(statusAndBody(await read(`/identities/${id}/merchants?limit=1`))).toEqual(refusals.notFound)
    }
    expect(drawn).toEqual([drawn[0], drawn[0]])
    const shown = await users()
    await accept(linkIn((await mailTo(known.toUpperCase())).text))
    await accept(linkIn((await mailTo(known.toUpperCase())).text))
    expect(await users()).toEqual([shown[0], { ...shown[1], name: 'Barbara', pending: false }])
  })

  it('201: mails again only after ten minutes, and each link is good', async () => {
    await invite()
    const first = linkIn((await mailTo(email)).text)
    await Promise.all([invite(), invite()])
    await letTimePass()
    const answers = await Promise.all(Array.from({ length: 5 }, () => invite()))
    expect(answers.map(({ statusCode, body }) => [statusCode, body])).toEqual(Array.from({ length: 5 }, () => INVITED))
    const second = linkIn((await mailTo(email)).text)
    expect(sink.mails.filter(({ to }) => to?.[0]?.address === email)).toHaveLength(2)
    expect(second).not.toBe(first)
    expect((await accept(first)).statusCode).toBe(303)
    expect((await open(second)).statusCode).toBe(200)
    expect(await rowsOf('events')).toHaveLength(1)
  })

  it('201: invites once when many requests come at once', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => invite()))
    expect(new Set(answers.map(({ statusCode, body }) => `${statusCode} ${body}`))).toEqual(
      new Set(['201 {"isMember":false}\n']),
    )
    await mailTo(email)
    expect(await users()).toHaveLength(1)
    expect(await rowsOf('events')).toHaveLength(1)
    const left = await payments.database.db.selectFrom('outbox').select('id').execute()
    expect(left).toEqual([])
    expect(sink.mails.filter(({ to }) => to?.[0]?.address === email)).toHaveLength(1)
  })

  it('201: repeats with an Idempotency-Key, also after the user has accepted', async () => {
    const key = { 'idempotency-key': 'k' }
    const first = await invite({ email }, key)
    await accept(linkIn((await mailTo(email)).text))
    const second = await invite({ email }, key)
    expect([second.statusCode, second.body, second.headers['idempotent-replayed']]).toEqual([201, first.body, 'true'])
    expect(await users()).toHaveLength(1)
  })

  it('400: refuses the Idempotency-Key of another invitation, and invites nobody', async () => {
    const key = { 'idempotency-key': 'other' }
    await invite({ email }, key)
    await mailTo(email)
    expect(statusAndBody(await invite({ email: `x${email}` }, key))).toEqual(
      refusedField('Idempotency-Key', 'was used with another body', 'MISMATCH'),
    )
    expect(await users()).toHaveLength(1)
  })

  it.each([
    [{}, 'is required', 'REQUIRED'],
    [{ email: '' }, 'is required', 'REQUIRED'],
    [{ email: 5 }, 'must be a string', 'TYPE'],
    [{ email: 'john' }, 'must be an e-mail address', 'FORMAT'],
    [{ email: 'john@example.com\r\nBcc: x@example.com' }, 'must be an e-mail address', 'FORMAT'],
    [{ email: `${'x'.repeat(250)}@example.com` }, 'must be at most 254 characters', 'RANGE'],
  ])('400: refuses %j', async (payload, message, code) => {
    const response = await invite(payload)
    expect([response.statusCode, response.json()]).toEqual([400, [{ field: 'email', message, code }]])
    expect(await users()).toEqual([])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await invite({}, basic('x'), UNKNOWN_ID))).toEqual(refusals.unauthorized)
    expect(await users()).toEqual([])
  })

  it('404: refuses an unknown merchant before the body is judged', async () => {
    expect(statusAndBody(await invite({}, {}, UNKNOWN_ID))).toEqual(refusals.notFound)
    expect(await users()).toEqual([])
  })

  it('403: refuses an app that is no member, before the body is judged', async () => {
    expect(statusAndBody(await invite({}, stranger.headers))).toEqual(refusals.forbidden)
    expect(statusAndBody(await invite({ email }, stranger.headers))).toEqual(refusals.forbidden)
    expect(await users()).toEqual([])
  })

  // ASVS 1.3.11
  it('201: writes no name into the mail, and sends it to one address', async () => {
    const named = { method: 'PUT', url: `/merchants/${merchantId}`, headers: member.headers } as const
    await payments.app.inject({ ...named, payload: { name: 'Coffee\r\n\r\nOpen https://evil.example\u2028now' } })
    const two = await invite({ email: `a,b${addresses}@example.com` })
    expect([two.statusCode, two.json()]).toEqual([
      400,
      [{ field: 'email', message: 'must be an e-mail address', code: 'FORMAT' }],
    ])
    const one = await invite({ email: `one${addresses}@example.com` })
    expect([one.statusCode, one.body]).toEqual(INVITED)
    const mail = await mailTo(`one${addresses}@example.com`)
    expect(mail.text).not.toContain('evil')
    expect(mail.to).toEqual([{ name: '', address: `one${addresses}@example.com` }])
  })
})

describe('GET /merchants/:merchantId/users', () => {
  it('200: pages by the id of the user, and shows names', async () => {
    for (const name of ['a', 'b', 'c']) await invite({ email: `${name}.${email}` })
    const all = (await users()).map(({ id }: { id: string }) => id)
    expect(all).toEqual(all.toSorted().reverse())
    const [c = '', b = '', a = ''] = all
    const idsOf = async (query: string) => expectBody(200, await list(query)).map(({ id }: { id: string }) => id)
    expect(await idsOf('limit=2')).toEqual([c, b])
    expect(await idsOf(`limit=2&before=${b}`)).toEqual([a])
    expect(await idsOf(`limit=2&after=${a}`)).toEqual([b, c])
    expect(await idsOf('limit=9&filter[test]=0')).toEqual([])
    await payments.database.db.updateTable('users').set({ name: 'Carla' }).where('email', '=', `c.${email}`).execute()
    await accept(linkIn((await mailTo(`c.${email}`)).text))
    const first = await list('limit=1')
    expect([first.statusCode, first.body]).toEqual([
      200,
      `[\n{"id":"${c}","email":"c.${email}","name":"Carla","created":"${createdOf(c)}","pending":false}\n]\n`,
    ])
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    expect(statusAndBody(await list('', basic('x'), UNKNOWN_ID))).toEqual(refusals.unauthorized)
  })

  it('404: refuses an unknown merchant before the page is judged', async () => {
    expect(statusAndBody(await list('', {}, UNKNOWN_ID))).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member, before the page is judged', async () => {
    expect(statusAndBody(await list('', stranger.headers))).toEqual(refusals.forbidden)
  })

  it('400: refuses a page without a limit', async () => {
    expect(statusAndBody(await list(''))).toEqual(refusedField('limit', 'is required', 'REQUIRED'))
  })
})

describe('DELETE /merchants/:merchantId/users/:userId', () => {
  it('204: revokes an invitation, whose link then shows 404', async () => {
    await invite()
    const link = linkIn((await mailTo(email)).text)
    const [user] = await users()
    const response = await revoke(user?.id ?? '')
    expect([response.statusCode, response.body]).toEqual([204, ''])
    for (const page of [await open(link), await accept(link)]) {
      expect([page.statusCode, page.body]).toEqual([404, expect.stringContaining(NO_INVITATION)])
    }
    expect(await users()).toEqual([])
    expect(statusAndBody(await revoke(user?.id ?? ''))).toEqual(refusals.notFound)
    expect((await rowsOf('events')).at(-1)).toEqual(
      eventRow({
        merchant_id: merchantId,
        type: 'user.revoked',
        object_id: user?.id,
        data: { email, pending: true, id: user?.id, name: null, created: expect.any(String) },
      }),
    )
    expect((await invite()).body).toBe('{"isMember":false}\n')
    await mailTo(email)
  })

  it('204: ends the access of a user, with an event', async () => {
    await invite()
    await accept(linkIn((await mailTo(email)).text))
    const [user] = await users()
    expect(statusAndBody(await revoke(user?.id.toUpperCase() ?? ''))).toEqual([204, ''])
    expect(await users()).toEqual([])
    expect((await rowsOf('events')).at(-1)).toEqual(
      eventRow({
        merchant_id: merchantId,
        type: 'user.revoked',
        object_id: user?.id,
        data: { email, pending: false, id: user?.id, name: null, created: expect.any(String) },
      }),
    )
    expect((await rowsOf('audit')).at(-1)).toEqual({
      action: 'user.revoked',
      identity_id: member.id,
      merchant_id: merchantId,
      id: anyId,
      payload: { userId: anyId },
      created: expect.any(Date),
    })
  })

  it('204: revokes a user who accepts at the same moment', async () => {
    await invite()
    const link = linkIn((await mailTo(email)).text)
    const [user] = await users()
    const [accepted, revoked] = await Promise.all([accept(link), revoke(user?.id ?? '')])
    expect(statusAndBody(revoked)).toEqual([204, ''])
    expect([303, 404]).toContain(accepted.statusCode)
    expect(await users()).toEqual([])
    const page = await open(link)
    expect([page.statusCode, page.body]).toEqual([404, expect.stringContaining(NO_INVITATION)])
  })

  it('404: revokes no user of another merchant', async () => {
    await invite()
    const [user] = await users()
    const id = user?.id ?? ''
    const other = (await createTestMerchant(payments, member)).id
    for (const unknown of [UNKNOWN_ID, 'x', member.id])
      expect(statusAndBody(await revoke(unknown))).toEqual(refusals.notFound)
    expect(statusAndBody(await revoke(id, {}, other))).toEqual(refusals.notFound)
    expect(statusAndBody(await revoke(id, {}, UNKNOWN_ID))).toEqual(refusals.notFound)
    expect(await users()).toHaveLength(1)
    await mailTo(email)
  })

  it('403: lets nobody revoke a user who is no member', async () => {
    await invite()
    const [user] = await users()
    const id = user?.id ?? ''
    expect(statusAndBody(await revoke(id, stranger.headers))).toEqual(refusals.forbidden)
    expect(await users()).toHaveLength(1)
    await mailTo(email)
  })

  it('401: revokes no user by an unknown key', async () => {
    await invite()
    const [user] = await users()
    const id = user?.id ?? ''
    expect(statusAndBody(await revoke(id, basic('x')))).toEqual(refusals.unauthorized)
    expect(await users()).toHaveLength(1)
    await mailTo(email)
  })
})
