import { expect, it } from 'vitest'
import { addressJson, claimsOf, normalise } from './run-steps.ts'

const known = { texts: [['http://127.0.0.1:9999', '<server>'] as const], nowSeconds: 1_800_000_000 }
const UUID = '11111111-1111-4111-8111-111111111111'

it.each([
  ['an id', UUID, '<uuid>'],
  ['a time in UTC', '2026-01-02T03:04:05.678901Z', '<time Z>'],
  ['a time with an offset', '2026-01-02T03:04:05+00:00', '<time +00:00>'],
  ['a time that is none', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
  ['the address of the server', 'http://127.0.0.1:9999/verify', '<server>/verify'],
  ['a link token', `x=${'ab'.repeat(28)}`, 'x=<link token>'],
  ['a link token of PKCE', `pkce_${'ab'.repeat(28)}`, 'pkce_<link token>'],
  ['the seconds to wait', 'only after 59 seconds', 'only after <n> seconds'],
  ['a code in a subject', '123456 is your code', '<code> is your code'],
  ['now', 1_800_000_010, '<now>'],
  ['an hour from now', 1_800_003_599, '<now+3600>'],
  ['a number', 3600, 3600],
])('replaces what differs from run to run: %s', (_name, value, expected) => {
  expect(normalise(value, known)).toBe(expected)
})

it('replaces secrets by the name of their member, and keeps an empty one', () => {
  const value = { refresh_token: 'abc', list: [{ secret: 'x', otp: '' }] }
  expect(normalise(value, known)).toEqual({ refresh_token: '<refresh token>', list: [{ secret: '<secret>', otp: '' }] })
})

it('reads members that hold an address', () => {
  const uri = 'otpauth://totp/a:b?issuer=a&secret=ABC'
  expect(normalise({ uri, url: 'https://a.example/x', text: uri }, known)).toEqual({
    uri: { place: 'otpauth://totp/a:b', query: { issuer: 'a', secret: '<secret>' } },
    url: { place: 'https://a.example/x' },
    text: uri,
  })
})

it.each([
  ['a query', 'https://a.example/b?c=1&a=2', { place: 'https://a.example/b', query: { a: '2', c: '1' } }],
  ['two fragments', 'https://a.example#f#error=x', { place: 'https://a.example', fragments: ['f', { error: 'x' }] }],
  ['a deep link', 'myapp://callback', { place: 'myapp://callback' }],
  ['no address', '/path', '/path'],
])('reads an address whatever the order of its parameters: %s', (_name, text, expected) => {
  expect(addressJson(text)).toEqual(expected)
})

it('reads the claims of a JWT, and of nothing else', () => {
  const token = `x.${Buffer.from('{"sub":"a"}').toString('base64url')}.y`
  expect([token, 'x', 'x.y.z', undefined].map(claimsOf)).toEqual([{ sub: 'a' }, undefined, undefined, undefined])
})
