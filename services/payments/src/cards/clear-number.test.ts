import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasCardNumber, hasCardNumberDeep } from './clear-number.ts'

/** The Luhn check digit by its definition: each second digit from the right is doubled. */
function withCheckDigit(digits: string): string {
  const sum = [...digits]
    .toReversed()
    .flatMap((digit, at) => (at % 2 === 0 ? [...String(Number(digit) * 2)] : [digit]))
    .reduce((total, digit) => total + Number(digit), 0)
  return `${digits}${(10 - (sum % 10)) % 10}`
}

describe('hasCardNumber', () => {
  it.each([
    '4111111111111111',
    '4111 1111 1111 1111',
    '4111-1111-1111-1111',
    '4111 1111\u00a01111\u20111111',
    '41 11 11 11 11 11 11 11',
    'card: 5555555555554444.',
    'Visa (4222222222222)',
    '378282246310005',
    '3782 822463 10005',
    '30569309025904',
    '6011111111111117',
    '3530111333300000',
    '6205500000000000004',
    '4111111111111111 12/29 123',
    '12/29 4111 1111 1111 1111',
    'order 2026-11-20 4111111111111111',
    'REF12 4111111111111111',
    '４１１１１１１１１１１１１１１１',
    '٤١١١١١١١١١١١١١١١',
    'https://shop.example/pay/4111111111111111?x=1',
    'https://shop.example/?card=4111+1111+1111+1111',
    'https://shop.example/?card=4111%201111%201111%201111',
    '4111111111111111@shop.example',
    'card_4111111111111111',
  ])('finds the card number in %s', (text) => {
    expect(hasCardNumber(text)).toBe(true)
  })

  it.each([
    '',
    '4111111111111112',
    '411111111111',
    'x4111111111111111',
    '4111111111111111x',
    '41111111111111111111',
    '4111-1111-1111-1111-1234-5678',
    '1000000000000008',
    '1732900000000',
    '0.4111111111111111',
    '4111111111111111.25',
    '34111111111111118',
    '9111111111111113',
    'DE89 3704 0044 0532 0130 00',
    'NO9386011117947',
    '4a11111111111111',
    '6a0f3c121230001234567abc',
    '41111111-1111-4111-8111-111111111111',
    '+45 12 34 56 78',
    '2026-11-20T16:46:44.123Z',
  ])('finds no card number in %s', (text) => {
    expect(hasCardNumber(text)).toBe(false)
  })

  const numbers = fc
    .oneof(
      fc.stringMatching(/^4\d{14}$/),
      fc.stringMatching(/^4\d{17}$/),
      fc.stringMatching(/^5[1-5]\d{13}$/),
      fc.stringMatching(/^3[47]\d{12}$/),
      fc.stringMatching(/^36\d{11}$/),
      fc.stringMatching(/^65\d{13}$/),
      fc.stringMatching(/^62\d{14,16}$/),
    )
    .map(withCheckDigit)

  it('finds each number with blanks and hyphens anywhere, unless its check digit is wrong or a letter touches it', () => {
    fc.assert(
      fc.property(numbers, fc.array(fc.constantFrom('', '', '', ' ', '-', '  ')), (number, gaps) => {
        const spaced = [...number].map((digit, at) => `${at === 0 ? '' : (gaps[at] ?? '')}${digit}`).join('')
        const wrong = `${spaced.slice(0, -1)}${(Number(number.at(-1)) + 1) % 10}`
        expect(hasCardNumber(`a: ${spaced}, b`)).toBe(true)
        expect(hasCardNumber(`a${number}`)).toBe(false)
        expect(/^[^ ]*$/.test(spaced) && hasCardNumber(wrong)).toBe(false)
      }),
    )
  })
})

describe('hasCardNumberDeep', () => {
  it.each([
    { a: [{ b: ['x', '4111 1111 1111 1111'] }] },
    { '4111111111111111': 1 },
    { a: 4_111_111_111_111_111 },
    ['4111111111111111'],
    '4111111111111111',
  ])('finds the card number in %j', (value) => {
    expect(hasCardNumberDeep(value)).toBe(true)
  })

  it.each([
    [{ a: 1_732_900_000_000, b: 0.4111111111111111, c: ['4111', '1111', '1111', '1111'] }],
    [null],
    [true],
    [{}],
  ])('finds none in %j', (value) => {
    expect(hasCardNumberDeep(value)).toBe(false)
  })
})
