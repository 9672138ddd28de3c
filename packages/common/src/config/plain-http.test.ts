import { describe, expect, it } from 'vitest'
import { plainHttpWarnings } from './plain-http.ts'

const WARNING =
  'X_JWKS_URL is http:// and not on this machine: whoever is between can replace the keys, and sign tokens for anybody'

describe('plainHttpWarnings', () => {
  it.each([
    [undefined, false],
    ['https://auth.example/jwks.json', false],
    ['http://localhost:8081/jwks.json', false],
    ['http://127.0.0.1:8081/jwks.json', false],
    ['http://127.8.8.8/jwks.json', false],
    ['http://[::1]:8081/jwks.json', false],
    ['http://auth:8081/jwks.json', true],
    ['HTTP://auth.example/jwks.json', true],
    ['http://10.0.0.5/jwks.json', true],
    ['http://127.0.0.1.evil.example/jwks.json', true],
    ['http://localhost.evil.example/jwks.json', true],
  ])('keys at %s: a warning is %s', (url, isWarned) => {
    expect(plainHttpWarnings('X_JWKS_URL', url)).toEqual(isWarned ? [WARNING] : [])
  })
})
