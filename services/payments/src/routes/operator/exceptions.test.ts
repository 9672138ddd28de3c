import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, refusedField, statusAndBody } from '../../../test/bodies.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'
import { callAddException } from '../../acquirers/exception-repository.ts'

let payments: TestPayments
let merchantId: string
let otherId: string
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  const member = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, member)).id
  otherId = (await createTestMerchant(payments, member)).id
  for (const [number, owner] of [merchantId, otherId, merchantId].entries()) {
    const payload = { type: 'operation', acquirer: 'north', reason: `n-${number}` }
    await callAddException(payments.service.db, { merchantId: owner, reference: `reference ${number}`, payload })
    // Set times that differ from the order of the ids. The ids are digests, and the list must not be sorted by them.
    const created = new Date(Date.UTC(2026, 1, 1 + number))
    await payments.database.db
      .updateTable('acquirer_exceptions')
      .set({ created })
      .where('created', '>', new Date(Date.UTC(2026, 2)))
      .execute()
  }
})
afterAll(() => payments.close())

interface Shown {
  readonly id: string
  readonly payload: { readonly reason: string }
}
const get = (query = '') =>
  payments.app.inject({ url: `/operator/exceptions?${query}`, headers: operatorHeaders('viewer') })
const reasons = async (query: string) =>
  expectBody(200, await get(query)).exceptions.map(({ payload }: Shown) => payload.reason)

describe('GET /operator/exceptions', () => {
  it('200: lists what waits, newest first, with what the acquirer said', async () => {
    const { exceptions } = expectBody(200, await get())
    expect(exceptions).toEqual(
      [2, 1, 0].map((number) => ({
        merchantId: number === 1 ? otherId : merchantId,
        id: expect.stringMatching(/^[0-9a-f]{24}$/),
        created: new Date(Date.UTC(2026, 1, 1 + number)).toISOString(),
        acquirer: 'north',
        kind: 'operation',
        payload: { type: 'operation', acquirer: 'north', reason: `n-${number}` },
      })),
    )
    expect([await reasons(`merchant=${merchantId}`), await reasons('order=asc'), await reasons('open=false')]).toEqual([
      ['n-2', 'n-0'],
      ['n-0', 'n-1', 'n-2'],
      [],
    ])
  })

  it('200: Link leads through all of them in the order of creation', async () => {
    const seen: string[] = []
    let query: string | undefined = 'limit=1'
    for (let pages = 0; query !== undefined && pages < 9; pages++) {
      const answer = await get(query)
      seen.push(...expectBody(200, answer).exceptions.map(({ payload }: Shown) => payload.reason))
      query = /\?(.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
    }
    expect(seen).toEqual(['n-2', 'n-1', 'n-0'])
  })

  it('400: refuses a malformed id of a merchant', async () => {
    const refused = refusedField('merchant', 'must be 24 hexadecimal digits', 'FORMAT')
    expect(statusAndBody(await get('merchant=x'))).toEqual(refused)
  })
})

describe('GET /operator/exceptions/:merchantId/:exceptionId', () => {
  const getOne = (owner: string, id: string) =>
    payments.app.inject({ url: `/operator/exceptions/${owner}/${id}`, headers: operatorHeaders('viewer') })

  it('200: shows an exception as the list does, also once it is resolved', async () => {
    const [exception] = (await get(`merchant=${merchantId}&order=asc`)).json().exceptions
    expect(statusAndBody(await getOne(merchantId, exception.id))).toEqual([200, { exception }])
    const resolved = new Date(Date.UTC(2026, 2))
    const setResolved = (at: Date | null) =>
      payments.database.db
        .updateTable('acquirer_exceptions')
        .set({ resolved: at })
        .where('id', '=', exception.id)
        .execute()
    await setResolved(resolved)
    const answer = await getOne(merchantId.toUpperCase(), exception.id.toUpperCase())
    await setResolved(null)
    expect(statusAndBody(answer)).toEqual([200, { exception: { ...exception, resolved: resolved.toISOString() } }])
  })

  it('404: finds no exception by another merchant, and none by an id of nothing', async () => {
    const [exception] = (await get(`merchant=${merchantId}`)).json().exceptions
    for (const [owner, id] of [
      [otherId, exception.id],
      [merchantId, UNKNOWN_ID],
      ['x', 'y'],
    ]) {
      expect(statusAndBody(await getOne(owner, id))).toEqual(refusals.notFound)
    }
  })
})
