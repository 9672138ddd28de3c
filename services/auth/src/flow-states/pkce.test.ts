import { describe, expect, it } from 'vitest'
import { parsePkce } from './pkce.ts'

const challenge = 'a'.repeat(43)

describe('parsePkce', () => {
  it.each([
    [undefined, undefined, undefined],
    ['', '', undefined],
    [challenge, 'S256', { challenge, method: 's256' }],
    [challenge, 'plain', { challenge, method: 'plain' }],
    [challenge, undefined, 'PKCE flow requires code_challenge_method and code_challenge'],
    [undefined, 's256', 'PKCE flow requires code_challenge_method and code_challenge'],
    ['a'.repeat(42), 's256', 'code challenge has to be between 43 and 128 characters'],
    ['a'.repeat(129), 's256', 'code challenge has to be between 43 and 128 characters'],
    [
      `${challenge}+`,
      's256',
      'code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes',
    ],
    [challenge, 'md5', 'unsupported code_challenge_method "md5"'],
  ])('%s, %s', (given, method, expected) => {
    const body = { code_challenge: given, code_challenge_method: method }
    if (typeof expected === 'string') expect(() => parsePkce(body)).toThrow(expected)
    else expect(parsePkce(body)).toEqual(expected)
  })
})
