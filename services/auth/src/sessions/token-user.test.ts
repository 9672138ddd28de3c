import { HttpError } from '@trestle/common/errors/define-error.ts'
import { describe, expect, it } from 'vitest'
import type { KeyRing } from '../access-tokens/key-ring.ts'
import { callerAudience, readBearer, toTokenUser } from './token-user.ts'

const userId = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'
const sessionId = '0198c9d2-7b5a-7000-8000-000000000001'
const adminRoles = ['service_role', 'supabase_admin']

/** Accepts only the token `good`. */
const signingKeys: KeyRing = {
  sign: () => '',
  verify: (token) =>
    token === 'good' ? { verdict: 'valid', claims: { sub: userId } } : { verdict: 'invalid', reason: 'it is bad' },
  publicJwks: () => [],
  load: async () => {},
  startPolling: () => {},
  stopPolling: () => {},
}
const deps = { signingKeys, now: () => new Date(0) }

describe('readBearer', () => {
  it.each(['Bearer good', 'bearer good', 'BEARER   good'])('reads the token from %j', (header) => {
    expect(readBearer(deps, header)).toEqual({ sub: userId })
  })

  it.each([undefined, '', 'good', 'Bearer', 'Bearer ', 'Basic good', 'Bearer good good', 'Bearer good, Bearer good'])(
    '401: refuses %j',
    (header) => {
      expect(() => readBearer(deps, header)).toThrow(
        new HttpError(401, 'no_authorization', {
          message: 'This endpoint requires a valid Bearer token',
          headers: { 'www-authenticate': 'Bearer realm="auth"' },
        }),
      )
    },
  )

  it('403: names the reason why a token is invalid', () => {
    expect(() => readBearer(deps, 'Bearer forged')).toThrow(
      new HttpError(403, 'bad_jwt', { message: 'invalid JWT: unable to parse or verify signature, it is bad' }),
    )
  })
})

describe('toTokenUser', () => {
  it.each([
    [{ sub: userId }, { userId, sessionId: null, aal: 'aal1', audiences: [''], isAdmin: false }],
    [
      { sub: userId, session_id: '' },
      { userId, sessionId: null, aal: 'aal1', audiences: [''], isAdmin: false },
    ],
    [
      { sub: userId, session_id: sessionId, aud: 'authenticated', role: 'authenticated' },
      { userId, sessionId, aal: 'aal1', audiences: ['authenticated'], isAdmin: false },
    ],
    [
      { sub: userId, session_id: sessionId, aal: 'aal2' },
      { userId, sessionId, aal: 'aal2', audiences: [''], isAdmin: false },
    ],
    [
      { sub: userId, aud: ['a', 1, 'b'], role: 'supabase_admin' },
      { userId, sessionId: null, aal: 'aal1', audiences: ['a', 'b'], isAdmin: true },
    ],
  ])('reads the claims %j', (claims, expected) => {
    expect(toTokenUser(claims, { adminRoles, issuer: 'us' })).toEqual(expected)
  })

  it.each([
    [403, {}, 'invalid claim: missing sub claim'],
    [403, { sub: '' }, 'invalid claim: missing sub claim'],
    [403, { sub: 5 }, 'invalid claim: missing sub claim'],
    [400, { sub: 'somebody' }, 'invalid claim: sub claim must be a UUID'],
    [403, { sub: userId, session_id: 'mine' }, 'invalid claim: session_id claim must be a UUID'],
    [403, { sub: userId, session_id: null }, 'invalid claim: session_id claim must be a UUID'],
    [403, { sub: userId, iss: 'them' }, 'invalid claim: the token is of another issuer'],
    [403, { sub: userId, iss: ['us'] }, 'invalid claim: the token is of another issuer'],
  ])('%i: refuses %j: %s', (status, claims, message) => {
    expect(() => toTokenUser(claims, { adminRoles, issuer: 'us' })).toThrow(
      new HttpError(status, 'bad_jwt', { message }),
    )
  })
})

describe('toTokenUser and the issuer', () => {
  it('accepts its own issuer and no issuer, and any issuer where a hook writes claims', () => {
    for (const [iss, issuer] of [
      ['us', 'us'],
      [undefined, 'us'],
      ['them', undefined],
    ]) {
      expect(toTokenUser({ sub: userId, iss }, { adminRoles, issuer })).toEqual({
        userId,
        sessionId: null,
        aal: 'aal1',
        audiences: [''],
        isAdmin: false,
      })
    }
  })
})

describe('callerAudience', () => {
  const caller = { userId, sessionId, aal: 'aal1' as const, audiences: ['own'], isAdmin: false }
  it.each([
    ['the header', caller, 'wanted', 'wanted'],
    ['the token', caller, undefined, 'own'],
    ['JWT_AUD for a token without audience', { ...caller, audiences: [] }, undefined, 'usual'],
    ['JWT_AUD for an admin', { ...caller, isAdmin: true }, undefined, 'usual'],
  ])('comes from %s', (_case, who, wanted, expected) => {
    expect(callerAudience(who, wanted, 'usual')).toBe(expected)
  })
})
