import { expect, it } from 'vitest'
import { translatorOf } from '../pages/locale.ts'
import { statusCodeOf } from '../transactions/processing-error.ts'
import table from '../transactions/processing-errors.json' with { type: 'json' }
import { readCardInput, readTokenizedCard, refusalOf, refusalTable } from './card-form.ts'

const now = new Date('2026-03-15T12:00:00Z')
const good = { number: '1000 0000 0000 0000', expiry: '08/30', code: '111' }
const card = { number: '1000000000000000', expiry: { month: 8, year: 2030 }, code: '111' }

it.each([
  [{}, card],
  [{ number: '1000-0000-00' }, { ...card, number: '1000000000' }],
  [{ code: ' 012 ' }, { ...card, code: '012' }],
  [{ expiry: '03/26' }, { ...card, expiry: { month: 3, year: 2026 } }],
  ...['8/30', '08/2030', '0830', '08 / 30', '08-30', ' 08 30 '].map((expiry) => [{ expiry }, card] as const),
  ...[
    '2030-08',
    '2030-8',
    '2030/08',
    '2030 08',
    '203008',
    '082030',
    '\u202d08/30\u202c',
    '08\u201130',
    '٠٨/٣٠',
    '０８／３０',
  ].map((expiry) => [{ expiry }, card] as const),
  ...[
    '1000.0000.0000.0000',
    '1000\u20110000\u20110000\u20110000',
    '\u202d1000 0000 0000 0000\u202c',
    'Visa 1000_0000/0000|0000',
    '１０００ ００００ ００００ ００００',
    '١٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠',
    '۱۰۰۰۰۰۰۰۰۰۰۰۰۰۰۰',
  ].map((number) => [{ number }, card] as const),
  [{ code: '\u202d１１１' }, card],
] as const)('reads a form with %j as the card %j', (changes, read) => {
  expect(readCardInput({ ...good, ...changes }, now)).toEqual({ verdict: 'read', card: read })
})

it.each([
  [{ number: '123456789' }, { number: 'numberInvalid' }],
  [{ number: '1'.repeat(20) }, { number: 'numberInvalid' }],
  [{ number: 'one thousand' }, { number: 'numberInvalid' }],
  [{ expiry: '02/26' }, { expiry: 'expiryPast' }],
  ...['', '13/30', '00/30', '08', '08/2130', '30/08', '2030-13', '2030', '1930-08', '<08/30', '2030-08-01'].map(
    (expiry) => [{ expiry }, { expiry: 'expiryInvalid' }] as const,
  ),
  [{ code: '11' }, { code: 'codeInvalid' }],
  [{ code: '1111' }, { code: 'codeInvalid' }],
  [
    { number: '', expiry: '', code: '' },
    { number: 'numberInvalid', expiry: 'expiryInvalid', code: 'codeInvalid' },
  ],
] as const)('finds what is wrong with %j', (changes, problems) => {
  expect(readCardInput({ ...good, ...changes }, now)).toEqual({ verdict: 'problem', problems })
})

it('reads tokens only from the script', () => {
  const tokenized = { number: 'a', code: 'b', expiry: { month: 8, year: 2030 }, hints: ['h'] }
  expect(readTokenizedCard(JSON.stringify(tokenized))).toEqual(tokenized)
  for (const text of ['', '{', 'null', '{}', JSON.stringify({ ...tokenized, hints: 'h' })]) {
    expect(readTokenizedCard(text)).toBeUndefined()
  }
})

it('reads a long expiry in linear time', () => {
  // The CPU time of this thread, in microseconds, ignores other load. A quadratic pattern takes seconds.
  const before = process.threadCpuUsage()
  const read = readCardInput({ ...good, expiry: `08${' '.repeat(130_000)}x` }, now)
  const { user, system } = process.threadCpuUsage(before)
  expect(read).toEqual({ verdict: 'problem', problems: { expiry: 'expiryInvalid' } })
  expect(user + system).toBeLessThan(500_000)
})

it.each([
  ['PAYMENT_CARD_NUMBER_INVALID', { text: 'refusedNumber', field: 'number' }],
  ['PAYMENT_CARD_SCHEME_UNSUPPORTED', { text: 'refusedNumber', field: 'number' }],
  ['PAYMENT_CARD_SECURITY_CODE_INVALID', { text: 'refusedCode', field: 'code' }],
  ['PAYMENT_CARD_EXPIRED', { text: 'refusedExpiry', field: 'expiry' }],
  ['PAYMENT_INSUFFICIENT_FUNDS', { text: 'refusedIssuer' }],
  ['PAYMENT_CARD_LOST', { text: 'refusedIssuer' }],
  ['PAYMENT_METHOD_ERROR', { text: 'refusedNetwork' }],
  ['TDSECURE_FAILED', { text: 'refusedTds' }],
  ['TOKEN_INVALID', { text: 'tooLong' }],
  ['PAYMENT_INTEGRATION_DISABLED', { text: 'refusedOther' }],
  ['REQUEST_INVALID', { text: 'refusedOther' }],
  ['constructor', { text: 'refusedOther' }],
])('chooses the text and the field for %s', (statusCode, refusal) => {
  expect(refusalOf(statusCode)).toEqual(refusal)
})

it('tells the customer nothing about a fault of the merchant', () => {
  for (const { code } of table.errors.filter(({ client }) => !client)) {
    expect(refusalOf(statusCodeOf(code)).text, String(code)).toBe('refusedOther')
  }
})

it('gives the script of the page the same texts', () => {
  const table = refusalTable(translatorOf('da'))
  expect(table['']).toEqual({ text: translatorOf('da')('refusedOther') })
  expect(table.PAYMENT_CARD_EXPIRED).toEqual({ text: translatorOf('da')('refusedExpiry'), field: 'expiry' })
  expect(table.REQUEST_INVALID).toBeUndefined()
})
