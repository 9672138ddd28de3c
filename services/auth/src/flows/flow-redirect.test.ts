import { describe, expect, it } from 'vitest'
import {
  codeRedirect,
  failureRedirect,
  sessionRedirect,
  withFormFragment,
  withFragment,
  withPathOf,
  withQuery,
} from './flow-redirect.ts'

const session = { access_token: 'a.b.c', token_type: 'bearer', expires_in: 3600, expires_at: 7, refresh_token: 'r_-' }
const failure = { status: 403, code: 'otp_expired', message: 'Email link is invalid or has expired' }

describe('sessionRedirect', () => {
  it('puts the session into the fragment in the documented order', () => {
    expect(sessionRedirect('http://h', session, 'signup')).toBe(
      'http://h/#access_token=a.b.c&token_type=bearer&expires_in=3600&refresh_token=r_-&type=signup&expires_at=7&sb=',
    )
  })
})

describe('codeRedirect', () => {
  it('puts the code into the query', () => {
    expect(codeRedirect('http://h/p?x=1', 'c')).toBe('http://h/p?x=1&code=c')
  })
})

describe('failureRedirect', () => {
  const fragment = 'error_code=otp_expired&error_description=Email+link+is+invalid+or+has+expired'

  it('puts the error into the fragment', () => {
    expect(failureRedirect('http://h', failure, 'implicit')).toBe(`http://h/#error=access_denied&${fragment}&sb=`)
  })

  it('leaves the OAuth error out for other statuses', () => {
    expect(failureRedirect('http://h', { ...failure, status: 422 }, 'implicit')).toBe(`http://h/#${fragment}&sb=`)
  })

  it('replaces the query by the error too in a PKCE flow', () => {
    expect(failureRedirect('http://h/?error=old&x=1', failure, 'pkce')).toBe(
      `http://h/?x=1&error=access_denied&${fragment}#error=access_denied&${fragment}&sb=`,
    )
  })
})

describe('withFragment', () => {
  // ASVS 1.2.2
  it.each([
    ['http://h', 'http://h/#a=1&b=x%20y%26'],
    ['http://h/p?q=1', 'http://h/p?q=1#a=1&b=x%20y%26'],
    ['http://h/p#old', 'http://h/p#old#a=1&b=x%20y%26'],
    ['myapp://callback', 'myapp://callback/#a=1&b=x%20y%26'],
  ])('adds a fragment to %s', (redirect, expected) => {
    expect(withFragment(redirect, { a: '1', b: 'x y&' })).toBe(expected)
  })
})

describe('withFormFragment', () => {
  it('writes a space as a plus sign', () => {
    expect(withFormFragment('http://h', { error: 'access_denied', d: 'a b', sb: '' })).toBe(
      'http://h/#error=access_denied&d=a+b&sb=',
    )
  })

  it.each([
    ['http://h/cb#frag', 'http://h/cb#error=x'],
    ['http://h/cb?q=1#a=b#c', 'http://h/cb?q=1#error=x'],
    ['myapp://callback#frag', 'myapp://callback/#error=x'],
  ])('replaces the fragment of %s', (redirect, expected) => {
    expect(withFormFragment(redirect, { error: 'x' })).toBe(expected)
  })
})

describe('withQuery', () => {
  it.each([
    ['http://h', 'http://h/?code=c'],
    ['http://h/p?x=%20y&code=old&z', 'http://h/p?x=%20y&z&code=c'],
    ['http://h/p?c%6fde=old#f', 'http://h/p?code=c#f'],
    ['http://h/p?toString=1&constructor=2', 'http://h/p?toString=1&constructor=2&code=c'],
  ])('replaces the parameter of %s', (redirect, expected) => {
    expect(withQuery(redirect, { code: 'c' })).toBe(expected)
  })
})

describe('withPathOf', () => {
  it.each([
    ['http://h', 'http://h?code=c#f'],
    ['http://h:80?x=1', 'http://h?x=1&code=c#f'],
    ['http://h#old', 'http://h?code=c#f'],
    ['http://h/', 'http://h/?code=c#f'],
    ['http://h//', 'http://h//?code=c#f'],
    ['http://h/p', 'http://h/p?code=c#f'],
    ['myapp://callback', 'myapp://callback?code=c#f'],
    ['myapp:/callback', 'myapp:/callback?code=c#f'],
    ['myapp:callback', 'myapp:callback?code=c#f'],
  ])('leaves an empty path of %s empty', (redirect, expected) => {
    const address = withFormFragment(withQuery(redirect, { code: 'c' }), { f: '' }).replace('#f=', '#f')
    expect(withPathOf({ addSlashToEmptyPath: false }, redirect, address)).toBe(expected)
    expect(withPathOf({ addSlashToEmptyPath: true }, redirect, address)).toBe(address)
  })
})
