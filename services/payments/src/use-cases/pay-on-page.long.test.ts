import type { QueryPool } from '@trestle/database/pools.ts'
import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'
import type { PaymentLink } from '../payment-links/link.ts'
import { type KeptPayment, type PageAnswer, type PayOnPageInput, payOnPage } from './pay-on-page.ts'
import { resolveLink } from './resolve-link.ts'

/** A card that pays immediately, a card whose bank asks the customer, and a card that is refused. */
const [PAID, CHALLENGED, REFUSED] = ['1000000000010000', '1000000000000000', '9000000000000000']

let payments: TestPayments
let query: URLSearchParams
let pages = 0
beforeAll(async () => {
  payments = await startPayments()
  const merchant = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR', test: true })
  query = new URLSearchParams({ key: String(merchant.key), test: '1', value: '10', reference: 'R-1' })
})
afterAll(() => payments.close())

const newPageId = () => String(++pages).padStart(22, 'p')

/** Returns a request with a form. By default the form belongs to a new page. */
function formOf({
  number = PAID,
  expiry = '08 / 66',
  tokens,
  pageId = newPageId(),
}: {
  readonly number?: string
  readonly expiry?: string
  readonly tokens?: string
  readonly pageId?: string
}): PayOnPageInput {
  const source = { type: 'form', form: { tokens, number, expiry, code: '111' } } as const
  return { query, pageId, path: `/pos/pay/${pageId}`, ip: '192.0.2.1', isSecure: true, locale: 'en', source }
}

const returnOf = (payment: PayOnPageInput, kept: Partial<KeptPayment>): PayOnPageInput => ({
  ...payment,
  source: { type: 'kept', kept: { card: '', paid: '', ...kept } },
})

/** Creates a payment whose customer is at the bank. */
async function payAtBank(): Promise<{ payment: PayOnPageInput; answer: Extract<PageAnswer, { verdict: 'at-bank' }> }> {
  const payment = formOf({ number: CHALLENGED })
  const answer = await payOnPage(payments.deps, payment)
  if (answer.verdict !== 'at-bank') throw new Error(`the bank is not asked: ${answer.verdict}`)
  return { payment, answer }
}

