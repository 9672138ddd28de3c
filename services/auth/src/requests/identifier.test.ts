import { describe, expect, it } from 'vitest'
import { isEmail, normaliseEmail, normalisePhone, requireEmail } from './identifier.ts'

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
