import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { openWorld, type World } from '../../../../test/error-model/world.ts'
import { operatorHeaders, testOperators } from '../../../../test/operators.ts'
import { UNKNOWN_ID } from '../../../../test/payments-app.ts'

let world: World
/** The events as members see them, newest first. */
let events: readonly { readonly id: string; readonly type: string }[]
beforeAll(async () => {
  world = await openWorld({ operators: testOperators })
  const { payments, merchant, owner } = world
  const url = `/merchants/${merchant.id}/events?limit=10`
  events = (await payments.app.inject({ url, headers: owner.headers })).json()
})
afterAll(() => world.payments.close())

const get = (query = '', id = world.merchant.id) =>
  world.payments.app.inject({ url: `/operator/merchants/${id}/events${query}`, headers: operatorHeaders('viewer') })

describe('GET /operator/merchants/:merchantId/events', () => {
  it('200: lists the events of a merchant, newest first, as its members see them', async () => {
    expect(statusAndBody(await get())).toEqual([200, { events }])
    expect(events.map(({ type }) => type)).toContain('fraud.created')
  })

  it('200: lists those of one type alone, oldest first where it is asked to', async () => {
    const payouts = events.filter(({ type }) => type === 'payout.settled')
    expect(payouts).toHaveLength(1)
    expect(statusAndBody(await get('?type=payout.settled'))).toEqual([200, { events: payouts }])
    expect(statusAndBody(await get('?order=asc'))).toEqual([200, { events: events.toReversed() }])
  })

  it('200: a page ends before trails that are too long together, and Link leads to the rest', async () => {
    const { db } = world.payments.database
    await sql`UPDATE payments.events SET trail_length = 600 WHERE type = 'transaction.captured'`.execute(db)
    const seen: string[] = []
    let pages = 0
    for (let url: string | undefined = ''; url !== undefined && pages < 9; pages++) {
      const answer = await get(url)
      seen.push(...expectBody(200, answer).events.map(({ id }: { id: string }) => id))
      url = /\/events(\?.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
    }
    const isLast = events.at(-1)?.type === 'transaction.captured'
    expect([seen, pages]).toEqual([events.map(({ id }) => id), isLast ? 1 : 2])
  })

  it('400: refuses an unknown type', async () => {
    expect(statusAndBody(await get('?type=x'))).toEqual(refusedField('type', 'is not valid', 'FORMAT'))
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no merchant has', async (id) => {
    expect(statusAndBody(await get('', id))).toEqual(refusals.notFound)
  })
})
