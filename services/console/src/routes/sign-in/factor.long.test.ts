import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type SeenPage, setUpFactor, signIn, type TestBrowser, wayTo } from '../../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { createUser, type RunningService, startService } from '../../../test/services.ts'

let auth: RunningService
let test: TestConsole
beforeAll(async () => {
  auth = await startService('auth', { AUTH_OPERATOR_REQUIRE_MFA: 'true' })
  test = await openTestConsole([auth], { CONSOLE_REQUIRE_MFA: 'yes' })
})
afterAll(async () => {
  await test.close()
  await auth.stop()
})

async function newOperator(): Promise<TestBrowser> {
  const browser = test.browser()
  const { email } = await createUser(auth, `${crypto.randomUUID()}@example.com`, 'support')
  await signIn(browser, email)
  return browser
}

/** The visible parts of a page, and its path. */
const seen = ({ status, path, text }: SeenPage) => ({ status, path, text })

/** Moves a browser with its cookies to the other process, as a load balancer may do. */
function moveSession(from: TestBrowser, to: TestBrowser): void {
  for (const [name, value] of from.cookies) to.cookies.set(name, value)
}

describe('GET /sign-in/factor', () => {
  // ASVS 6.3.3
  it('200: leads an operator without an authenticator app to set one up, and shows no other page before', async () => {
    const browser = await newOperator()
    expect(seen(browser.page())).toEqual({
      status: 200,
      path: '/sign-in/factor',
      text: 'Trestle console Set up your authenticator app The console asks for a second factor at each sign-in. You need an app such as Aegis, 1Password or Google Authenticator. Show the QR code',
    })
    expect((await browser.open('/')).path).toBe('/sign-in/factor')
  })

  it('200: tells an operator without an authenticator app that another second factor does not open the console', async () => {
    const lenient = await startService('auth')
    const open = await openTestConsole([lenient])
    const browser = open.browser()
    const { id, email } = await createUser(lenient, 'phone@example.com', 'viewer')
    await lenient.query(
      `INSERT INTO auth.mfa_factors (id, user_id, friendly_name, factor_type, status, phone, created_at, updated_at)
      VALUES (gen_random_uuid(), $1, 'Phone', 'phone', 'verified', '4520304050', now(), now())`,
      [id],
    )
    await signIn(browser, email)
    const { status, path, text } = await browser.open('/users')
    expect([status, path, text]).toEqual([
      200,
      '/sign-in/factor',
      'Trestle console Your second factor cannot be shown here The console asks for codes of an authenticator app, and you have set up another second factor in the application. Add an authenticator app there, then sign in again. Or ask an operator with the role admin to remove the other factor. Back to the sign-in',
    ])
    await open.close()
    await lenient.stop()
  })

  it('303: leads to the sign-in without a session', async () => {
    expect(wayTo(await test.browser().open('/sign-in/factor'))).toEqual([303, '/sign-in?next=%2Fsign-in%2Ffactor'])
  })
})

