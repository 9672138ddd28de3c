import { describe, expect, it } from 'vitest'
import { codeRedirect, failureRedirect, sessionRedirect } from './flow-redirect.ts'

const session = { access_token: 'a.b.c', token_type: 'bearer', expires_in: 3600, expires_at: 7, refresh_token: 'r_-' }
const failure = { status: 403, code: 'otp_expired', message: 'Email link is invalid or has expired' }

describe('sessionRedirect', () => {
  it('puts the session into the fragment, in order', () => {
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

  it('has no name for other statuses', () => {
    expect(failureRedirect('http://h', { ...failure, status: 422 }, 'implicit')).toBe(`http://h/#${fragment}&sb=`)
  })

  it('tells the query too in a PKCE flow, in place of what it had', () => {
    expect(failureRedirect('http://h/?error=old&x=1', failure, 'pkce')).toBe(
      `http://h/?x=1&error=access_denied&${fragment}#error=access_denied&${fragment}&sb=`,
    )
  })
})
