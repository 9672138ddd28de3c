import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { callerOf, credentialsOf } from '../../test/caller.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { HIGHEST, LOWEST } from '../pagination/page-query.ts'
import { callAddApp, callRevokeMember, listAppMembers, listUserMembers } from './member-repository.ts'
import { createUserTokens } from './user-token.ts'

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

const input = (changes: object = {}) => ({
  ...credentialsOf(member),
  merchantId,
  test: undefined,
  limit: 10,
  above: LOWEST,
  below: HIGHEST,
  ...changes,
})
const list = (changes: object = {}, order: 'newest-first' | 'oldest-first' = 'newest-first') =>
  listAppMembers(payments.deps.pools, input(changes), order)
const add = (appId: string | null, caller: Pick<TestApp, 'key'> = member) =>
  callAddApp(payments.deps.pools, { caller: callerOf(caller), merchantId, appId })
const revoke = (memberId: string | null, caller: Pick<TestApp, 'key'> = member) =>
  callRevokeMember(payments.deps.pools, 'app', { caller: callerOf(caller), merchantId, memberId })
const hintsOf = async (caller: TestApp) =>
  Object.fromEntries((await list(credentialsOf(caller))).apps.map(({ id, keyHint }) => [id, keyHint]))

describe('listAppMembers', () => {
  it('lists the apps of a merchant in both orders, within the bounds of the page', async () => {
    await add(other.id)
    const idsOf = async (...bounds: Parameters<typeof list>) => (await list(...bounds)).apps.map(({ id }) => id)
    expect(await idsOf()).toEqual([other.id, member.id])
    expect(await idsOf({}, 'oldest-first')).toEqual([member.id, other.id])
    expect(await idsOf({ limit: 1 })).toEqual([other.id])
    expect(await idsOf({ below: other.id })).toEqual([member.id])
    expect(await idsOf({ above: member.id })).toEqual([other.id])
  })

  it('lists none where the merchant is not of the wanted kind, and none for limit 0', async () => {
    const none = { verdict: 'done', identityId: member.id, apps: [] }
    expect([await list({ test: false }), await list({ limit: 0 })]).toEqual([none, none])
    expect((await list({ test: true })).apps).toHaveLength(1)
  })

  it('shows the key hint of an app that another member added to the app itself only', async () => {
    await add(other.id)
    const [own, added] = [member.key.slice(-4), other.key.slice(-4)]
    expect(await hintsOf(member)).toEqual({ [member.id]: own, [other.id]: null })
    expect(await hintsOf(other)).toEqual({ [member.id]: own, [other.id]: added })
  })

  it('tells nothing to an unknown key, about an unknown merchant, or to an app that is no member', async () => {
    const unauthorized = { verdict: 'unauthorized', identityId: null, apps: [] }
    expect(await list(credentialsOf({ key: 'unknown' }))).toEqual(unauthorized)
    expect(await list({ merchantId: UNKNOWN_ID })).toEqual({ verdict: 'not-found', identityId: member.id, apps: [] })
    expect(await list(credentialsOf(other))).toEqual({ verdict: 'forbidden', identityId: other.id, apps: [] })
  })
})

describe('callAddApp', () => {
  it('makes an app a member, and changes nothing when it is one', async () => {
    const added = {
      verdict: 'done',
      identityId: member.id,
      outcome: { verdict: 'added', app: { id: other.id, name: null } },
    }
    expect([await add(other.id), await add(other.id)]).toEqual([added, added])
    expect((await list()).apps).toHaveLength(2)
  })

  it('finds no app for an unknown id, and judges access alone without an id', async () => {
    const done = { verdict: 'done', identityId: member.id }
    expect(await add(UNKNOWN_ID)).toEqual({ ...done, outcome: { verdict: 'unknown-app' } })
    expect(await add(null)).toEqual({ ...done, outcome: undefined })
    expect(await add(null, other)).toEqual({ verdict: 'forbidden', identityId: other.id, outcome: undefined })
  })
})

describe('callRevokeMember', () => {
  it('ends a membership at the first of two calls', async () => {
    await add(other.id)
    expect(await revoke(other.id)).toEqual({ verdict: 'done', identityId: member.id, isLast: false })
    expect(await revoke(other.id)).toEqual({ verdict: 'not-found', identityId: member.id, isLast: false })
    expect((await list(credentialsOf(other))).verdict).toBe('forbidden')
  })

  it('keeps the last app of a live merchant', async () => {
    merchantId = (await createTestMerchant(payments, member)).id
    expect(await revoke(member.id)).toEqual({ verdict: 'done', identityId: member.id, isLast: true })
    expect((await list()).apps).toHaveLength(1)
  })
})

describe('listUserMembers', () => {
  it('hides the name of a user until they accept', async () => {
    const { db } = payments.database
    const url = `/merchants/${merchantId}/users`
    const payload = { email: `Ann.${merchantId}@example.com` }
    await payments.app.inject({ method: 'POST', url, headers: member.headers, payload })
    await db.updateTable('users').set({ name: 'Ann' }).execute()
    const read = async () => (await listUserMembers(payments.deps.pools, input(), 'newest-first')).users
    const shown = { id: expect.any(String), email: payload.email, created: expect.any(Date) }
    expect(await read()).toEqual([{ ...shown, name: null, pending: true }])
    await db.updateTable('merchant_users').set({ pending: false }).where('merchant_id', '=', merchantId).execute()
    expect(await read()).toEqual([{ ...shown, name: 'Ann', pending: false }])
  })
})

describe('the user of an address', () => {
  it('is the same in any case of A to Z, and another where another letter differs', async () => {
    const { register } = createUserTokens(payments.deps.pools, async () => undefined)
    const kelvin = '\u212Aate@case.example'
    for (const email of ['Kate@case.example', 'kATE@Case.example', kelvin, '\u0130@case.example', 'i@case.example']) {
      await register(email)
    }
    const rows = await payments.owner.db
      .selectFrom('users')
      .select('email')
      .where('email', 'ilike', '%@case.example')
      .orderBy('id')
      .execute()
    expect(rows.map(({ email }) => email)).toEqual([
      'Kate@case.example',
      kelvin,
      '\u0130@case.example',
      'i@case.example',
    ])
  })
})
