import { describe, expect, it } from 'vitest'
import { checkPasswordPolicy, parseRequiredCharacters } from './password-policy.ts'

const plain = { lengthMin: 6, requiredCharacters: [], forbiddenWords: [], common: new Set<string>() }
const strict = { ...plain, lengthMin: 8, requiredCharacters: ['abc', 'ABC', '012:'] }
const guessed = {
  ...plain,
  lengthMin: 8,
  forbiddenWords: ['acme', 'anvil'],
  common: new Set(['password1', 'letmein22']),
}
const pwned = 'Password is known to be weak and easy to guess, please choose a different one.'
const length = 'Password should be at least 8 characters.'
const characters = 'Password should contain at least one character of each: abc, ABC, 012:.'

describe('checkPasswordPolicy', () => {
  // ASVS 6.2.5
  it.each([
    ['', { verdict: 'weak', message: 'Password should be at least 6 characters.', reasons: ['length'] }],
    ['12345', { verdict: 'weak', message: 'Password should be at least 6 characters.', reasons: ['length'] }],
    ['123456', { verdict: 'accepted' }],
    ['x'.repeat(72), { verdict: 'accepted' }],
    ['x'.repeat(73), { verdict: 'too-long' }],
    ['é'.repeat(36), { verdict: 'accepted' }],
    ['é'.repeat(37), { verdict: 'too-long' }],
    // Six code points in twelve UTF-16 units.
    ['😀😀😀😀😀😀', { verdict: 'accepted' }],
    ['😀😀😀😀😀', { verdict: 'weak', message: 'Password should be at least 6 characters.', reasons: ['length'] }],
  ])('judges %j by its length, in characters at least and in bytes at most', (password, expected) => {
    expect(checkPasswordPolicy(plain, password)).toEqual(expected)
  })

  it.each([
    ['aA0', { verdict: 'weak', message: length, reasons: ['length'] }],
    ['aaaaaaaa', { verdict: 'weak', message: characters, reasons: ['characters'] }],
    ['x', { verdict: 'weak', message: `${length} ${characters}`, reasons: ['length', 'characters'] }],
    ['xxxxxaA:', { verdict: 'accepted' }],
  ])('names the length and the sets of characters that %j lacks', (password, expected) => {
    expect(checkPasswordPolicy(strict, password)).toEqual(expected)
  })
})

describe('checkPasswordPolicy, of what is easy to guess', () => {
  it.each([
    'password1',
    'PassWord1',
    'password1Password1',
    'password1pass',
    'letmein22password1letm',
    'acme2026!',
    'AcmeAnvil123',
    'Ｐａｓｓｗｏｒｄ１',
    '１２３４５６７８９０１２３４５',
    'aaaaaaaaaaaaaaaaaaaa',
    'abcdefghijklmnopqrst',
    'ZYXWVUTSRQPONMLK',
    'aaaabbbbccccdddd',
    'abcd4321wxyz',
    'password1abcd',
    'abcdpassword1',
    'letmeinletmeinletmein',
    'Ab1!Ab1!Ab1!',
    'staple staple s',
    '😀😀😀😀😀😀😀😀',
    '        ',
  ])('refuses %j', (password) => {
    expect(checkPasswordPolicy(guessed, password)).toEqual({ verdict: 'weak', message: pwned, reasons: ['pwned'] })
  })

  it.each([
    'password12',
    'mypassword1',
    'abcpassword1',
    'aaaabbbccccdddd',
    'abcdefgx1234',
    'abcdabceabcd',
    'password1 password1',
    'letmein2letmein',
    'some acme and anvil',
  ])('accepts %j', (password) => {
    expect(checkPasswordPolicy(guessed, password)).toEqual({ verdict: 'accepted' })
  })

  it('names the length before it', () => {
    const reasons = ['length', 'pwned']
    expect(checkPasswordPolicy(guessed, 'acme')).toEqual({ verdict: 'weak', message: `${length} ${pwned}`, reasons })
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
  ])('reads %j as the sets %j', (text, expected) => {
    expect(parseRequiredCharacters(text)).toEqual(expected)
  })
})
