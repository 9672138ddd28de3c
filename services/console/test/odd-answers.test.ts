import type { StubAnswer } from '@trestle/testing/stub-provider.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hiddenFields, type SeenPage } from './browser.ts'
import { openStubConsole, type StubConsole } from './stub-console.ts'

// A service behind a proxy, or with other settings than the console, gives answers that no route of it has.

let answer: StubAnswer
let opened: StubConsole
beforeAll(async () => {
  opened = await openStubConsole({
    auth: ({ url }) => (url.includes('/overview') ? { body: OVERVIEW } : { body: { users: [] } }),
    payments: () => answer,
    inventory: () => answer,
  })
})
afterAll(() => opened.close())
beforeEach(() => {
  answer = { status: 404, body: {} }
})

const OVERVIEW = {
  users: { total: 7, confirmed: 1, banned: 0, anonymous: 0 },
  days: [],
  messages: { waiting: 0, failed: 0 },
  health: { database: 'ok' },
}
const HTML: StubAnswer = { headers: { 'content-type': 'text/html' }, body: '<p>Down for maintenance</p>' }
const REFUSED = 'refuses the operator key of the console, or your sign-in. Its settings say why.'
const unreadable = (service: string) =>
  `The console cannot read the answer of ${service}. Look between them for a proxy, or for another release.`

const ODD: readonly (readonly [string, StubAnswer, string, string])[] = [
  ['401', { status: 401, body: { code: 'X', message: 'x' } }, `Payments ${REFUSED}`, `Inventory ${REFUSED}`],
  ['403', { status: 403, body: {} }, 'Your role may not do this.', 'Your role may not do this.'],
  ['429', { status: 429, body: {} }, 'Too many requests. Wait a minute.', 'Too many requests. Wait a minute.'],
  [
    '302',
    { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
    unreadable('payments'),
    unreadable('inventory'),
  ],
  ['the page of a proxy', HTML, unreadable('payments'), unreadable('inventory')],
  ['another record', { body: { a: 1 } }, unreadable('payments'), unreadable('inventory')],
]

describe('the overview', () => {
  it.each(ODD)(
    '200: shows the numbers of auth while the others answer %s',
    async (_what, given, payments, inventory) => {
      answer = given
      const page = await opened.browser.open('/')
      const absent = ['Users 7', `Payments ${payments}`, `Inventory ${inventory}`].filter(
        (text) => !page.text.includes(text),
      )
      expect([page.status, page.path, absent]).toEqual([200, '/', []])
    },
  )
})

describe('the search', () => {
  it.each(ODD)('200: says why a service is not searched that answers %s', async (_what, given, payments, inventory) => {
    answer = given
    const page = await opened.browser.open('/search?q=x')
    expect([page.status, page.path, page.text]).toEqual([
      200,
      '/search?q=x',
      `Results for “x” Payments Nothing of payments is found here now. ${payments} Products Nothing of inventory is found here now. ${inventory}`,
    ])
  })
})

describe('a change', () => {
  it.each(['/payouts/run', '/payouts/export'])(
    '503: is asked again under the same key after the page of a proxy: %s',
    async (path) => {
      const asked = await opened.browser.open(path)
      answer = HTML
      const page = await opened.browser.submit(path, { merchant: '', name: 'x', iban: 'y' })
      const keyOf = ({ html }: SeenPage) => hiddenFields(html, path)._key
      expect([page.status, page.path, page.text.includes('the outcome is unknown'), keyOf(page)]).toEqual([
        503,
        path,
        true,
        keyOf(asked),
      ])
    },
  )
})

describe('a page of a service', () => {
  it.each([
    ['/payouts', `503 Not available Payments ${REFUSED} Go to the overview`],
    ['/locations', `503 Not available Inventory ${REFUSED} Go to the overview`],
    ['/products/export', `503 Not available Inventory ${REFUSED} Go to the overview`],
  ])('503: does not sign an operator out whom only the service refuses: %s', async (path, text) => {
    answer = { status: 401, body: { code: 'X', message: 'x' } }
    const page = await opened.browser.open(path)
    const users = await opened.browser.open('/users')
    expect([page.status, page.text, users.status, users.path]).toEqual([503, text, 200, '/users'])
  })

  it('503: says that a list cannot be read whose link leads to no page', async () => {
    answer = { headers: { link: '<http://[x>; rel="next"' }, body: { statusCode: 200, data: [] } }
    const page = await opened.browser.open('/locations')
    expect([page.status, page.text]).toEqual([503, `503 Not available ${unreadable('inventory')} Go to the overview`])
  })
})
