import { describe, expect, it } from 'vitest'
import { amountInvalid, amountTooLarge, amountTooSmall } from '../errors.ts'
import { changeLinks, type Viewer } from '../pages/asked-change.ts'
import { fullTrailLine, transactionChanges } from './transaction-changes.ts'
import { type ShownTransaction, TransactionView } from './transaction-view.ts'

const ID = 'a1b2c3d4e5f6a1b2c3d4e5f6'
const DECIMALS = new Map([
  ['EUR', 2],
  ['JPY', 0],
])
const LIMITS = { capture: 0, refund: 0, void: 0, dispute: 0 }
const DISPUTE = {
  id: 'd1',
  status: 'open',
  amount: 1250,
  currency: 'EUR',
  reason: { code: 4837, title: 'No authorization' },
  due: '2026-04-01T00:00:00.000Z',
}

interface Given {
  readonly limits?: Partial<ShownTransaction['limits']>
  readonly currency?: string
}

function shownTransaction({ limits, currency = 'EUR' }: Given = {}): ShownTransaction {
  const view = TransactionView.parse({
    transaction: {
      id: ID,
      merchantId: 'm1',
      test: false,
      created: '2026-03-01T12:00:00.000Z',
      currency,
      amount: 5000,
      descriptor: 'SHOP',
      pendingAmount: 0,
      capturedAmount: 5000,
      refundedAmount: 0,
      voidedAmount: 0,
      disputedAmount: 0,
      card: { bin: '424242', last4: '4242', expiry: '2030-01', scheme: 'visa', code: { present: true } },
      recurring: false,
      successful: true,
      error: false,
      trail: [],
    },
    merchant: { id: 'm1', name: 'Corner Shop' },
    threeDS: null,
    journals: [],
    events: [],
    disputes: [DISPUTE],
    frauds: [],
    limits: { ...LIMITS, ...limits },
  })
  return { ...view, decimals: DECIMALS, reasons: { disputes: [{ code: 4837, title: 'No authorization' }], frauds: [] } }
}

const viewer = (role: Viewer['role']): Viewer => ({ role, userId: 'ada', now: new Date('2026-03-02') })

function changeOf(name: string) {
  const change = transactionChanges.changes.find((each) => each.name === name)
  if (change === undefined) throw new Error(`there is no change ${name}`)
  return change
}

describe('the buttons of a transaction', () => {
  it.each<[string, Given['limits'], Viewer['role'], readonly string[]]>([
    ['a viewer has none', { capture: 5000, refund: 5000, void: 5000 }, 'viewer', []],
    ['support refunds', { capture: 5000, refund: 5000, void: 5000 }, 'support', ['refund']],
    ['support refunds nothing beyond the quota of a day', { refund: 5000, refundAllowance: 0 }, 'support', []],
    ['an admin captures what is authorized, and voids it last', { capture: 1, void: 1 }, 'admin', ['capture', 'void']],
    ['an admin refunds or disputes what is captured', { refund: 1, dispute: 1 }, 'admin', ['refund', 'dispute']],
    ['an admin disputes what a full trail lets nobody refund', { dispute: 1 }, 'admin', ['dispute']],
    ['nobody moves money where none is left', {}, 'admin', []],
  ])('offers exactly the changes of the rule: %s', (_rule, limits = {}, role, expected) => {
    const links = changeLinks(transactionChanges, shownTransaction({ limits }), viewer(role))
    expect(links.map(({ html }) => /href="\/transactions\/[^/]+\/([^"]+)"/.exec(html)?.[1])).toEqual(expected)
  })
})

describe('the call of an operation', () => {
  it.each([
    { name: 'capture', currency: 'EUR', amount: '12.50', minor: 1250, below: 'captures' },
    { name: 'refund', currency: 'EUR', amount: '12,5', minor: 1250, below: 'refunds' },
    { name: 'void', currency: 'JPY', amount: '500', minor: 500, below: 'voids' },
  ])('$name of $amount in $currency has $minor minor units', ({ name, currency, amount, minor, below }) => {
    expect(changeOf(name).call(shownTransaction({ currency }), { amount })).toEqual({
      method: 'POST',
      path: `/operator/transactions/${ID}/${below}`,
      body: { amount: minor },
    })
  })

  it('has the reference that was typed', () => {
    expect(changeOf('refund').call(shownTransaction(), { amount: '1', reference: 'RMA 7' })).toEqual({
      method: 'POST',
      path: `/operator/transactions/${ID}/refunds`,
      body: { amount: 100, reference: 'RMA 7' },
    })
  })

  it.each(['', '12.505', '1,250', 'all'])('is not made with the amount %j', (amount) => {
    const problem = amountInvalid({ currency: 'EUR' })
    expect(changeOf('capture').call(shownTransaction(), { amount })).toEqual({ problem, field: 'amount' })
    expect(changeOf('dispute').call(shownTransaction(), { amount, reason: '4837' })).toEqual({
      problem,
      field: 'amount',
    })
  })

  it.each(['0', '0.00', '-5', ' −5.00'])('is not made with %j, which is not above zero', (amount) => {
    const problem = amountTooSmall({ zero: 'EUR 0.00' })
    expect(changeOf('refund').call(shownTransaction({ limits: { refund: 5000 } }), { amount })).toEqual({
      problem,
      field: 'amount',
    })
  })

  it.each<[string, string, Given['limits'], string]>([
    ['more than is captured', '50.01', { refund: 2000 }, 'EUR 20.00'],
    ['more than support may refund at once', '10.01', { refund: 5000, refundLimit: 1000 }, 'EUR 10.00'],
  ])('is not made with %s', (_case, amount, limits = {}, most) => {
    const problem = amountTooLarge({ most })
    expect(changeOf('refund').call(shownTransaction({ limits }), { amount })).toEqual({ problem, field: 'amount' })
  })

  it('repeats the amount that was left at the first attempt, so that payments recognises the retry', () => {
    expect(changeOf('refund').call(shownTransaction({ limits: { refund: 0 } }), { amount: '50' })).toEqual({
      method: 'POST',
      path: `/operator/transactions/${ID}/refunds`,
      body: { amount: 5000 },
    })
  })

  it('is not made with a fraction of a yen', () => {
    const problem = amountInvalid({ currency: 'JPY' })
    const given = { amount: '1.5' }
    expect(changeOf('capture').call(shownTransaction({ currency: 'JPY' }), given)).toEqual({ problem, field: 'amount' })
  })
})

