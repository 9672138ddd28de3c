import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusals, statusAndBody } from '../../../test/bodies.ts'
import { callPayouts, findShownPayout, paidOutLiveMerchant } from '../../../test/operator-payouts.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import { createTestApp, startPayments, type TestPayments, UNKNOWN_ID } from '../../../test/payments-app.ts'
import type { ShownPayout } from '../../../test/payout-requests.ts'

let payments: TestPayments
let krone: string
let euro: string
/** The payouts as members see them, newest first. */
let shown: readonly ShownPayout[]
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  const member = await createTestApp(payments)
  const [first, second] = [
    await paidOutLiveMerchant(payments, member, 'DKK'),
    await paidOutLiveMerchant(payments, member, 'EUR'),
  ]
  krone = first.merchantId
  euro = second.merchantId
  const payouts = [second.payoutId, first.payoutId]
  shown = await Promise.all(payouts.map((id) => findShownPayout(payments, member, id)))
})
afterAll(() => payments.close())

const list = async (query: string) => expectBody(200, await callPayouts(payments, 'GET', query)).payouts

describe('GET /operator/payouts', () => {
  it('200: lists the payouts of everybody, newest first, as members see them, also by state and merchant', async () => {
    expect(statusAndBody(await callPayouts(payments, 'GET', ''))).toEqual([200, { payouts: shown }])
    const [newest, oldest] = shown
    const queries = [
      `?merchant=${krone}`,
      '?status=settled',
      '?status=created&order=asc',
      `?merchant=${euro}&status=created`,
    ]
    expect(await Promise.all(queries.map(list))).toEqual([[oldest], [], [oldest, newest], [newest]])
  })

  it('200: answers the same rows as CSV', async () => {
    const headers = { ...operatorHeaders('viewer'), accept: 'text/csv' }
    const answer = await payments.app.inject({ url: `/operator/payouts?merchant=${krone}`, headers })
    const [{ id, created, amount, lineId }] = await list(`?merchant=${krone}`)
    expect(answer.statusCode).toBe(200)
    expect(answer.body.split('\r\n')).toEqual([
      'id,merchantId,created,test,currency,amount,status,bank.iban,lineId',
      `${id},${krone},${created},false,DKK,${amount},created,DK5000400440116243,${lineId}`,
      '',
    ])
  })

  it('400: refuses an unknown state', async () => {
    const fields = [{ field: 'status', message: 'is not valid', code: 'FORMAT' }]
    expect(statusAndBody(await callPayouts(payments, 'GET', '?status=paid'))).toEqual([400, fields])
  })
})

describe('GET /operator/payouts/:payoutId', () => {
  const getOne = (id = '') =>
    payments.app.inject({ url: `/operator/payouts/${id}`, headers: operatorHeaders('viewer') })

  it('200: shows a payout as its merchant sees it, also by its id in upper case', async () => {
    const [newest, oldest] = shown
    const answers = await Promise.all([getOne(newest?.id), getOne(oldest?.id.toUpperCase())])
    expect(answers.map(statusAndBody)).toEqual([
      [200, { payout: newest }],
      [200, { payout: oldest }],
    ])
  })

  it.each([UNKNOWN_ID, 'x'])('404: refuses the id %s, which no payout has', async (id) => {
    expect(statusAndBody(await getOne(id))).toEqual(refusals.notFound)
  })
})
