import { describe, expect, it } from 'vitest'
import { isPrefetch, mayFollow, parseLink, parseVerifyBody, requireLinkToFollow } from './verify-request.ts'

const EITHER = 'Verify requires either a token or a token hash'
const ONLY_ONE = 'Only an email address or phone number should be provided on verify'

describe('parseVerifyBody', () => {
  it.each([
    [{}, 'Verify requires a verification type'],
    [{ type: 'signup' }, EITHER],
    [{ type: 'signup', token: 'a', token_hash: 'b' }, EITHER],
    [{ type: 'signup', token: 'a', email: 'a@b.c', phone: '123' }, ONLY_ONE],
    [{ type: 'sms', token: '123456', email: 'a@b.c' }, ONLY_ONE],
    [{ type: 'phone_change', token: '123456' }, ONLY_ONE],
    [{ type: 'signup', token_hash: 'a', email: 'a@b.c' }, 'Only the token_hash and type should be provided'],
    [{ type: 'signup', token_hash: 'a', redirect_to: 'https://h' }, 'Only the token_hash and type should be provided'],
    [{ type: 'nonsense', token: '123456', email: 'a@b.c' }, 'Unsupported verification type'],
    [{ type: 'nonsense', token: 'a' }, 'Invalid email verification type'],
    [{ type: 'sms', token_hash: 'a' }, 'Invalid email verification type'],
    [{ type: 'signup', token: '123456', email: 'nobody' }, 'Invalid email format'],
  ])('refuses %j: %s', (body, message) => {
    expect(() => parseVerifyBody(body)).toThrow(message)
  })

  it.each([
    [
      { type: 'signup', token: '123456', email: 'A@b.c' },
      { kind: 'code', type: 'signup', code: '123456', identifier: { kind: 'email', value: 'a@b.c' } },
    ],
    [
      { type: 'sms', token: '123456', phone: '+1 415 555 0100' },
      { kind: 'code', type: 'sms', code: '123456', identifier: { kind: 'phone', value: '+1 415 555 0100' } },
    ],
    [
      { type: 'signup', token: ' ١٢٣ ٤٥٦', email: 'a@b.c' },
      { kind: 'code', type: 'signup', code: '123456', identifier: { kind: 'email', value: 'a@b.c' } },
    ],
    [
      { type: 'email', token_hash: 'ab' },
      { kind: 'link', type: 'email', token: 'ab' },
    ],
    [
      { type: 'recovery', token: 'ab', redirect_to: 'https://h' },
      { kind: 'link', type: 'recovery', token: 'ab' },
    ],
  ])('reads the request %j as the code or link %j', (body, expected) => {
    expect(parseVerifyBody(body)).toEqual(expected)
  })
})

describe('parseLink', () => {
  it('reads the token under both names', () => {
    expect(parseLink({ type: 'x', token: 'a' })).toEqual({ type: 'x', token: 'a' })
    expect(parseLink({ type: 'x', token_hash: 'a' })).toEqual({ type: 'x', token: 'a' })
    expect(() => parseLink({ token: 'a' })).toThrow('Verify requires a verification type')
    expect(() => parseLink({ type: 'x' })).toThrow('Verify requires a token or a token hash')
  })
})

describe('requireLinkToFollow', () => {
  it('refuses types that have no link', () => {
    expect(requireLinkToFollow({ type: 'invite', token: 'a' }, 'optional')).toEqual({ type: 'invite', token: 'a' })
    expect(() => requireLinkToFollow({ type: 'sms', token: 'a' }, 'optional')).toThrow(
      'Invalid email verification type',
    )
  })

  it('refuses a link of no PKCE flow where PKCE is required', () => {
    expect(requireLinkToFollow({ type: 'invite', token: 'pkce_a' }, 'required').token).toBe('pkce_a')
    expect(() => requireLinkToFollow({ type: 'invite', token: 'a' }, 'required')).toThrow('PKCE')
  })
})

describe('mayFollow', () => {
  it.each([
    [{ token: 'a' }, 'optional', true],
    [{ token: 'a' }, 'required', false],
    [{}, 'required', false],
    [{ token: 'pkce_a' }, 'required', true],
    [{ token_hash: 'pkce_a' }, 'required', true],
  ] as const)('judges a link with %j, where PKCE is %s, as %s', (fields, pkce, expected) => {
    expect(mayFollow(fields, pkce)).toBe(expected)
  })
})

describe('isPrefetch', () => {
  it.each([
    [{ 'sec-purpose': 'prefetch;prerender' }, true],
    [{ purpose: 'Preview' }, true],
    [{ 'x-purpose': 'preview' }, true],
    [{ 'x-moz': 'prefetch' }, true],
    [{ 'x-moz': 'preview' }, false],
    [{ purpose: 'prefetched' }, false],
    [{ accept: 'text/html' }, false],
    [{}, false],
  ])('takes a request with the headers %j for a prefetch: %s', (headers, expected) => {
    expect(isPrefetch(headers)).toBe(expected)
  })
})