describe('the form of a refund', () => {
  const formOf = (limits: Given['limits'] = {}) =>
    changeOf('refund').fields?.(shownTransaction({ limits }), {}).html ?? ''

  it.each<[string, Given['limits'], readonly [string, string]]>([
    ['what is captured', { refund: 5000 }, ['50.00', 'At most EUR 50.00.']],
    ['the limit of one refund', { refundLimit: 1000, refundAllowance: 1999 }, ['10.00', 'At most EUR 10.00.']],
    ['the rest of the day', { refundLimit: 3000, refundAllowance: 1999 }, ['19.99', 'At most EUR 19.99.']],
    ['nothing without a quota', { refundLimit: 0, refundAllowance: 0 }, ['', 'At most EUR 0.00.']],
  ])('suggests the largest amount that payments takes, and names it: %s', (_case, limits, expected) => {
    const form = formOf({ refund: 5000, ...limits })
    expect([/value="([^"]*)"/.exec(form)?.[1] ?? '', /At most [^<]*/.exec(form)?.[0]]).toEqual(expected)
  })

  it('tells the script of the pages what is left, and what it says of an amount out of bounds', () => {
    expect(formOf({ refund: 2000 })).toContain(
      ' data-most="20.00" data-too-small="The amount must be above EUR 0.00." data-too-large="The amount must be at most EUR 20.00."',
    )
  })

  it.each<[string, Given['limits'], readonly string[]]>([
    ['an admin reads of no limit', {}, []],
    [
      'support reads both limits',
      { refundLimit: 1000, refundAllowance: 1999 },
      ['You may still refund EUR 19.99 today, and at most EUR 10.00 at once.', 'An admin may refund more.'],
    ],
    [
      'support reads the rest of the day where it is the smaller one',
      { refundLimit: 3000, refundAllowance: 1999 },
      ['You may still refund EUR 19.99 today.', 'An admin may refund more.'],
    ],
    [
      'support reads that the day is used up',
      { refundLimit: 3000, refundAllowance: 0 },
      ['You may refund nothing more in EUR today.', 'An admin may.'],
    ],
    [
      'support reads that the currency has no quota',
      { refundLimit: 0, refundAllowance: 0 },
      ['Support may refund nothing in EUR.', 'An admin may.'],
    ],
  ])('names the limits and who may refund more: %s', (_case, limits, expected) => {
    expect(changeOf('refund').consequences(shownTransaction({ limits: { refund: 5000, ...limits } }), {})).toEqual([
      'The amount goes back to Visa ••••\u00A04242, and is taken from the balance of Corner Shop.',
      'This cannot be undone.',
      ...expected,
    ])
  })
})

describe('a trail that takes no more entries', () => {
  it.each<[string, Given['limits'], string | undefined]>([
    ['an amount is left', { refund: 5000, dispute: 5000 }, undefined],
    ['nothing is left', {}, undefined],
    [
      'support may refund nothing of what is left',
      { dispute: 5000, refundLimit: 1000, refundAllowance: 1000 },
      'The trail is too long for another refund of support.',
    ],
    ['nobody may refund what is left', { dispute: 5000 }, 'The trail is too long for another refund.'],
  ])('is named where %s', (_case, limits = {}, line) => {
    expect(fullTrailLine(shownTransaction({ limits }))).toBe(line)
  })

  it('is named for what is authorized still', () => {
    const shown = shownTransaction()
    const transaction = { ...shown.transaction, pendingAmount: 100 }
    expect(fullTrailLine({ ...shown, transaction })).toBe('The trail is too long for another capture or void.')
  })
})

describe('disputes', () => {
  it('a dispute is opened with its amount and its reason', () => {
    expect(changeOf('dispute').call(shownTransaction(), { amount: '50', reason: '4837' })).toEqual({
      method: 'POST',
      path: `/operator/transactions/${ID}/disputes`,
      body: { amount: 5000, reason: { code: 4837 } },
    })
  })
})
