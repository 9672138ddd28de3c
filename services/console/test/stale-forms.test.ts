import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStubConsole, type StubConsole } from './stub-console.ts'

// Others may change an object between the question before a change and its form.

const ID = 'a'.repeat(24)
const PATH = `/merchants/${ID}/pricing`
const CURRENCIES = ['EUR', 'SEK', 'HUF'].map((code) => ({ code, exponent: 2 }))
const EMPTY_LISTS = { apps: [], users: [], webhooks: [] }

/** The currencies of the fees now. */
let flat: string
let dispute: string
const merchant = () => ({
  id: ID,
  name: 'Shop',
  created: '2026-01-01T00:00:00.000Z',
  currency: 'EUR',
  email: 'a@b.example',
  website: 'x.example',
  descriptor: 'X',
  test: true,
  key: 'k',
  company: { country: 'DK' },
  pricing: { rate: 135, flat: { currency: flat, amount: 25 }, dispute: { currency: dispute, amount: 2500 } },
  tds: { mode: 'attempt' },
  claim: {},
  balance: 0,
})

let opened: StubConsole
beforeAll(async () => {
  opened = await openStubConsole({
    payments: ({ method, url }) => {
      if (method !== 'GET') return { body: { merchant: merchant() } }
      if (url.includes('/currencies')) return { body: { currencies: CURRENCIES } }
      return { body: { merchant: merchant(), available: 0, reserve: 0, ...EMPTY_LISTS } }
    },
  })
})
afterAll(() => opened.close())
beforeEach(() => {
  flat = 'EUR'
  dispute = 'EUR'
})

const STALE = 'Another operator has changed the values of this form. Check the current values, and send the form again.'
const labels = (html: string) => [...html.matchAll(/(?:Fee of [a-z ]+) in [A-Z]{3}/g)].map(([label]) => label)
const typed = { rate: '1.35', flat: '0.30', dispute: '30.00', refund: '0.20' }

describe('the form of fees', () => {
  it.each<[string, string, string]>([
    ['of captures', 'SEK', 'EUR'],
    ['of lost disputes', 'EUR', 'HUF'],
    ['of both', 'SEK', 'HUF'],
  ])('422: sets no amount in another currency than it has shown: the currency %s was changed', async (_fee, ...now) => {
    const { browser } = opened
    await browser.open(PATH)
    const before = opened.changes().length
    ;[flat, dispute] = now
    const page = await browser.submit(PATH, typed)
    expect([page.status, page.text.includes(STALE), labels(page.html), opened.changes().length - before]).toEqual([
      422,
      true,
      [`Fee of a capture in ${flat}`, `Fee of a lost dispute in ${dispute}`, `Fee of a refund in ${flat}`],
      0,
    ])
    expect(page.html).not.toContain('value="0.30"')
  })

  it('303: sends what is typed into the form that is shown again, in the new currency', async () => {
    const { browser } = opened
    await browser.open(PATH)
    flat = 'SEK'
    await browser.submit(PATH, typed)
    const done = await browser.submit(PATH, { ...typed, dispute: '25.00' })
    const { method, url, body } = opened.changes().at(-1) ?? {}
    expect([done.firstStatus, method, url, JSON.parse(body ?? '')]).toEqual([
      303,
      'PUT',
      `/operator/merchants/${ID}/pricing`,
      { flat: { currency: 'SEK', amount: 30 }, refund: { currency: 'SEK', amount: 20 } },
    ])
  })

  it('422: takes no form that does not say which currencies it has shown', async () => {
    const { browser } = opened
    const { html } = await browser.open(PATH)
    const [csrf = '', key = ''] = ['_csrf', '_key'].map(
      (name) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1],
    )
    const page = await browser.post(PATH, { ...typed, _csrf: csrf, _key: key })
    expect([page.status, page.text.includes(STALE)]).toEqual([422, true])
  })
})
