import { describe, expect, it } from 'vitest'
import { checkPasswordPolicy, parseRequiredCharacters } from './password-policy.ts'

const plain = { lengthMin: 6, requiredCharacters: [] }
const strict = { lengthMin: 8, requiredCharacters: ['abc', 'ABC', '012:'] }
const length = 'Password should be at least 8 characters.'
const characters = 'Password should contain at least one character of each: abc, ABC, 012:.'

describe('checkPasswordPolicy', () => {
  it.each([
    ['', { verdict: 'weak', message: 'Password should be at least 6 characters.', reasons: ['length'] }],
    ['12345', { verdict: 'weak', message: 'Password should be at least 6 characters.', reasons: ['length'] }],
    ['123456', { verdict: 'accepted' }],
    ['x'.repeat(72), { verdict: 'accepted' }],
    ['x'.repeat(73), { verdict: 'too-long' }],
    ['é'.repeat(36), { verdict: 'accepted' }],
    ['é'.repeat(37), { verdict: 'too-long' }],
    // Six code points, twelve UTF-16 units.
    ['😀😀😀😀😀😀', { verdict: 'accepted' }],
    ['😀😀😀😀😀', { verdict: 'weak', message: 'Password should be at least 6 characters.', reasons: ['length'] }],
  ])('%j with length alone', (password, expected) => {
    expect(checkPasswordPolicy(plain, password)).toEqual(expected)
  })

  it.each([
    ['aA0', { verdict: 'weak', message: length, reasons: ['length'] }],
    ['aaaaaaaa', { verdict: 'weak', message: characters, reasons: ['characters'] }],
    ['x', { verdict: 'weak', message: `${length} ${characters}`, reasons: ['length', 'characters'] }],
    ['xxxxxaA:', { verdict: 'accepted' }],
  ])('%j with character sets', (password, expected) => {
    expect(checkPasswordPolicy(strict, password)).toEqual(expected)
  })
})

describe('parseRequiredCharacters', () => {
  it.each([
    ['', []],
    [':', []],
    ['abc:ABC:123', ['abc', 'ABC', '123']],
    ['abc::123:', ['abc', '123']],
    ['ab\\:c:123', ['ab:c', '123']],
    ['\\:', [':']],
  ])('%j', (text, expected) => {
    expect(parseRequiredCharacters(text)).toEqual(expected)
  })
})
