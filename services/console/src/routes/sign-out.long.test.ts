import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signIn, wayTo } from '../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { openLossyWay } from '../../test/lost-answers.ts'
import { createUser, type RunningService, startService } from '../../test/services.ts'

let auth: RunningService
let test: TestConsole
beforeAll(async () => {
  auth = await startService('auth')
  test = await openTestConsole([auth])
})
afterAll(async () => {
  await test.close()
  await auth.stop()
})

describe('POST /sign-out', () => {
  // ASVS 7.4.1
  it('303: ends the session at auth too, so that a copy of the cookie is useless', async () => {
    const browser = await test.signedIn('viewer')
    const [[name = '', value = ''] = []] = browser.cookies
    expect(wayTo(await browser.submit('/sign-out'))).toEqual([303, '/sign-in'])
    expect(browser.cookies.size).toBe(0)
    browser.cookies.set(name, value)
    expect(wayTo(await browser.open('/'))).toEqual([303, '/sign-in?ended=1'])
  })

  it('303: signs out of the browser also while auth does not answer, and says so', async () => {
    const way = await openLossyWay(auth)
    const lossy = await openTestConsole([way])
    const browser = lossy.browser()
    const { email } = await createUser(auth, 'shared@example.com', 'viewer')
    await signIn(browser, email)
    way.loseAnswers(true)
    const page = await browser.submit('/sign-out')
    expect([page.firstStatus, page.path, page.text, browser.cookies.size]).toEqual([
      303,
      '/sign-in?unended=1',
      'Trestle console Sign in You are signed out of this browser. Auth has not answered, so the session is still open there. It cannot be used without the cookie that was here. Email Password Sign in',
      0,
    ])
    expect(wayTo(await browser.open('/'))).toEqual([303, '/sign-in'])
    await lossy.close()
    way.close()
  })

  // ASVS 3.5.1
  it('403: refuses a form without the token of the session, or with the token of another session', async () => {
    const [browser, other] = [await test.signedIn('viewer'), await test.signedIn('viewer')]
    const foreign = /name="_csrf" value="([^"]+)"/.exec(other.page().html)?.[1] ?? ''
    for (const fields of [{}, { _csrf: '', _key: 'k' }, { _csrf: foreign, _key: 'k' }]) {
      const page = await browser.post('/sign-out', { ...fields })
      expect([page.status, page.text]).toEqual([
        403,
        'Trestle console 403 Not allowed This form did not come from the console. Open the page again, at the address of the console. Go to the overview',
      ])
    }
    expect((await browser.open('/')).path).toBe('/')
  })

  it('303: leads to the sign-in without a session', async () => {
    expect(wayTo(await test.browser().post('/sign-out', {}))).toEqual([303, '/sign-in'])
  })
})
