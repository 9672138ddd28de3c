import type { Lane } from '@trestle/database/lanes.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { isPayable, type PayableLink } from '../payment-links/link.ts'
import { type LinkPayment, payByLink } from './pay-by-link.ts'
import { resolveLink } from './resolve-link.ts'
import { tokenizeCard } from './tokenize-card.ts'

let payments: TestPayments
let link: PayableLink
beforeAll(async () => {
  payments = await startPayments()
  const { key } = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR', test: true })
  const opened = await resolveLink(payments.deps, new URLSearchParams({ key: String(key), test: '1', value: '10' }))
  if (opened.verdict === 'problem' || !isPayable(opened.link)) throw new Error('the link cannot be paid')
  link = opened.link
})
afterAll(() => payments.close())

/** A payment by a form whose page has this id. */
function formOf(pageId: string): LinkPayment {
  const tokenOf = (type: 'pcn' | 'pcsc', value: string) => tokenizeCard(payments.deps, { type, value }).token
  const card = { number: tokenOf('pcn', '1000000000010000'), code: tokenOf('pcsc', '111') }
  return {
    link,
    pageId,
    ip: '192.0.2.1',
    isSecure: true,
    locale: 'en',
    returnUrl: 'https://payments.example/pos/pay',
    card: { ...card, expiry: { year: 2066, month: 8 }, hints: [] },
  }
}

/** The dependencies of the service, which run `before` ahead of the statement with this number. */
function depsWith(number: number, before: () => Promise<void>) {
  const { lanes } = payments.deps
  let statements = 0
  const wait = async () => {
    statements += 1
    if (statements === number) await before()
  }
  const held = (lane: Lane): Lane => ({
    one: async (...given) => wait().then(() => lane.one(...given)),
    first: async (...given) => wait().then(() => lane.first(...given)),
    all: async (...given) => wait().then(() => lane.all(...given)),
  })
  const deps = {
    ...payments.deps,
    lanes: { read: held(lanes.read), write: held(lanes.write), lagging: held(lanes.lagging) },
  }
  return { deps, statements: () => statements }
}

it('pays once when the same form is sent again before any of its statements, and answers both alike', async () => {
  const alone = depsWith(0, async () => {})
  await payByLink(alone.deps, formOf('alone'))
  expect(alone.statements()).toBeGreaterThan(5)
  for (let number = 1; number <= alone.statements(); number++) {
    // Before the last statement but one the acquirer has been asked, and the other request would wait for its answer.
    if (number === alone.statements() - 1) continue
    const told: unknown[] = []
    const pay = async (deps: typeof payments.deps) => told.push(await payByLink(deps, formOf(`sent twice, ${number}`)))
    await pay(depsWith(number, async () => void (await pay(payments.deps))).deps)
    expect(told).toEqual([told[0], told[0]])
    expect(told[0]).toHaveProperty('verdict', 'paid')
  }
})
