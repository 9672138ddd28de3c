import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, statusAndBody } from '../../../test/bodies.ts'
import { customerPayment } from '../../../test/customer-payment.ts'
import { capture } from '../../../test/operations.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
/** Merchants, in the order of their creation. */
let north: Shown
let south: Shown
let tea: Shown
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  member = await createTestApp(payments)
  const make = async (changes: object) => {
    const { id } = await createTestMerchant(payments, member, { currency: 'EUR', ...changes })
    const shown = await payments.app.inject({ url: `/merchants/${id}`, headers: member.headers })
    return shown.json().merchant
  }
  north = await make({ name: 'Northern coffee', email: 'ann@north.example', website: 'https://north.example' })
  south = await make({ name: 'Southern coffee', email: 'bo@south.example', website: 'https://south.example' })
  tea = await make({ name: '100% Tea', email: 'Cy@tea.example', website: 'https://tea.example', test: true })
})
afterAll(() => payments.close())

interface Shown {
  readonly id: string
  readonly key: string
}

const get = (path: string) => payments.app.inject({ url: `/operator${path}`, headers: operatorHeaders('viewer') })
const found = async (query: string) => expectBody(200, await get(`/merchants?${query}`)).merchants

describe('GET /operator/merchants', () => {
  it('200: lists the merchants of everybody, newest first, as their members see them', async () => {
    const answer = await get('/merchants')
    expect(statusAndBody(answer)).toEqual([200, { merchants: [tea, south, north] }])
    expect(answer.headers.link).toBeUndefined()
  })

  it.each([
    ['an id in any case', () => north.id.toUpperCase(), () => [north]],
    ['a public key', () => south.key, () => [south]],
    ['the beginning of a name in any case', () => 'nORTH', () => [north]],
    ['the beginning of an email address', () => 'cy@', () => [tea]],
    ['the beginning of a website', () => 'https://SOUTH', () => [south]],
    ['what several begin with', () => 'https://', () => [tea, south, north]],
    ['signs that are wild cards in patterns', () => '100%', () => [tea]],
    ['a wild card', () => '%', () => []],
    ['the middle of a name', () => 'coffee', () => []],
    ['a part of an id', () => north.id.slice(0, 23), () => []],
  ])('200: finds by %s only the merchants that match', async (_what, search, expected) => {
    expect(await found(`search=${encodeURIComponent(search())}`)).toEqual(expected())
  })

  it('200: lists test merchants alone, or live ones', async () => {
    expect([await found('test=true'), await found('test=false')]).toEqual([[tea], [south, north]])
  })

  it.each([
    ['newest first', '', () => [tea, south, north]],
    ['oldest first', '&order=asc', () => [north, south, tea]],
    ['what is searched for', '&search=https:', () => [tea, south, north]],
  ])('200: Link leads through all pages, each merchant once: %s', async (_what, query, expected) => {
    const seen: Shown[] = []
    let path: string | undefined = `/merchants?limit=1${query}`
    for (let pages = 0; path !== undefined && pages < 9; pages++) {
      const answer = await get(path)
      seen.push(...expectBody(200, answer).merchants)
      path = /^<\/operator(.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
    }
    expect(seen).toEqual(expected())
  })

  it.each([
    ['limit=0', 'limit', 'must be at least 1', 'RANGE'],
    ['limit=101', 'limit', 'must be at most 100', 'RANGE'],
    ['cursor=x', 'cursor', 'must be a cursor of this list', 'FORMAT'],
    [
      `cursor=${Buffer.from(`disputes ${UNKNOWN_ID}`).toString('base64url')}`,
      'cursor',
      'must be a cursor of this list',
      'FORMAT',
    ],
  ])('400: refuses %s', async (query, field, message, code) => {
    expect(statusAndBody(await get(`/merchants?${query}`))).toEqual([400, [{ field, message, code }]])
  })
})

describe('GET /operator/merchants/:merchantId', () => {
  it('200: shows what a payout would take, and who has access', async () => {
    const { id } = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
    const transactionId = await customerPayment(payments, id, { amount: 10_000 })
    await capture(payments, member, transactionId, 10_000)
    const send = (url: string, payload: object) =>
      payments.app.inject({ method: 'POST', url, payload, headers: member.headers })
    await send(`/test/transactions/${transactionId}/disputes`, { amount: 1_000 })
    const hook = await send(`/merchants/${id}/webhooks`, { url: 'https://example.com/hook' })
    await send(`/merchants/${id}/users`, { email: 'eve@example.com' })
    const read = async (url: string) => (await payments.app.inject({ url, headers: member.headers })).json()
    const { secret: _, ...webhook } = hook.json().webhook
    const { merchant } = await read(`/merchants/${id}`)
    const [users, [{ keyHint }]] = [await read(`/merchants/${id}/users?limit=9`), await read('/me/keys?limit=1')]
    expect(statusAndBody(await get(`/merchants/${id}`))).toEqual([
      200,
      {
        merchant,
        available: merchant.balance - 1_000,
        reserve: 1_000,
        apps: [{ id: member.id, created: expect.any(String), keyHint }],
        users: [{ ...users[0], id: anyId, created: expect.any(String) }],
        webhooks: [webhook],
      },
    ])
  })

  it('200: names the acquirer of a live merchant, and keeps young captures back', async () => {
    const live = await createTestMerchant(payments, member, { currency: 'EUR' })
    const id = await customerPayment(payments, live.id, { number: '4242424242424242', amount: 10_000 })
    await capture(payments, member, id, 10_000)
    await payments.owner.db.updateTable('merchants').set({ acquirer: 'north' }).where('id', '=', live.id).execute()
    const { available, reserve, acquirer, merchant } = expectBody(200, await get(`/merchants/${live.id}`))
    expect([available, reserve, acquirer, merchant.balance]).toEqual([0, 0, 'north', 9_840])
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no merchant has', async (id) => {
    expect(statusAndBody(await get(`/merchants/${id}`))).toEqual([
      404,
      { code: 'NOT_FOUND', message: 'There is no such resource' },
    ])
  })
})