describe('POST /sign-in/factor', () => {
  it('303: opens the console by a code, at the first sign-in and at each later one', async () => {
    const browser = test.browser()
    const { email } = await createUser(auth, 'ada@example.com', 'admin')
    await signIn(browser, email)
    const codeOf = await setUpFactor(browser)
    const first = await browser.submit('/sign-in/factor', { code: codeOf(0) })
    expect([first.firstStatus, first.status, first.path]).toEqual([303, 200, '/'])
    const later = test.browser()
    expect(seen(await signIn(later, email))).toEqual({
      status: 200,
      path: '/sign-in/factor',
      text: 'Trestle console Enter your code Your authenticator app shows a code of six digits. Code Confirm',
    })
    const next = await later.submit('/sign-in/factor', { code: codeOf(1) })
    expect([next.firstStatus, next.status, next.path]).toEqual([303, 200, '/'])
  })

  it('303: takes the code of the app that is set up, whichever app the form names', async () => {
    const [first, later] = [test.browser(), test.browser()]
    const { email } = await createUser(auth, 'named@example.com', 'viewer')
    await signIn(first, email)
    const codeOf = await setUpFactor(first)
    await first.submit('/sign-in/factor', { code: codeOf(0) })
    await signIn(later, email)
    const named = { code: codeOf(1), factor_id: crypto.randomUUID() }
    expect(wayTo(await later.submit('/sign-in/factor', named))).toEqual([303, '/'])
  })

  it('303: asks for a factor that is set up also where the console requires none, and opens no page before', async () => {
    const lenient = await startService('auth')
    const open = await openTestConsole([lenient])
    const { email } = await createUser(lenient, 'eve@example.com', 'admin')
    const [first, later] = [open.browser(), open.browser()]
    await signIn(first, email)
    expect(first.page().path).toBe('/')
    await first.open('/sign-in/factor')
    const codeOf = await setUpFactor(first)
    await first.submit('/sign-in/factor', { code: codeOf(0) })
    await signIn(later, email)
    expect(wayTo(await later.open('/users', { 'x-trestle-poll': '1' }))).toEqual([303, '/sign-in/factor'])
    expect(wayTo(await later.open('/users'))).toEqual([303, '/sign-in/factor'])
    expect(wayTo(await later.submit('/sign-in/factor', { code: codeOf(1) }))).toEqual([303, '/'])
    expect((await later.open('/users')).path).toBe('/users')
    await open.close()
    await lenient.stop()
  })

  it('303: opens the console in each of several alternating processes', async () => {
    const second = await openTestConsole([auth], { CONSOLE_REQUIRE_MFA: 'yes' })
    const [here, there] = [test.browser(), second.browser()]
    const { email } = await createUser(auth, 'turns@example.com', 'viewer')
    await signIn(here, email)
    moveSession(here, there)
    expect(wayTo(await there.open('/users'))).toEqual([303, '/sign-in/factor'])
    moveSession(there, here)
    await here.open('/sign-in/factor')
    const codeOf = await setUpFactor(here)
    expect(wayTo(await here.submit('/sign-in/factor', { code: codeOf(0) }))).toEqual([303, '/'])
    moveSession(here, there)
    expect((await there.open('/users')).path).toBe('/users')
    moveSession(there, here)
    expect((await here.open('/users')).path).toBe('/users')
    await second.close()
  })

  it('303: does not end the session in a process that signed in before', async () => {
    const lenient = await startService('auth')
    const [first, second] = [await openTestConsole([lenient]), await openTestConsole([lenient])]
    const [here, there] = [first.browser(), second.browser()]
    const { email } = await createUser(lenient, 'pair@example.com', 'viewer')
    await signIn(here, email)
    moveSession(here, there)
    await there.open('/sign-in/factor')
    const codeOf = await setUpFactor(there)
    expect(wayTo(await there.submit('/sign-in/factor', { code: codeOf(0) }))).toEqual([303, '/'])
    moveSession(there, here)
    expect((await here.open('/users')).path).toBe('/users')
    await first.close()
    await second.close()
    await lenient.stop()
  })

  it('401: shows the form again for a wrong code, and opens nothing', async () => {
    const browser = await newOperator()
    await setUpFactor(browser)
    const page = await browser.submit('/sign-in/factor', { code: '000000' })
    expect([page.status, page.text]).toEqual([
      401,
      'Trestle console Set up your authenticator app Enter the code that the app shows now, or start again . Invalid TOTP code entered Code Confirm',
    ])
    expect((await browser.open('/')).path).toBe('/sign-in/factor')
  })

  it('403: refuses a form without the token of the session', async () => {
    const browser = await newOperator()
    const page = await browser.post('/sign-in/factor', { _csrf: 'x', _key: 'k', code: '000000' })
    expect([page.status, page.text]).toEqual([
      403,
      'Trestle console 403 Not allowed This form did not come from the console. Open the page again, at the address of the console. Go to the overview',
    ])
  })
})
