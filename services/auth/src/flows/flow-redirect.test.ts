import { createHash } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { errorBody, statusAndBody } from '../../test/bodies.ts'
import { openMailApp } from '../../test/mail-app.ts'
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

const main = await openMailApp({
  AUTH_MAILER_LINK_MODE: 'confirm',
  AUTH_URI_ALLOW_LIST: 'myapp://callback,http://\\[::1\\]:3000',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
})
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

afterAll(() => main.close())

let count = 0
async function newLink(redirectTo: string, pkce = {}) {
  const email = `user${++count}@example.com`
  const url = `/signup?redirect_to=${encodeURIComponent(redirectTo)}`
  await main.post(url, { email, password: 'correct horse', ...pkce })
  return main.readMail(email)
}
const open = (link: URL, headers = {}) => main.app.inject({ method: 'GET', url: `/verify${link.search}`, headers })

/** Returns the form that the button of a page sends. */
function formOf(html: string): string {
  const inputs = html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)
  const plain = (text: string) =>
    text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  const form = new URLSearchParams()
  for (const [, name = '', value = ''] of inputs) form.append(name, plain(value))
  return form.toString()
}

describe('GET /verify with MAILER_LINK_MODE confirm', () => {
  // ASVS 3.5.3, 7.6.2, 14.2.2
  it('200: shows a page whose button uses the link once', async () => {
    const { link } = await newLink('http://localhost:5173/a"b?<c>&d')
    for (const headers of [{}, { 'sec-purpose': 'prefetch' }, {}]) {
      const page = await open(link, headers)
      expect(page.statusCode).toBe(200)
      expect([
        page.headers['content-type'],
        page.headers['cache-control'],
        page.headers['referrer-policy'],
        page.headers['x-frame-options'],
      ]).toEqual(['text/html; charset=utf-8', 'no-store', 'no-referrer', 'DENY'])
    }
    const { body } = await open(link)
    expect(body).toContain('<title>Confirm your email address</title>')
    expect(body).toContain('You will continue to localhost:5173.')
    expect(body.match(/<form |<button /g)).toEqual(['<form ', '<button '])
    expect(body).not.toContain('<script')
    const answer = await main.post('/verify', formOf(body), FORM)
    expect(answer.statusCode).toBe(303)
    expect(answer.headers.location).toMatch(/^http:\/\/localhost:5173\/a%22b\?%3Cc%3E&d#access_token=/)
    expect((await main.post('/verify', formOf(body), FORM)).headers.location).toBe(
      'http://localhost:5173/a%22b?%3Cc%3E&d#error=access_denied&error_code=otp_expired&error_description=Email+link+is+invalid+or+has+expired&sb=',
    )
  })

  it('400: refuses a form that is not UTF-8 or has text that cannot be stored', async () => {
    const post = (payload: string | Buffer) =>
      main.app.inject({ method: 'POST', url: '/verify', headers: FORM, payload })
    const broken = await post(Buffer.concat([Buffer.from('token='), Buffer.from([0xff])]))
    expect(statusAndBody(broken)).toEqual([
      400,
      errorBody(400, 'bad_json', 'Could not parse request body as a form: the body is not UTF-8'),
    ])
    const unstorable = await post('token=%00')
    expect(statusAndBody(unstorable)).toEqual([
      400,
      errorBody(400, 'validation_failed', 'Text may not contain NUL characters or lone surrogates'),
    ])
  })

  // ASVS 3.4.3, 14.2.3
  it("200: the content policy allows only the page's style and a form that leads to the redirect", async () => {
    const policyOf = async (redirectTo: string) => {
      const page = await open((await newLink(redirectTo)).link)
      const style = /<style>(.*)<\/style>/s.exec(page.body)?.[1] ?? ''
      const hash = createHash('sha256').update(style).digest('base64')
      return String(page.headers['content-security-policy']).replace(hash, 'HASH')
    }
    const policy = (target: string) =>
      `default-src 'none'; style-src 'sha256-HASH'; img-src data:; form-action 'self' ${target}; base-uri 'none'; frame-ancestors 'none'`
    expect(await policyOf('http://localhost:5173/a')).toBe(policy('http://localhost:5173'))
    expect(await policyOf('myapp://callback')).toBe(policy('myapp:'))
    expect(await policyOf('http://[::1]:3000')).toBe(policy('http:'))
    expect(await policyOf('https://evil.test')).toBe(policy('http://localhost:3000'))
  })

  // ASVS 1.2.1, 3.2.2
  it('200: escapes the query, for any type', async () => {
    const page = await main.app.inject({ method: 'GET', url: '/verify?type=<b>&token="><script>alert(1)</script>' })
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain('<title>Confirm that it is you</title>')
    expect(page.body).not.toContain('<script')
    expect(page.body).not.toContain('<b>')
  })

  it('303: the button of a PKCE flow ends in a code', async () => {
    const { link } = await newLink('http://localhost:3000', {
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 's256',
    })
    const answer = await main.post('/verify', formOf((await open(link)).body), FORM)
    expect(answer.headers.location).toMatch(/^http:\/\/localhost:3000\/\?code=[0-9a-f-]{36}$/)
  })

  it('400: refuses a request without type or token', async () => {
    const bad = await main.app.inject({ method: 'GET', url: '/verify?token=x' })
    expect(bad.json()).toEqual(errorBody(400, 'validation_failed', 'Verify requires a verification type'))
    const form = await main.post('/verify', 'type=signup', FORM)
    expect(form.json()).toEqual(errorBody(400, 'validation_failed', 'Verify requires a token or a token hash'))
  })

  it('405: refuses HEAD', async () => {
    expect(statusAndBody(await main.app.inject({ method: 'HEAD', url: '/verify?token=x&type=signup' }))).toEqual([
      405,
      '',
    ])
  })
})
