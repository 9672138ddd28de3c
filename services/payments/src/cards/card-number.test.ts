import { describe, expect, it } from 'vitest'
import { asciiDigits, digitsIn, hasCheckDigit, schemeOf, visibleDigits } from './card-number.ts'

const fill = (head: string, length = 16) => head.padEnd(length, '0')
const supported = (scheme: string) => ({ verdict: 'supported', scheme })
const unsupported = (scheme: string) => ({ verdict: 'unsupported', scheme })
const unknown = { verdict: 'unknown' }

describe('schemeOf', () => {
  it.each([
    [fill('4', 13), supported('visa')],
    [fill('4'), supported('visa')],
    [fill('4', 19), supported('visa')],
    [fill('4', 15), unknown],
    [fill('50'), unsupported('maestro')],
    [fill('51'), supported('mastercard')],
    [fill('55'), supported('mastercard')],
    [fill('55', 15), unknown],
    [fill('56'), unsupported('maestro')],
    [fill('58'), unsupported('maestro')],
    [fill('59'), unknown],
    [fill('222099'), unknown],
    [fill('222100'), supported('mastercard')],
    [fill('272099'), supported('mastercard')],
    [fill('272100'), unknown],
    [fill('30'), unsupported('diners')],
    [fill('34', 15), unsupported('amex')],
    [fill('3527'), unknown],
    [fill('3528'), unsupported('jcb')],
    [fill('3589'), unsupported('jcb')],
    [fill('3590'), unknown],
    [fill('36', 14), unsupported('diners')],
    [fill('37', 15), unsupported('amex')],
    [fill('38', 14), unsupported('diners')],
    [fill('6011'), unsupported('discover')],
    [fill('6012'), unsupported('maestro')],
    [fill('62'), unsupported('unionpay')],
    [fill('65'), unsupported('discover')],
    [fill('1'), unknown],
    [fill('2'), unknown],
    [fill('9'), unknown],
    ['', unknown],
  ])('finds the scheme of the live number %s', (number, verdict) => {
    expect(schemeOf(number, { test: false })).toEqual(verdict)
  })

  it.each([
    [fill('1'), supported('visa')],
    [fill('1', 10), supported('visa')],
    [fill('4'), supported('visa')],
    [fill('4', 14), unknown],
    [fill('2'), supported('mastercard')],
    [fill('222099'), supported('mastercard')],
    [fill('51'), supported('mastercard')],
    [fill('34', 15), unknown],
    [fill('62'), unknown],
  ])('finds the scheme of the test number %s', (number, verdict) => {
    expect(schemeOf(number, { test: true })).toEqual(verdict)
  })
})

describe('visibleDigits', () => {
  it('shows the first six and the last four digits', () => {
    expect(visibleDigits('4539148803436467')).toEqual({ bin: '453914', last4: '6467' })
    expect(visibleDigits('1234567890')).toEqual({ bin: '123456', last4: '7890' })
  })
})

describe('hasCheckDigit', () => {
  it.each([
    ['4111111111111111', true],
    ['5500005555555559', true],
    ['378282246310005', true],
    ['79927398713', true],
    ['5555555555554444', true],
    ['4222222222222', true],
    ['0', true],
    ['1', false],
    ['378282246310006', false],
    ['4111111111111112', false],
    ['4111111111111121', false],
    ['1000000000000000', false],
    ['9999999999999999', false],
  ])('finds the check digit of %s right: %s', (digits, expected) => {
    expect(hasCheckDigit(digits)).toBe(expected)
  })
})

it.each([
  ['0123456789', '0123456789'],
  ['０１２３４５６７８９', '0123456789'],
  ['٠١٢٣٤٥٦٧٨٩', '0123456789'],
  ['०१२३४५६७८९', '0123456789'],
  ['𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗𝟘𝟙', '012345678901'],
  ['a ١/２', 'a 1/2'],
])('writes the digits of %s as %s', (text, ascii) => {
  expect(asciiDigits(text)).toBe(ascii)
})

it('drops what is no digit', () => {
  expect(digitsIn('\u202d٤１.1-1 x²½')).toBe('4111')
})
