import { describe, expect, it } from 'vitest'
import { plainText } from '../../test/browser.ts'
import { LinesView, linesPage } from './line-list.ts'
import { MerchantsView } from './merchant-view.ts'

const JPY = { currency: 'JPY', amount: 25 }
const MERCHANT = {
  id: 'm1',
  key: 'public-1',
  currency: 'JPY',
  test: false,
  email: 'shop@example.com',
  website: 'https://shop.example',
  descriptor: 'SHOP',
  company: { country: 'DK' },
  created: '2026-02-28T23:59:59.000Z',
  balance: 0,
  claim: {},
  pricing: { rate: 145, flat: JPY, dispute: JPY },
  tds: { mode: 'full' },
}

/** The row of a line, and where it leads. */
function rowOf(given: object): readonly [text: string, path: string | undefined] {
  const line = { id: 'l1', merchantId: 'm1', created: MERCHANT.created, balance: -500, balanceAfter: 0, ...given }
  const [merchant] = MerchantsView.parse({ merchants: [MERCHANT] }).merchants
  if (merchant === undefined) throw new Error('the merchant is missing')
  const value = { ...LinesView.parse({ lines: [line] }), decimals: new Map([['JPY', 0]]) }
  const { html } = linesPage(merchant, {}, { value, next: undefined, etag: undefined }).main
  const [, body = ''] = /<tbody[^>]*>(.*)<\/tbody>/s.exec(html) ?? []
  return [plainText(body), /class="main-link" href="([^"]+)"/.exec(body)?.[1]]
}

const END = 'JPY -500 JPY 0'
const ID = '6b0b8f802ac0006b984596c4'
const TIME = '2026-02-28 23:59 UTC'

describe('the lines of a merchant', () => {
  it.each<[string, object, string, string | undefined]>([
    [
      'capture',
      { transactionId: 't/1', fee: 25, amount: JPY },
      `Capture JPY 25 JPY 25 ${END} t/1`,
      '/transactions/t%2F1',
    ],
    ['refund', { transactionId: 't1', fee: 0, amount: JPY }, `Refund JPY 25 JPY 0 ${END} t1`, '/transactions/t1'],
    ['dispute', { transactionId: 't1', fee: 25 }, `Lost dispute – JPY 25 ${END} t1`, '/transactions/t1'],
    ['payout', { description: `Payout ${ID}` }, `Payout – – ${END} ${ID}`, `/payouts/${ID}`],
    ['payoutReversal', { description: 'Back' }, `Returned payout – – ${END} Back`, undefined],
    ['adjustment', { description: `Instead of ${ID}` }, `Adjustment – – ${END} Instead of ${ID}`, undefined],
    ['later', {}, `Line – – ${END} –`, undefined],
  ])('shows a line of the kind %s with what it belongs to', (kind, given, text, path) => {
    expect(rowOf({ [kind]: true, ...given })).toEqual([`${text} ${TIME}`, path])
  })
})
