import { expect, it } from 'vitest'
import { plainText } from '../../test/browser.ts'
import type { Merchant } from './merchant-changes.ts'
import { type MerchantsQuery, merchantsPage } from './merchant-pages.ts'

const merchant = (changes: Partial<Merchant>): Merchant => ({
  id: 'm1',
  key: 'public-1',
  currency: 'EUR',
  test: false,
  email: 'shop@example.com',
  website: 'https://shop.example',
  descriptor: 'SHOP',
  company: { country: 'DK' },
  created: '2026-02-28T23:59:59.000Z',
  balance: 123_450,
  claim: {},
  pricing: { rate: 145, flat: { currency: 'EUR', amount: 25 }, dispute: { currency: 'EUR', amount: 2_500 } },
  tds: { mode: 'full' },
  ...changes,
})

const pageOf = (query: MerchantsQuery, merchants: readonly Merchant[]) => {
  const value = { merchants: [...merchants], decimals: new Map([['EUR', 2]]) }
  return merchantsPage(query, { value, next: undefined, etag: undefined }).main.html
}
const FILTERS = 'Merchants Id, public key, name, email or website Mode Live and test Live Test Filter'

it('names each merchant, with its mode and its balance in its own currency', () => {
  const merchants = [
    merchant({ name: 'Nordhavn Coffee' }),
    merchant({ id: 'm/2', test: true, currency: 'XTS', balance: -5 }),
  ]
  const page = pageOf({}, merchants)
  expect(plainText(page)).toBe(
    `${FILTERS} Merchant Mode Balance Email Id Created ↓ Nordhavn Coffee Live EUR 1,234.50 shop@example.com m1 2026-02-28 23:59 UTC m/2 Test XTS -5 minor units shop@example.com m/2 2026-02-28 23:59 UTC`,
  )
  expect(page).toContain('<a class="main-link" href="/merchants/m%2F2">m/2</a>')
})

it.each<[MerchantsQuery, string]>([
  [{}, 'There is no merchant yet. An app makes one by the API.'],
  [{ test: '', search: '' }, 'There is no merchant yet. An app makes one by the API.'],
  [{ test: 'true' }, 'No merchant matches. Clear the filters'],
  [{ search: 'nobody' }, 'No merchant matches. Clear the filters'],
])('says whether the filters or nothing at all make it empty: %j', (query, text) => {
  expect(plainText(pageOf(query, []))).toBe(`${FILTERS} ${text}`)
})
