import { describe, expect, it } from 'vitest'
import type { Line } from './line.ts'
import { daysOf, idsOf, statementFoot, statementHead, statementRows } from './statement.ts'

const period = { from: '2026-03-01', to: '2026-03-31' }

describe('daysOf', () => {
  it.each([
    ['2026-03-01', '2026-03-01', 1],
    ['2026-03-01', '2026-03-31', 31],
    ['2024-01-01', '2024-12-31', 366],
    ['2026-03-02', '2026-03-01', 0],
  ])('counts the days from %s to %s: %d', (from, to, days) => {
    expect(daysOf({ from, to })).toBe(days)
  })
})

describe('idsOf', () => {
  it('covers whole days from the first second to the last', () => {
    const { above, below } = idsOf(period)
    const idAt = (time: string) => `${(Date.parse(time) / 1_000).toString(16)}0000000000000000`
    expect(idAt('2026-02-28T23:59:59Z') > above).toBe(false)
    expect(idAt('2026-03-01T00:00:00Z') > above).toBe(true)
    expect(idAt('2026-03-31T23:59:59Z') < below).toBe(true)
    expect(idAt('2026-04-01T00:00:00Z') < below).toBe(false)
  })

  it('limits days to those that an id can hold', () => {
    expect(idsOf({ from: '1969-01-01', to: '2107-01-01' })).toEqual({ above: '00000000', below: 'ffffffff' })
  })
})

describe('the rows', () => {
  const line: Line = {
    id: 'a'.repeat(24),
    merchantId: 'b'.repeat(24),
    test: true,
    created: new Date('2026-03-02T10:20:30.123Z'),
    kind: 'refund',
    balance: -1_234n,
    fee: 0n,
    balanceAfter: 766n,
    transactionId: 'c'.repeat(24),
    description: 'Refund, "x"',
    amount: 500n,
    currency: 'JPY',
    formerCurrency: null,
  }
  const bare = { ...line, transactionId: null, amount: null, currency: null, kind: 'adjustment' } as const

  it('have amounts in major units, and no formulas', () => {
    expect(statementHead(period, 'DKK', -5n)).toBe(
      'created,line,kind,description,transaction,transaction currency,transaction amount,fee,amount,balance,currency\r\n' +
        '2026-03-01T00:00:00.000Z,,opening balance,,,,,,,-0.05,DKK\r\n',
    )
    expect(statementRows([line, { ...bare, description: '=1+1' }], 'DKK')).toBe(
      `2026-03-02T10:20:30.123Z,${line.id},refund,"Refund, ""x""",${line.transactionId},JPY,500,0.00,-12.34,7.66,DKK\r\n` +
        `2026-03-02T10:20:30.123Z,${line.id},adjustment,'=1+1,,,,0.00,-12.34,7.66,DKK\r\n`,
    )
    expect(statementFoot(period, 'KWD', 1_234n)).toBe('2026-03-31T23:59:59.999Z,,closing balance,,,,,,,1.234,KWD\r\n')
  })
})
