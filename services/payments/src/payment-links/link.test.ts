import { describe, expect, it } from 'vitest'
import { judgeLink, problemBeforePayment, redirectAfter } from './link.ts'

const payee = {
  key: 'k',
  name: 'Shop',
  website: 'https://shop.example',
  test: true,
  currency: 'EUR',
  canPay: true,
  hasRate: true,
}
const judge = (text: string, changes = {}) => judgeLink(new URLSearchParams(`test=1&${text}`), { ...payee, ...changes })
const read = (link: object) => ({ verdict: 'read', link })

describe('judgeLink', () => {
  it('reads each parameter, and the first one of a repeated parameter', () => {
    expect(
      judge('value=10.99&value=1&currency=DKK&reference=R-1&text=T&redirect=https://a.example/b&recurring=y&x=1'),
    ).toEqual(
      read({
        payee,
        currency: 'DKK',
        money: { currency: 'DKK', amount: 1_099 },
        amountProblem: undefined,
        reference: 'R-1',
        text: 'T',
        redirect: 'https://a.example/b',
        recurring: true,
        query:
          'test=1&value=10.99&value=1&currency=DKK&reference=R-1&text=T&redirect=https%3A%2F%2Fa.example%2Fb&recurring=y&x=1',
      }),
    )
  })

  it('leaves the amount open, in the currency of the merchant, when the link has none or a malformed one', () => {
    const asking = { payee, currency: 'EUR', money: undefined, amountProblem: undefined, recurring: false }
    expect(judge('')).toEqual(read({ ...asking, query: 'test=1' }))
    expect(judge('value=')).toEqual(read({ ...asking, query: 'test=1&value=' }))
    expect(judge('value=1,5')).toEqual(read({ ...asking, amountProblem: 'invalid', query: 'test=1&value=1%2C5' }))
  })

  // ASVS 1.2.2, 1.3.3
  it.each([
    ['currency=XXX', {}, 'currency'],
    ['currency=eur', {}, 'currency'],
    ['redirect=/paid', {}, 'redirect'],
    ['redirect=javascript:alert(1)', {}, 'redirect'],
    ['redirect=https://user:word@a.example', {}, 'redirect'],
    [`redirect=https://a.example/${'a'.repeat(2_048)}`, {}, 'redirect'],
    [`reference=${'a'.repeat(256)}`, {}, 'reference'],
    ['reference=a%00b', {}, 'reference'],
    ['reference=4111+1111+1111+1111', {}, 'card-number'],
    ['text=Card+4111111111111111', {}, 'card-number'],
    ['redirect=https://shop.example/4111111111111111', {}, 'card-number'],
    [`text=${'a'.repeat(256)}`, {}, 'text'],
    ['', { test: false }, 'live-only'],
  ] as const)('refuses the parameters %j of a merchant with %j: %s', (text, changes, problem) => {
    expect(judge(text, changes)).toEqual({ verdict: 'problem', problem })
  })

  it.each([
    ['https://shop.example/done', true],
    ['https://pay.shop.example/done', true],
    ['https://evil.example/phish', false],
  ])('redirects from a live merchant only to the site of its website: %s, %s', (redirect, isOnSite) => {
    const live = { ...payee, test: false }
    const query = new URLSearchParams({ redirect })
    const link = { payee: live, currency: 'EUR', redirect, recurring: false, query: query.toString() }
    expect(judgeLink(query, live)).toEqual(isOnSite ? read(link) : { verdict: 'problem', problem: 'redirect' })
  })

  it.each(['', 'test=0', 'test=yes', 'test='])('refuses the live link %j of a test merchant', (text) => {
    expect(judgeLink(new URLSearchParams(text), payee)).toEqual({ verdict: 'problem', problem: 'test-only' })
    const live = { ...payee, test: false }
    expect(judgeLink(new URLSearchParams(text), live)).toEqual(
      read({ payee: live, currency: 'EUR', recurring: false, query: new URLSearchParams(text).toString() }),
    )
  })
})

it.each([
  [{}, undefined],
  [{ canPay: false }, 'unavailable'],
  [{ hasRate: false }, 'currency'],
])('problemBeforePayment: a merchant with %j gives %j', (changes, problem) => {
  const judged = judge('', changes)
  expect(judged.verdict === 'read' && problemBeforePayment(judged.link)).toBe(problem)
})

it.each([
  ['https://a.example', 'https://a.example?transactionId=1'],
  ['https://a.example/b?c=d%20e+f', 'https://a.example/b?c=d%20e+f&transactionId=1'],
  ['https://a.example/b?', 'https://a.example/b?transactionId=1'],
  ['https://a.example/#d?e', 'https://a.example/?transactionId=1#d?e'],
  ['https://a.example/b?c=1#d', 'https://a.example/b?c=1&transactionId=1#d'],
])('redirectAfter: adds the transaction to %s: %s', (redirect, address) => {
  expect(redirectAfter(redirect, '1')).toBe(address)
})
