import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signIn, wayTo } from '../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { createUser, PASSWORD, type RunningService, startService } from '../../test/services.ts'
import { IDLE_MS, LIFE_MS } from '../sessions/session-cipher.ts'

let auth: RunningService
let test: TestConsole
beforeAll(async () => {
  auth = await startService('auth')
  test = await openTestConsole([auth])
  await createUser(auth, 'ada@example.com', 'admin')
  await createUser(auth, 'customer@example.com')
})
afterAll(async () => {
  await test.close()
  await auth.stop()
})

const FORM = 'Trestle console Sign in Email Password Sign in'

describe('GET /sign-in', () => {
  // ASVS 3.4.3, 3.4.6, 14.3.2
  it('200: shows the form, with a policy that forbids scripts and frames of others', async () => {
    const page = await test.browser().open('/sign-in')
    expect([page.status, page.text]).toEqual([200, FORM])
    expect(page.headers).toEqual({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
      'cross-origin-opener-policy': 'same-origin',
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(Buffer.byteLength(page.html)),
      'x-request-id': expect.stringMatching(/^[\da-f-]{36}$/),
      date: expect.any(String),
      connection: 'keep-alive',
    })
  })

  // ASVS 1.2.2, 3.7.2
  it.each([
    ['https://evil.example/', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['/users#:~:text=Ban', '/'],
    ['/users?search=a', '/users?search=a'],
  ])('200: the sign-in of next=%s leads to %s', async (next, leads) => {
    const { status, html } = await test.browser().open(`/sign-in?${new URLSearchParams({ next })}`)
    const field = `<input type="hidden" name="next" value="${leads}">`
    expect([status, html]).toEqual([200, expect.stringContaining(field)])
  })

  it('400: says that a query in another charset cannot be read', async () => {
    const { status, text } = await test.browser().open('/sign-in?next=caf%E9')
    expect([status, text]).toEqual([
      400,
      'Trestle console 400 Not valid The request cannot be read. Go to the overview',
    ])
  })

  it.each(['/sign-in?unended=1', '/sign-in?ended=1'])(
    '200: shows no message of the link %s to a user who is signed in',
    async (path) => {
      const browser = await test.signedIn('viewer')
      const { status, text } = await browser.open(path)
      expect([status, text]).toEqual([200, FORM])
      expect((await browser.open('/')).path).toBe('/')
    },
  )
})

describe('POST /sign-in', () => {
  // ASVS 3.3.2, 3.3.4
  it('303: opens a session whose cookie no script reads, and leads to the page that was asked for', async () => {
    const browser = test.browser()
    expect(wayTo(await browser.open('/?q=a%26b'))).toEqual([303, '/sign-in?next=%2F%3Fq%3Da%2526b'])
    const page = await browser.submit('/sign-in', { email: 'ada@example.com', password: PASSWORD })
    expect([page.firstStatus, page.status, page.path]).toEqual([303, 200, '/?q=a%26b'])
    const answer = await test.app.inject({
      method: 'POST',
      url: '/sign-in',
      headers: { origin: test.origin, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ email: 'ada@example.com', password: PASSWORD }).toString(),
    })
    const { value: _encrypted, ...cookie } = answer.cookies[0] ?? { value: '' }
    expect(cookie).toEqual({ name: 'trestle_console', path: '/', httpOnly: true, sameSite: 'Lax' })
    expect(answer.body).toBe('')
  })

  it('401: says what auth says of a wrong password, and keeps the address that was typed', async () => {
    const page = await signIn(test.browser(), 'ada@example.com', 'wrong')
    expect([page.status, page.text]).toEqual([
      401,
      'Trestle console Sign in Invalid login credentials Email Password Sign in',
    ])
    expect(page.html).toContain('value="ada@example.com"')
  })

  it('429: says when to try again after too many attempts', async () => {
    const limited = await startStubProvider(() => ({
      status: 429,
      body: { code: 'over_request_rate_limit', message: 'x' },
    }))
    const open = await openTestConsole([{ name: 'auth', url: limited.url }])
    const page = await signIn(open.browser(), 'ada@example.com', 'wrong')
    expect([page.status, page.headers['retry-after'], page.text]).toEqual([
      429,
      '60',
      'Trestle console Sign in Too many attempts. Wait a few minutes Email Password Sign in',
    ])
    await open.close()
    await limited.close()
  })

  it('403: lets no user in who has no console role', async () => {
    const browser = test.browser()
    const page = await signIn(browser, 'customer@example.com')
    expect([page.status, page.text, browser.cookies.size]).toEqual([
      403,
      'Trestle console Sign in This account may not use the console. Ask an operator with the role admin for a console role Email Password Sign in',
      0,
    ])
  })

  // ASVS 3.5.1
  it.each([['https://evil.example'], ['null'], ['http://localhost:8084']])(
    '403: refuses a form from the origin %s',
    async (origin) => {
      const page = await test.browser().post('/sign-in', { email: 'ada@example.com', password: PASSWORD }, origin)
      expect([page.status, page.text]).toEqual([
        403,
        'Trestle console 403 Not allowed This form did not come from the console. Open the page again, at the address of the console. Go to the overview',
      ])
    },
  )
})

describe('a session', () => {
  // ASVS 7.3.1
  it('303: ends after half an hour without use, which neither a poll nor another site makes', async () => {
    const browser = await test.signedIn('viewer')
    test.advance(IDLE_MS - 1_000)
    expect((await browser.open('/')).path).toBe('/')
    test.advance(IDLE_MS - 1_000)
    for (const headers of [{ 'x-trestle-poll': '1' }, { 'sec-fetch-site': 'same-site' }])
      expect((await browser.open('/', headers)).path).toBe('/')
    test.advance(1_000)
    const { firstStatus, path, text } = await browser.open('/')
    expect([firstStatus, path, text]).toEqual([
      303,
      '/sign-in?ended=1',
      'Trestle console Sign in Your session has ended. Sign in again. Email Password Sign in',
    ])
  })

  // ASVS 7.3.2
  it('303: ends twelve hours after its sign-in, however often it is used', async () => {
    const browser = await test.signedIn('viewer')
    for (let spent = IDLE_MS / 2; spent < LIFE_MS; spent += IDLE_MS / 2) {
      test.advance(IDLE_MS / 2)
      expect((await browser.open('/')).path).toBe('/')
    }
    test.advance(IDLE_MS / 2)
    expect(wayTo(await browser.open('/'))).toEqual([303, '/sign-in?ended=1'])
  })

  it('303: ends at once when the role is taken', async () => {
    const browser = test.browser()
    await createUser(auth, 'leaver@example.com', 'support')
    await signIn(browser, 'leaver@example.com')
    expect((await browser.open('/')).path).toBe('/')
    await auth.command('users', 'assign-role', 'leaver@example.com', 'none')
    expect(wayTo(await browser.open('/'))).toEqual([303, '/sign-in?ended=1'])
  })
})
