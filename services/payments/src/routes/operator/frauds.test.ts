import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusedField, statusAndBody } from '../../../test/bodies.ts'
import { openWorld, type World } from '../../../test/error-model/world.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import { UNKNOWN_ID } from '../../../test/payments-app.ts'

let world: World
/** Oldest first. */
let frauds: readonly object[]
beforeAll(async () => {
  world = await openWorld({ operators: testOperators })
  const first = await world.make('GET', `/frauds/${world.ids.fraud}`)
  const second = await world.make('POST', `/test/transactions/${world.ids.transaction}/frauds`, { reason: 2 })
  frauds = [first.fraud ?? {}, second.fraud ?? {}]
})
afterAll(() => world.payments.close())

const get = (query: string) =>
  world.payments.app.inject({ url: `/operator/frauds?${query}`, headers: operatorHeaders('viewer') })

describe('GET /operator/frauds', () => {
  it('200: lists the fraud alerts of everybody, newest first, as members see them', async () => {
    expect(statusAndBody(await get(''))).toEqual([200, { frauds: frauds.toReversed() }])
  })

  it('200: filters by merchant and transaction', async () => {
    const { merchant, ids } = world
    const queries = [`merchant=${merchant.id}&order=asc`, `transaction=${ids.transaction}&order=asc`]
    const none = [`merchant=${UNKNOWN_ID}`, `merchant=${merchant.id}&transaction=${UNKNOWN_ID}`]
    const answers = await Promise.all([...queries, ...none].map(get))
    expect(answers.map(statusAndBody)).toEqual([frauds, frauds, [], []].map((found) => [200, { frauds: found }]))
  })

  it('200: Link leads to the rest', async () => {
    const answer = await get('limit=1')
    const query = /\?(.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1] ?? ''
    const rest = await get(query)
    expect([statusAndBody(answer), statusAndBody(rest), rest.headers.link]).toEqual([
      [200, { frauds: [frauds[1]] }],
      [200, { frauds: [frauds[0]] }],
      undefined,
    ])
  })

  it('400: refuses a malformed id of a merchant', async () => {
    expect(statusAndBody(await get('merchant=x'))).toEqual(
      refusedField('merchant', 'must be 24 hexadecimal digits', 'FORMAT'),
    )
  })
})
