import { expect, it } from 'vitest'
import { fill, fillJson, type Memory, Missing } from './memory.ts'

const memory: Memory = {
  realm: 'http://127.0.0.1:1/realms/test',
  tag: 's1',
  kept: new Map([
    ['ada', { access_token: 'a.b.c', user: { identities: [{ id: 'first' }] }, totp: { secret: 'JBSWY3DP' } }],
  ]),
}

it.each([
  ['a member', '{ada.access_token}', 'a.b.c'],
  ['an item of a list', 'x {ada.user.identities.0.id} y', 'x first y'],
  ['the provider', '{realm}/x', 'http://127.0.0.1:1/realms/test/x'],
  [
    'a PKCE challenge',
    '{challenge dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk}',
    'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  ],
  ['JSON, which is no placeholder', '{"a":{}}', '{"a":{}}'],
  ['an email address', 'Ada@Example.com', 'Ada@s1.Example.com'],
  ['an email address of others', 'ada@other.example', 'ada@other.example'],
])('fills in %s: %s becomes %s', (_name, text, expected) => {
  expect(fill(text, memory)).toBe(expected)
})

it('fills in every text of a value, and keeps what is no text', () => {
  const value = { a: ['{ada.access_token}', 5, null], b: { c: '{totp ada}' } }
  expect(fillJson(value, memory)).toEqual({ a: ['a.b.c', 5, null], b: { c: expect.stringMatching(/^\d{6}$/) } })
})

it('throws with the name of a value that was not kept', () => {
  expect(() => fill('{bert.access_token}', memory)).toThrow(new Missing('nothing was kept as bert.access_token'))
})
