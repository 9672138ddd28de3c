import { describe, expect, it } from 'vitest'
import type { ConsolePage } from '../pages/layout.ts'
import { levelsPage, locationsPage, lowStockPage, reservationsPage } from './stock-lists.ts'
import type { ListedReservation, Location } from './stock-view.ts'

const NOW = new Date('2026-03-01T12:00:00Z')
const LEVEL = {
  productId: 7,
  locationId: 1,
  onHand: 1200,
  reserved: 200,
  available: 1000,
  updatedAt: null,
  sku: 'MUG',
  location: 'SHELF',
}
const SHELF: Location = { id: 1, code: 'SHELF', name: 'The <first> shelf', active: true }
const CELLAR: Location = { id: 2, code: 'CELLAR', name: 'Cellar', active: false }
const RESERVATION: ListedReservation = {
  id: 5,
  productId: 7,
  locationId: 1,
  quantity: 3,
  remaining: 2,
  status: 'active',
  reference: 'order-1',
  expiresAt: null,
  createdAt: '2026-03-01T11:00:00.000Z',
  sku: 'MUG',
  location: 'SHELF',
}

const listOf = ({ main: { html } }: ConsolePage) => html.slice(html.indexOf('<div class="card" id="list">'))
const rowsOf = (page: ConsolePage) =>
  [...listOf(page).matchAll(/<tr role="row" data-row>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '').trim()),
  )
const emptyOf = (page: ConsolePage) =>
  listOf(page)
    .replaceAll(/<svg.*?<\/svg>|<[^>]*>/gs, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
const linksOf = ({ main: { html } }: ConsolePage) =>
  [...html.matchAll(/<a class="button[^"]*" href="([^"]*)"/g)].map(([, href]) => href)
const listed = <Row>(...value: readonly Row[]) => ({ value, next: undefined, etag: undefined })

describe('levels', () => {
  const levels = (role: 'viewer' | 'support', query = {}) =>
    levelsPage(query, listed(LEVEL), { role, locations: [SHELF, CELLAR] })

  it('are shown by product and location, with what is left to sell first', () => {
    expect(rowsOf(levels('viewer'))).toEqual([['MUG', 'SHELF', '1,000', '1,200', '200', '–']])
  })

  it('lead those who may count to a count of the same product and location', () => {
    expect(linksOf(levels('support'))).toEqual([
      '/movements/new?type=receive',
      '/movements/new?type=count&amp;product=7&amp;location=1',
    ])
  })

  it('lead a viewer to no movement', () => {
    expect(linksOf(levels('viewer'))).toEqual([])
  })

  it.each([
    ['no stock at all', {}, 'Nothing was ever received.'],
    ['no stock of a sku', { search: 'CUP' }, 'No stock matches. Clear the filters'],
    ['no stock at a location', { location: 2 }, 'No stock matches. Clear the filters'],
  ])('say when there is %s', (_what, query, expected) => {
    expect(emptyOf(levelsPage(query, listed(), { role: 'viewer', locations: [] }))).toBe(expected)
  })

  it('can be narrowed to each location', () => {
    const { html } = levels('viewer', { location: 2 }).main
    expect(
      [...html.matchAll(/<option value="([^"]*)"(?: (selected)[^>]*)?>([^<]*)/g)].map(([, ...parts]) => parts),
    ).toEqual([
      ['', undefined, 'All locations'],
      ['1', undefined, 'SHELF'],
      ['2', 'selected', 'CELLAR'],
    ])
  })
})

describe('low stock', () => {
  it.each([
    ['10, unless another number is asked for', {}, '10'],
    ['the number that is asked for', { below: 3 }, '3'],
    ['none at all', { below: 0 }, '0'],
  ])('is less than %s', (_what, query, below) => {
    const page = lowStockPage(query, listed(), 'viewer')
    expect([/name="below"[^>]* value="(\d+)"/.exec(page.main.html)?.[1], emptyOf(page)]).toEqual([
      below,
      `No level has less than ${below} available.`,
    ])
  })
})

describe('reservations', () => {
  const reservations = (role: 'viewer' | 'support', change: Partial<ListedReservation> = {}) =>
    reservationsPage({}, listed({ ...RESERVATION, ...change }), { role, userId: 'ada', now: NOW })

  it('say what is still kept, for whom and until when', () => {
    expect(rowsOf(reservations('viewer'))).toEqual([['MUG', 'SHELF', '2 of 3', 'active', 'order-1', 'no end', '5']])
  })

  it('have a dash for a reference that is missing', () => {
    expect(rowsOf(reservations('viewer', { reference: null })).map((row) => row[4])).toEqual(['–'])
  })

  it.each([
    ['support', 'active', ['Release…']],
    ['support', 'committed', []],
    ['support', 'expired', []],
    ['viewer', 'active', []],
  ] as const)('show the role %s at a reservation that is %s the buttons %j', (role, status, expected) => {
    expect(rowsOf(reservations(role, { status })).map((row) => row.slice(7))).toEqual([expected])
  })
})

describe('locations', () => {
  it('show their name as text, and whether they take stock', () => {
    expect(rowsOf(locationsPage({}, listed(SHELF, CELLAR), 'support'))).toEqual([
      ['SHELF', 'The &lt;first&gt; shelf', 'active'],
      ['CELLAR', 'Cellar', 'takes no stock'],
    ])
  })

  it.each([
    ['admin', ['/locations/new', '/locations/1']],
    ['support', []],
  ] as const)('let the role %s follow %j', (role, expected) => {
    expect(linksOf(locationsPage({}, listed(SHELF), role))).toEqual(expected)
  })
})
