import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, statusAndBody } from '../../../test/bodies.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
/** The merchants, newest first. Every second merchant is a test merchant. */
let merchants: { id: string }[]
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
  merchants = []
  for (const index of Array.from({ length: 9 }).keys()) {
    merchants.unshift(await createTestMerchant(payments, member, { test: index % 2 === 0 }))
  }
})
afterAll(() => payments.close())

const list = (query: string, { id = member.id, headers = member.headers }: { id?: string; headers?: object } = {}) =>
  payments.app.inject({ url: `/identities/${id}/merchants?${query}`, headers: { ...headers } })
const idsOf = async (query: string) => expectBody(200, await list(query)).map(({ id }: { id: string }) => id)
const ids = () => merchants.map(({ id }) => id)

describe('GET /identities/:identityId/merchants', () => {
  it('200: answers whole merchants, one a line, newest first', async () => {
    const response = await list('limit=1000')
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.body).toBe(`[\n${merchants.map((merchant) => JSON.stringify(merchant)).join(',\n')}\n]\n`)
  })

  it('200: answers two lines for an empty list', async () => {
    const answers = [await list('limit=1', stranger), await list(`limit=1&before=${'0'.repeat(24)}`)]
    const empty = [200, '[\n]\n']
    expect(answers.map(({ statusCode, body }) => [statusCode, body])).toEqual([empty, empty])
  })

  it('200: compares cursors by value, both exclusive', async () => {
    const [a = '', b = '', c = '', d = ''] = ids()
    expect(await idsOf('limit=2')).toEqual([a, b])
    expect(await idsOf(`limit=2&before=${b}`)).toEqual(ids().slice(2, 4))
    expect(await idsOf(`limit=2&before=${b.toUpperCase()}&after=`)).toEqual(ids().slice(2, 4))
    expect(await idsOf(`limit=2&after=${d}`)).toEqual([c, b])
    expect(await idsOf(`limit=9&after=${d}&before=${a}`)).toEqual([b, c])
    expect(await idsOf(`limit=9&after=${'0'.repeat(24)}`)).toEqual(ids().reverse())
    expect(await idsOf(`limit=9&before=${UNKNOWN_ID}`)).toEqual(ids())
    expect(await idsOf(`limit=9&after=${a}&before=${d}`)).toEqual([])
  })

  it('200: pages of any size make up the whole list', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 10 }), async (limit) => {
        const pages: string[] = []
        for (let page = await idsOf(`limit=${limit}`); page.length > 0; ) {
          pages.push(...page)
          page = await idsOf(`limit=${limit}&before=${pages.at(-1)}`)
        }
        expect(pages).toEqual(ids())
      }),
      { numRuns: 10 },
    )
  })

  it.each(['y', 'yes', '1', 'true'])('200: filter[test]=%s gives test merchants', async (value) => {
    const expected = ids().filter((_, index) => index % 2 === 0)
    expect(await idsOf(`limit=9&filter[test]=${value}`)).toEqual(expected)
    expect(await idsOf(`limit=9&filter%5Btest%5D=${value}`)).toEqual(expected)
  })

  it('200: filter[test]=no gives live merchants', async () => {
    expect(await idsOf('limit=9&filter[test]=no')).toEqual(ids().filter((_, index) => index % 2 === 1))
  })

  it('200: ignores unknown parameters', async () => {
    expect(await idsOf('limit=9&sort=name&filter[x]=1&filter[test]=&created[gte]=2026')).toEqual(ids())
  })

  it.each([
    ['', 'limit', 'REQUIRED', 'is required'],
    ['limit=', 'limit', 'REQUIRED', 'is required'],
    ['limit=0', 'limit', 'RANGE', 'must be at least 1'],
    ['limit=-1', 'limit', 'RANGE', 'must be at least 1'],
    ['limit=1001', 'limit', 'RANGE', 'must be at most 1000'],
    ['limit=1e3', 'limit', 'TYPE', 'must be an integer'],
    ['limit=10.5', 'limit', 'TYPE', 'must be an integer'],
    ['limit=1000000000', 'limit', 'RANGE', 'must be at most 1000'],
    ['limit=ten', 'limit', 'TYPE', 'must be an integer'],
    ['limit=1&limit=2', 'limit', 'DUPLICATE', 'is given more than once'],
    ['limit=1&before=x', 'before', 'FORMAT', 'must be 24 hexadecimal digits'],
    ['limit=1&after=65a1', 'after', 'FORMAT', 'must be 24 hexadecimal digits'],
    ['limit=1&before=%00', 'before', 'FORMAT', 'must not contain U+0000 or lone surrogates'],
    ['limit=1&filter[test]=maybe', 'filter.test', 'TYPE', 'must be a boolean'],
    ['limit=1&x=%FF', 'query', 'FORMAT', 'is not valid percent-encoded UTF-8'],
  ])('400: refuses the query %j', async (query, field, code, message) => {
    const response = await list(query)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual([{ field, message, code }])
  })

  it('401: refuses an unknown key before it looks for the identity', async () => {
    const refusal = async (query: string, options: object) => statusAndBody(await list(query, options))
    for (const query of ['limit=1', 'limit=x']) {
      expect(await refusal(query, { id: UNKNOWN_ID, headers: basic('x') })).toEqual(refusals.unauthorized)
    }
  })

  it('404: refuses an id that names no identity, before the query is judged', async () => {
    const refusal = async (query: string, options: object) => statusAndBody(await list(query, options))
    for (const query of ['limit=1', 'limit=x']) {
      expect(await refusal(query, { id: UNKNOWN_ID })).toEqual(refusals.notFound)
      expect(await refusal(query, { id: 'nonsense' })).toEqual(refusals.notFound)
      expect(await refusal(query, { id: merchants[0]?.id })).toEqual(refusals.notFound)
    }
  })

  it('403: refuses another identity than the caller, before the query is judged', async () => {
    const refusal = async (query: string, options: object) => statusAndBody(await list(query, options))
    for (const query of ['limit=1', 'limit=x']) {
      expect(await refusal(query, { id: stranger.id })).toEqual(refusals.forbidden)
    }
  })

  it('200: leaves out a merchant from the moment of revocation', async () => {
    const merchant = await createTestMerchant(payments, member)
    expect(await idsOf('limit=1')).toEqual([merchant.id])
    await payments.database.db.deleteFrom('merchant_apps').where('merchant_id', '=', merchant.id).execute()
    expect(await idsOf('limit=9')).toEqual(ids())
  })
})
