import { readFileSync } from 'node:fs'
import { anyText } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isEmail,
  normaliseEmail,
  normalisePhone,
  PHONE_DATA,
  readCode,
  readTypedPhone,
  requireEmail,
} from './fields.ts'

const INVALID = 'Unable to validate email address: invalid format'

describe('requireEmail', () => {
  // ASVS 1.3.3, 1.3.11
  it.each([
    ['', 'An email address is required'],
    [`${'a'.repeat(250)}@b.cd`, undefined],
    [`${'a'.repeat(251)}@b.cd`, 'An email address is too long'],
    ['a@localhost', undefined],
    ['A.b+c@Sub.Example.com', undefined],
    ["o'neil!#$%&*/=?^_`{|}~-@x.y", undefined],
    [' a@b.c', INVALID],
    ['a@b.c ', INVALID],
    ['a', INVALID],
    ['a@', INVALID],
    ['@b.c', INVALID],
    ['a@b..c', INVALID],
    ['a@-b.c', INVALID],
    ['a@b-.c', INVALID],
    ['a@b@c', INVALID],
    ['ü@b.c', INVALID],
    ['a@bücher.example', INVALID],
    ['a@b.c\r\nBcc: x@y.z', INVALID],
    [`a@${'b'.repeat(63)}.c`, undefined],
    [`a@${'b'.repeat(64)}.c`, INVALID],
  ])('the address %s is refused with the text %s, or accepted without one', (email, text) => {
    const read = () => requireEmail(email)
    if (text === undefined) expect([read(), isEmail(email)]).toEqual([email.toLowerCase(), true])
    else {
      expect(read).toThrow(text)
      expect(isEmail(email)).toBe(false)
    }
  })
})

describe('normaliseEmail', () => {
  it('writes an email in lower case', () => {
    expect(normaliseEmail('A@B.C')).toBe('a@b.c')
  })
})

describe('normalisePhone', () => {
  it.each([
    ['+1 415 555 0100', '14155550100'],
    ['14155550100', '14155550100'],
    ['12', '12'],
    ['123456789012345', '123456789012345'],
    ['1234567890123456', undefined],
    ['1', undefined],
    ['', undefined],
    ['0123', undefined],
    ['++123', undefined],
    ['1-415', undefined],
    ['١٢٣', undefined],
  ])('normalises the phone number %s: %s', (phone, expected) => {
    expect(normalisePhone(phone)).toBe(expected)
  })
})

const CODE = '0123456789'

it.each([
  ['blanks', '012 345 6789'],
  ['a line break and a tab', '01234\r\n56\t789 '],
  ['blanks that do not break', '012\u00a0345\u202f6789'],
  ['marks of direction', '\u200e\u202a0123456789\u202c'],
  ['Arabic digits', '٠١٢٣٤ ٥٦٧٨٩'],
  ['Persian digits', '۰۱۲۳۴۵۶۷۸۹'],
  ['Devanagari digits', '०१२३४५६७८९'],
  ['Bengali digits', '০১২৩৪৫৬৭৮৯'],
  ['full-width digits', '０１２３４５６７８９'],
  ['mathematical digits beyond the first plane', '𝟘𝟙𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡'],
  ['digits of two scripts', '01234٥٦٧٨٩'],
])('reads a code that is typed with %s', (_case, typed) => {
  expect(readCode(typed)).toBe(CODE)
})

it.each(['pkce_0f 1', 'abc def', '12-34', '¹²³', '', ' '])('leaves %j as it is, which is no code of digits', (text) => {
  expect(readCode(text)).toBe(text)
})

