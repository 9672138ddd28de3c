import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setUpFactor, signIn, wayTo } from '../../../test/browser.ts'
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

describe('POST /sign-in/factors', () => {
  it('200: shows the secret of a new authenticator app as a QR code and as a text', async () => {
    const browser = test.browser()
    await createUser(auth, 'ada@example.com', 'viewer')
    await signIn(browser, 'ada@example.com')
    const page = await browser.submit('/sign-in/factors')
    expect(page.status).toBe(200)
    expect(page.text).toMatch(
      /^Trestle console Set up your authenticator app Scan the picture with an authenticator app, then enter the code that the app shows\. Or type this secret into the app: [A-Z2-7]{32} Code Confirm$/,
    )
    const [, picture = ''] =
      /<img src="data:image\/svg\+xml;base64,([^"]+)" alt="The secret below as a QR code"/.exec(page.html) ?? []
    expect(Buffer.from(picture, 'base64').toString()).toMatch(/^<svg .*<\/svg>$/s)
  })

  it('200: shows a new secret, whose code signs in, to an operator who left before typing a code', async () => {
    const browser = test.browser()
    await createUser(auth, 'grace@example.com', 'viewer')
    await signIn(browser, 'grace@example.com')
    const lost = await setUpFactor(browser)
    await signIn(browser, 'grace@example.com')
    const code = await setUpFactor(browser)
    expect(browser.page().status).toBe(200)
    expect(code(0)).not.toBe(lost(0))
    expect((await browser.submit('/sign-in/factor', { code: code(0) })).path).toBe('/')
  })

  it('303: leads an operator with a second factor to its code, and adds no other', async () => {
    // In this profile, auth itself allows an access token from before the factor to add another factor.
    const taken = await startService('auth', { AUTH_PROFILE: 'supabase' })
    const [first, second] = [await openTestConsole([taken]), await openTestConsole([taken])]
    const { id, email } = await createUser(taken, 'ada@example.com', 'admin')
    const [ada, thief] = [first.browser(), second.browser()]
    await signIn(ada, email)
    for (const [name, value] of ada.cookies) thief.cookies.set(name, value)
    // This process keeps the access token from before the factor.
    await thief.open('/sign-in/factor')
    await ada.open('/sign-in/factor')
    const codeOf = await setUpFactor(ada)
    await ada.submit('/sign-in/factor', { code: codeOf(0) })
    await taken.query(`UPDATE auth.mfa_factors SET friendly_name = 'Mine' WHERE user_id = $1`, [id])
    expect(wayTo(await thief.submit('/sign-in/factors'))).toEqual([303, '/sign-in/factor'])
    const factors = await taken.query('SELECT status::text FROM auth.mfa_factors WHERE user_id = $1', [id])
    expect(factors).toEqual([{ status: 'verified' }])
    await first.close()
    await second.close()
    await taken.stop()
  })

  it('403: refuses a form without the token of the session', async () => {
    const browser = test.browser()
    await signIn(browser, 'ada@example.com')
    const page = await browser.post('/sign-in/factors', { _csrf: 'x', _key: 'k' })
    expect([page.status, page.text]).toEqual([
      403,
      'Trestle console 403 Not allowed This form did not come from the console. Open the page again, at the address of the console. Go to the overview',
    ])
  })

  it('303: leads to the sign-in without a session', async () => {
    expect(wayTo(await test.browser().post('/sign-in/factors', { _csrf: 'x', _key: 'k' }))).toEqual([303, '/sign-in'])
  })
})
