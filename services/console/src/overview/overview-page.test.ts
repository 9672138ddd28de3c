import { describe, expect, it } from 'vitest'
import {
  type Overviews,
  overviewPage,
  ReportedByAuth,
  ReportedByInventory,
  ReportedByPayments,
} from './overview-page.ts'

const now = new Date('2026-03-01')
const decimals = new Map([
  ['EUR', 2],
  ['USD', 2],
])
const NONE: Overviews = { auth: undefined, payments: undefined, inventory: undefined }
const textOf = (overviews: Partial<Overviews>) =>
  overviewPage({ overviews: { ...NONE, ...overviews }, now, mode: 'live' })
    .main.html.replaceAll(/<svg.*?<\/svg>|<[^>]*>/gs, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()

describe('the overview of a service whose database is unavailable', () => {
  it.each([
    ['auth', ReportedByAuth, { health: { database: 'does not answer', mail: 'ok' } }],
    ['payments', ReportedByPayments, { health: { database: 'does not answer', mail: 'ok' } }],
    ['inventory', ReportedByInventory, { data: { health: { database: 'does not answer', mail: 'ok' } } }],
  ] as const)('contains only the health of %s', (_service, schema, answer) => {
    const health = { database: 'does not answer', mail: 'ok' }
    expect(schema.parse(answer)).toEqual({ kind: 'uncounted', health })
  })

  it('says what does not answer, and that the numbers will be back', () => {
    expect(textOf({ payments: { kind: 'uncounted', health: { database: 'does not answer', mail: 'ok' } } })).toBe(
      'Overview Services payments database: does not answer mail ok Payments The database of payments does not answer. Its numbers are back as soon as it does.',
    )
  })

  it('is not read from an answer that lacks some of the counts', () => {
    expect(ReportedByPayments.safeParse({ openDisputes: 1, health: { database: 'ok' } }).success).toBe(false)
  })
})

const counts = { openDisputes: 0, openExceptions: 0, unknownAttempts: 0, failedDeliveries: 0 }

describe('the exceptions', () => {
  it.each([
    [1, 'Exceptions 1 1 unknown outcome Failed deliveries'],
    [1_200, 'Exceptions 1,200 1,200 unknown outcomes Failed deliveries'],
  ])('count %d authorizations without a known outcome, and say so', (unknownAttempts, expected) => {
    const value = { days: [], payoutsDue: [], ...counts, unknownAttempts, deadJobs: [], health: {}, decimals }
    expect(/Exceptions .* Failed deliveries/.exec(textOf({ payments: { kind: 'seen', value } }))?.[0]).toBe(expected)
  })
})

describe('the balances of merchants', () => {
  it('lead to the merchants of the mode, and name each currency', () => {
    const payoutsDue = [
      { currency: 'EUR', amount: 8_400, merchants: 1 },
      { currency: 'USD', amount: 100, merchants: 1 },
    ]
    const value = { days: [], payoutsDue, ...counts, deadJobs: [], health: {}, decimals }
    const overviews: Overviews = { ...NONE, payments: { kind: 'seen', value } }
    const stat = (mode: 'live' | 'test') =>
      /<a class="stat" href="\/merchants.*?<\/a>/s.exec(overviewPage({ overviews, now, mode }).main.html)?.[0]
    expect([stat('live'), stat('test')]).toEqual(
      ['false', 'true'].map(
        (isTest) =>
          `<a class="stat" href="/merchants?test=${isTest}"><dl><dt>Balances of merchants</dt><dd>EUR 84.00</dd></dl><p class="hint">USD 1.00</p></a>`,
      ),
    )
  })
})

describe('the overview of a service that has no numbers', () => {
  it.each([
    [
      'unavailable',
      'Overview Services inventory does not answer Inventory Inventory does not answer. Its numbers are back as soon as it does.',
    ],
    [
      'missing',
      'Overview Services inventory knows no operators Inventory Inventory knows no operators: set INVENTORY_OPERATOR_KEYS there.',
    ],
  ] as const)('says why, where it is %s', (kind, expected) => {
    expect(textOf({ inventory: { kind } })).toBe(expected)
  })

  it('says why, where the answer is an error', () => {
    expect(textOf({ inventory: { kind: 'refused', message: 'Too many requests. Wait a minute' } })).toBe(
      'Overview Services inventory has no numbers Inventory Too many requests. Wait a minute.',
    )
  })
})