describe('readTypedPhone', () => {
  it.each([
    ['+44 0 7418084106', '4407418084106', '447418084106'],
    ['+44 7418 084106', '447418084106', '447418084106'],
    ['447418084106', '447418084106', '447418084106'],
    ['+44 (0) 7418-084.106', '4407418084106', '447418084106'],
    ['(+44) 7418/084106', '447418084106', '447418084106'],
    ['＋４４ ７４１８ ０８４１０６', '447418084106', '447418084106'],
    ['\u202a+44\u00a07418\u2011084106\u202c', '447418084106', '447418084106'],
    ['+٤٤ ٧٤١٨ ٠٨٤١٠٦', '447418084106', '447418084106'],
    // Two national prefixes still give the same number.
    ['+44 0 0259569161', '4400259569161', '44259569161'],
    ['+49 0151 12345678', '49015112345678', '4915112345678'],
    ['+46 070-123 45 67', '460701234567', '46701234567'],
    ['+7 8 912 345-67-89', '789123456789', '79123456789'],
    ['+1 1 (415) 555-0100', '114155550100', '14155550100'],
    // An Argentine mobile number has a 9 after the country code, or a 15 within the national number.
    ['+54 11 15 2345-6789', '54111523456789', '5491123456789'],
    // A zero that is part of the number stays, as in Italy and Ivory Coast.
    ['+39 06 1234 5678', '390612345678', '390612345678'],
    ['+225 01 01 23 45 67', '2250101234567', '2250101234567'],
    // These numbers are possible, but no operator has assigned them.
    ['+1 555 555 0100', '15555550100', '15555550100'],
    ['+45 00 00 00 00', '4500000000', '4500000000'],
    ['+49 15 000 000', '4915000000', '4915000000'],
    ['+88213300655', '88213300655', '88213300655'],
  ])('reads the possible number %s: the digits are %s, the number is %s', (text, digits, parsed) => {
    expect(readTypedPhone(text)).toEqual({ digits, parsed })
  })

  it.each([
    ['4915', '4915'],
    ['12', '12'],
    ['+33 6 12 34 56 78 9', '336123456789'],
    ['+999 0000 0000', '99900000000'],
    ['123456789012345', '123456789012345'],
  ])('reads the impossible number %s: no number of its country has this length', (text, digits) => {
    expect(readTypedPhone(text)).toEqual({ digits, parsed: undefined })
  })

  it.each([
    '',
    '+',
    '1',
    '0151 12345678',
    '0044 7418 084106',
    '++44 7418 084106',
    '44+7418084106',
    '+44 7418 084106 ext. 5',
    '+44 7418 084106;ext=5',
    '+1 800 FLOWERS',
    'tel:+447418084106',
    '+44 7418 084106, +44 7418 084107',
    '1234567890123456',
    '+44²7418084106',
  ])('reads %j as no number', (text) => {
    expect(readTypedPhone(text)).toBeUndefined()
  })

  // Otherwise a user who types the stored number would be identified as another user.
  it('parses a parsed number to itself', () => {
    const digits = fc.stringMatching(/^[1-9][0-9]{0,2}0{0,3}[0-9]{3,9}$/)
    fc.assert(
      fc.property(digits, (typed) => {
        const parsed = readTypedPhone(typed)?.parsed
        fc.pre(parsed !== undefined)
        expect(readTypedPhone(`+${parsed}`)).toEqual({ digits: parsed, parsed })
      }),
    )
  })

  it('reads any text as digits or as no number', () => {
    const text = fc.oneof(anyText(), fc.string({ unit: fc.constantFrom(...'+0 1-(4)٤.') }))
    fc.assert(
      fc.property(text, (typed) => {
        const { digits, parsed = digits } = readTypedPhone(typed) ?? { digits: '10' }
        for (const found of [digits, parsed]) expect(found).toMatch(/^[1-9][0-9]{1,14}$/)
      }),
    )
  })
})

describe('PHONE_DATA', () => {
  it('names the release of the library that is installed, whose date stands beside it', () => {
    const entry = import.meta.resolve('libphonenumber-js/package.json')
    const { version } = JSON.parse(readFileSync(new URL(entry), 'utf8'))
    expect(PHONE_DATA.name).toBe(`libphonenumber-js ${version}`)
  })
})
