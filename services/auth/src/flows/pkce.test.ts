import { describe, expect, it } from 'vitest'
import { generateAuthCode, matchesCodeChallenge, parsePkce } from './pkce.ts'

const codeChallenge = 'a'.repeat(43)

describe('parsePkce', () => {
  it('accepts only S256 when PKCE is required, and still accepts no code challenge', () => {
    const pair = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
    expect(parsePkce(pair, 'required')).toEqual({ codeChallenge: 'x'.repeat(43), codeChallengeMethod: 's256' })
    expect(() => parsePkce({ ...pair, code_challenge_method: 'plain' }, 'required')).toThrow('plain')
    expect(parsePkce({}, 'required')).toBeUndefined()
  })

  it.each([
    [undefined, undefined, undefined],
    ['', '', undefined],
    [codeChallenge, 'S256', { codeChallenge, codeChallengeMethod: 's256' }],
    // The row stores the SHA-256 hash in base64url, and never the verifier.
    [
      codeChallenge,
      'plain',
      { codeChallenge: 'ZtNPunH49FD35FWYhT5Tv8I7vRKQJ8uxMaL0_9eHjNA', codeChallengeMethod: 's256' },
    ],
    [codeChallenge, undefined, 'PKCE flow requires code_challenge_method and code_challenge'],
    [undefined, 's256', 'PKCE flow requires code_challenge_method and code_challenge'],
    ['a'.repeat(42), 's256', 'code challenge has to be between 43 and 128 characters'],
    ['a'.repeat(129), 's256', 'code challenge has to be between 43 and 128 characters'],
    [
      `${codeChallenge}+`,
      's256',
      'code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes',
    ],
    [codeChallenge, 'md5', 'unsupported code_challenge_method "md5"'],
  ])('reads the code challenge %s with the method %s', (given, method, expected) => {
    const body = { code_challenge: given, code_challenge_method: method }
    if (typeof expected === 'string') expect(() => parsePkce(body, 'optional')).toThrow(expected)
    else expect(parsePkce(body, 'optional')).toEqual(expected)
  })
})

describe('matchesCodeChallenge', () => {
  // The example of RFC 7636, appendix B.
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
  const s256 = { codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', codeChallengeMethod: 's256' } as const
  const plain = { codeChallenge: verifier, codeChallengeMethod: 'plain' } as const
  it.each([
    [s256, verifier, true],
    [s256, `${verifier}x`, false],
    [s256, s256.codeChallenge, false],
    [s256, '', false],
    [plain, verifier, true],
    [plain, s256.codeChallenge, false],
  ])('compares the code challenge %o with the verifier %s: %s', (pkce, given, expected) => {
    expect(matchesCodeChallenge(pkce, given)).toBe(expected)
  })
})

describe('generateAuthCode', () => {
  it.each([
    ['00', '00000000-0000-4000-8000-000000000000'],
    ['ff', 'ffffffff-ffff-4fff-bfff-ffffffffffff'],
    ['5a', '5a5a5a5a-5a5a-4a5a-9a5a-5a5a5a5a5a5a'],
  ])('makes a UUID of version 4 from bytes of %s', (byte, code) => {
    expect(generateAuthCode((size) => Buffer.alloc(size, byte, 'hex'))).toBe(code)
  })
})
