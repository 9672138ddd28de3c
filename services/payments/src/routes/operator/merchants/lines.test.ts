import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, refusedField, statusAndBody } from '../../../../test/bodies.ts'
import { openWorld, type World } from '../../../../test/error-model/world.ts'
import { operatorHeaders, testOperators } from '../../../../test/operators.ts'
import { UNKNOWN_ID } from '../../../../test/payments-app.ts'

let world: World
/** The lines as members see them, newest first: a payout and a capture. */
let lines: readonly { readonly id: string; readonly created: string; readonly description: string }[]
beforeAll(async () => {
  world = await openWorld({ operators: testOperators })
  const { payments, merchant, owner } = world
  const url = `/merchants/${merchant.id}/lines?limit=10`
  lines = (await payments.app.inject({ url, headers: owner.headers })).json()
})
afterAll(() => world.payments.close())

const get = (query = '', { id = world.merchant.id, accept = '*/*' } = {}) =>
  world.payments.app.inject({
    url: `/operator/merchants/${id}/lines${query}`,
    headers: { ...operatorHeaders('viewer'), accept },
  })

describe('GET /operator/merchants/:merchantId/lines', () => {
  it('200: lists the lines of a merchant, newest first, as its members see them', async () => {
    expect([lines.length, ...statusAndBody(await get())]).toEqual([2, 200, { lines }])
    expect((await get('?order=asc')).json()).toEqual({ lines: lines.toReversed() })
  })

  it('200: Link leads through all pages', async () => {
    const first = await get('?limit=1')
    const [link = ''] = String(first.headers.link).slice(1).split('>')
    const second = await world.payments.app.inject({ url: link, headers: operatorHeaders('viewer') })
    expect([statusAndBody(first), statusAndBody(second), second.headers.link]).toEqual([
      [200, { lines: [lines[0]] }],
      [200, { lines: [lines[1]] }],
      undefined,
    ])
  })

  it('200: answers the same lines as CSV', async () => {
    const answer = await get('?limit=1', { accept: 'text/csv' })
    const [payout, capture] = lines
    const { id: merchantId } = world.merchant
    const { transaction } = world.ids
    expect(answer.statusCode).toBe(200)
    expect(answer.body.split('\r\n')).toEqual([
      'id,merchantId,created,test,capture,refund,dispute,payout,payoutReversal,adjustment,amount.currency,amount.amount,balance,fee,balanceAfter,transactionId,description,fundingCurrency',
      `${payout?.id},${merchantId},${payout?.created},true,,,,true,,,,,-9840,,0,,${payout?.description},`,
      `${capture?.id},${merchantId},${capture?.created},true,true,,,,,,EUR,10000,9840,160,9840,${transaction},${capture?.description},`,
      '',
    ])
  })

  it('400: refuses a limit of 101', async () => {
    expect(statusAndBody(await get('?limit=101'))).toEqual(refusedField('limit', 'must be at most 100', 'RANGE'))
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no merchant has', async (id) => {
    expect(statusAndBody(await get('', { id }))).toEqual(refusals.notFound)
  })
})
