import { describe, expect, it } from 'vitest'
import { cardOf, plainText } from '../../test/browser.ts'
import { merchantPath } from '../pages/paths.ts'
import { MerchantsView, MerchantView, type ShownMerchant } from './merchant-changes.ts'
import { LinesView, linesPage, merchantPage } from './merchant-pages.ts'

const viewer = { role: 'admin', userId: 'ada', now: new Date('2026-03-01T12:00:00Z') } as const
const money = (amount: number) => ({ currency: 'JPY', amount })

/** A live merchant in a currency without decimals. */
const bare: ShownMerchant = {
  ...MerchantView.parse({
    merchant: {
      id: 'm1',
      key: 'public-1',
      currency: 'JPY',
      test: false,
      email: 'shop@example.com',
      website: 'https://shop.example',
      descriptor: 'SHOP',
      company: { country: 'DK' },
      created: '2026-02-28T23:59:59.000Z',
      balance: -1_250,
      claim: { canChargeCard: true, canSaveCard: true },
      pricing: { rate: 145, flat: money(25), dispute: money(2_500) },
      tds: { mode: 'full' },
    },
    available: 0,
    reserve: 300,
    apps: [],
    users: [],
    webhooks: [],
  }),
  decimals: new Map([['JPY', 0]]),
}
const pageOf = (changes: Partial<ShownMerchant>) => merchantPage({ ...bare, ...changes }, viewer)
const cardsOf = (changes: Partial<ShownMerchant>, heading: string) =>
  cardOf({ html: pageOf(changes).main.html }, heading)

describe('the page of a merchant', () => {
  it('shows a merchant without a name by its id, and says what it lacks', () => {
    const page = pageOf({})
    expect([page.title, plainText(page.main.html)]).toEqual([
      'm1',
      'Merchants m1 Live m1 https://shop.example since 2026-02-28 23:59 UTC Change fees… Balance JPY -1,250 Available for a payout JPY 0 Kept for open disputes JPY 300 Lines Transactions Disputes Payouts Exceptions Apps No app has access. Users No user has access. Details Public key public-1 Email shop@example.com Descriptor SHOP Company DK IBAN none: no payout is made Fee 1.45 % + JPY 25 Fee of a dispute JPY 2,500 3-D Secure full Acquirer simulator Webhooks Events are sent nowhere.',
    ])
  })

  it('shows who has access, where events go, and the acquirer that is set', () => {
    const shown = {
      apps: [{ id: 'a1' }, { id: 'a2', name: 'Till' }],
      users: [{ email: 'ada@example.com', id: 'u1' }, {}],
      webhooks: [{ id: 'w/1', url: 'https://shop.example/hooks' }],
      acquirer: 'nordic',
    }
    expect([cardsOf(shown, 'Apps'), cardsOf(shown, 'Users'), cardsOf(shown, 'Webhooks')]).toEqual([
      'Apps Name Id Actions without a name a1 Revoke keys… Till a2 Revoke keys…',
      'Users Email Id ada@example.com u1 – –',
      'Webhooks https://shop.example/hooks w/1 Deliveries',
    ])
    expect(pageOf(shown).main.html).toContain('<a href="/deliveries?webhook=w%2F1">')
    expect(cardsOf(shown, 'Details')).toContain('Acquirer nordic')
  })

  it('says in words what a merchant may not do, and nothing of what it may', () => {
    const claim = { canChargeCard: false, canSaveCard: false, canTransferToCard: false, canFly: false, canWalk: true }
    const details = cardsOf({ merchant: { ...bare.merchant, claim } }, 'Details')
    expect(details.split('May not ')[1]).toBe('charge cards, keep cards, pay out to cards, fly')
    expect(cardsOf({}, 'Details')).not.toContain('May not')
  })

  it('leads to the lists in which the merchant has rows', () => {
    const [, links = ''] = /aria-label="Lists of the merchant">(.*?)<\/nav>/s.exec(pageOf({}).main.html) ?? []
    expect([...links.matchAll(/href="([^"]+)"/g)].map(([, path]) => path)).toEqual([
      '/merchants/m1/lines',
      '/transactions?merchant=m1',
      '/disputes?merchant=m1',
      '/payouts?merchant=m1',
      '/exceptions?merchant=m1',
    ])
  })

  it('offers the clock of a test merchant alone', () => {
    const test = pageOf({ merchant: { ...bare.merchant, test: true } })
    expect([test, pageOf({})].map(({ main }) => main.html.includes('href="/merchants/m1/clock"'))).toEqual([
      true,
      false,
    ])
  })

  it('lets no viewer revoke keys', () => {
    const { main } = merchantPage({ ...bare, apps: [{ id: 'a1' }] }, { ...viewer, role: 'viewer' })
    expect(cardOf({ html: main.html }, 'Apps')).toBe('Apps Name Id without a name a1')
  })
})

describe('the path of a merchant', () => {
  it('takes any id as one part', () => {
    expect(merchantPath('a/b?c')).toBe('/merchants/a%2Fb%3Fc')
  })
})

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

/** Returns the text of a line's row, and the path of its link. */
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