async function decide(bankUrl: string, decision: 'approve' | 'decline'): Promise<void> {
  const { pathname, searchParams } = new URL(bankUrl)
  const payload = new URLSearchParams({ state: searchParams.get('state') ?? '', decision }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  await payments.app.inject({ method: 'POST', url: pathname, headers, payload })
}

async function openLink(): Promise<PaymentLink> {
  const judged = await resolveLink(payments.deps, query)
  if (judged.verdict === 'problem') throw new Error(`the link leads to no payment: ${judged.problem}`)
  return judged.link
}

/** Returns the expected answer to a refused form of this link. */
const refused = async (tried: object) => ({
  verdict: 'refused',
  link: await openLink(),
  tried: { expiry: '08 / 66', problems: {}, refusal: undefined, ...tried },
})

/** Returns the expected answer to a paid form of this link. */
const paid = async (kept: object | undefined, receipt: object = {}) => ({
  verdict: 'paid',
  link: await openLink(),
  receipt: {
    merchant: 'example.com',
    test: true,
    money: { currency: 'EUR', amount: 1_000 },
    reference: 'R-1',
    text: null,
    last4: '0000',
    transactionId: anyId,
    ...receipt,
  },
  kept,
})

describe('payOnPage with a form', () => {
  it('pays with a card whose bank does not ask, and leaves the browser nothing to keep', async () => {
    expect(await payOnPage(payments.deps, formOf({}))).toEqual(await paid(undefined))
  })

  it('leads to the bank that asks, and has the browser keep the card', async () => {
    expect((await payAtBank()).answer).toEqual({
      verdict: 'at-bank',
      bankUrl: expect.stringMatching(/^https:\/\/payments\.example\/acs\/challenge\?state=/),
      kept: { card: expect.stringMatching(/^[\w+/]+=*$/) },
    })
  })

  it('names every wrong field at once', async () => {
    expect(await payOnPage(payments.deps, formOf({ number: '1', expiry: '13' }))).toEqual(
      await refused({ expiry: '13', problems: { number: 'numberInvalid', expiry: 'expiryInvalid' } }),
    )
  })

  it('refuses malformed tokens of the script', async () => {
    expect(await payOnPage(payments.deps, formOf({ tokens: '{' }))).toEqual(
      await refused({ refusal: { text: 'tooLong' } }),
    )
  })

  it('says why a card is refused', async () => {
    expect(await payOnPage(payments.deps, formOf({ number: REFUSED }))).toEqual(
      await refused({ refusal: { text: 'refusedNumber', field: 'number' } }),
    )
  })

  it('finds no link of an unknown key', async () => {
    const unknown = new URLSearchParams({ key: 'nobody' })
    expect(await payOnPage(payments.deps, { ...formOf({}), query: unknown })).toEqual({
      verdict: 'no-link',
      problem: 'key-unknown',
    })
  })

  it('is too late for a link without an amount', async () => {
    const open = new URLSearchParams(query)
    open.delete('value')
    expect(await payOnPage(payments.deps, { ...formOf({}), query: open })).toEqual({ verdict: 'too-late' })
  })
})

/** Returns dependencies that run `before` ahead of statement number `number`. */
function depsWith(number: number, before: () => Promise<void>) {
  const { pools } = payments.deps
  let statements = 0
  const wait = async () => {
    statements += 1
    if (statements === number) await before()
  }
  const held = (pool: QueryPool): QueryPool => ({
    one: async (...args) => wait().then(() => pool.one(...args)),
    first: async (...args) => wait().then(() => pool.first(...args)),
    all: async (...args) => wait().then(() => pool.all(...args)),
  })
  const deps = {
    ...payments.deps,
    pools: { read: held(pools.read), write: held(pools.write), lagging: held(pools.lagging) },
  }
  return { deps, statements: () => statements }
}

describe('payOnPage with a form that is sent twice', () => {
  it('pays once when the form is sent again before any of its statements, and answers both alike', async () => {
    const alone = depsWith(0, async () => {})
    await payOnPage(alone.deps, formOf({}))
    expect(alone.statements()).toBeGreaterThan(6)
    for (let number = 1; number <= alone.statements(); number++) {
      // Before the second last statement, the acquirer was asked. The other request would wait for its answer.
      if (number === alone.statements() - 1) continue
      const answers: unknown[] = []
      const pageId = newPageId()
      const send = async (deps: typeof payments.deps) => answers.push(await payOnPage(deps, formOf({ pageId })))
      await send(depsWith(number, async () => void (await send(payments.deps))).deps)
      expect(answers).toEqual([answers[0], answers[0]])
      expect(answers[0]).toEqual(await paid(undefined))
    }
  })
})

describe('payOnPage with what the browser kept', () => {
  it('pays after the customer has approved, and has the browser keep the receipt in place of the card, which shows the payment again', async () => {
    const { payment, answer } = await payAtBank()
    await decide(answer.bankUrl, 'approve')
    const first = await payOnPage(payments.deps, returnOf(payment, answer.kept))
    expect(first).toEqual(await paid({ card: '', paid: expect.stringMatching(/^[\w+/]+=*$/) }))
    if (first.verdict !== 'paid') throw new Error(`the page is not paid: ${first.verdict}`)
    const { transactionId } = first.receipt
    const again = await payOnPage(payments.deps, returnOf(payment, first.kept ?? {}))
    expect(again).toEqual(await paid(undefined, { transactionId, paid: expect.any(Date) }))
  })

  it('refuses after the customer has declined', async () => {
    const { payment, answer } = await payAtBank()
    await decide(answer.bankUrl, 'decline')
    expect(await payOnPage(payments.deps, returnOf(payment, answer.kept))).toEqual(
      await refused({ refusal: { text: 'refusedTds' } }),
    )
  })

  it('leads to the bank again while the customer has not decided', async () => {
    const { payment, answer } = await payAtBank()
    expect(await payOnPage(payments.deps, returnOf(payment, answer.kept))).toEqual({
      verdict: 'at-bank',
      bankUrl: expect.stringMatching(/^https:\/\/payments\.example\/acs\/challenge\?state=/),
      kept: { card: expect.stringMatching(/^[\w+/]+=*$/) },
    })
  })

  it('is too late without a card, and with the card of another page', async () => {
    const { answer } = await payAtBank()
    for (const kept of [{}, answer.kept]) {
      expect(await payOnPage(payments.deps, returnOf(formOf({}), kept))).toEqual({ verdict: 'too-late' })
    }
  })
})
