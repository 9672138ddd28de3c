import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestBrowser, wayTo } from '../../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { createUser, type RunningService, startService } from '../../../test/services.ts'

const Link = z.looseObject({ hashed_token: z.string() })

let auth: RunningService
let test: TestConsole
beforeAll(async () => {
  auth = await startService('auth')
  test = await openTestConsole([auth])
  await createUser(auth, 'ada@example.com', 'admin')
})
afterAll(async () => {
  await test.close()
  await auth.stop()
})

async function linkOf(email: string): Promise<string> {
  const { hashed_token } = Link.parse(JSON.parse(await auth.command('users', 'link', email, '--json')))
  return `/sign-in?${new URLSearchParams({ token_hash: hashed_token })}`
}

describe('POST /sign-in/link', () => {
  it('303: signs in by the button of the link, which opening the link does not use up', async () => {
    const link = await linkOf('ada@example.com')
    const browser = test.browser()
    for (const _scanner of [1, 2, 3]) await test.browser().open(link)
    expect((await browser.open(link)).text).toBe(
      'Trestle console Sign in The link works once. Press the button to use it in this browser. Sign in',
    )
    const page = await browser.submit('/sign-in/link')
    expect([page.firstStatus, page.status, page.path]).toEqual([303, 200, '/'])
  })

  it('303: says whose session the link replaces, and ends that session at auth', async () => {
    const link = await linkOf('ada@example.com')
    const browser = await test.signedIn('viewer')
    const [[name = '', former = ''] = []] = browser.cookies
    const email = /viewer-[\da-f-]+@example\.com/.exec(browser.page().html)?.[0] ?? ''
    expect((await browser.open(link)).text).toBe(
      `Trestle console Sign in The link works once. Press the button to use it in this browser. You are signed in as ${email}. The button ends this session, and signs in as the user of the link. Sign in`,
    )
    // The session continues until the button is pressed.
    expect((await browser.open('/')).path).toBe('/')
    await browser.open(link)
    const page = await browser.submit('/sign-in/link')
    expect([page.firstStatus, page.path, page.html.includes('ada@example.com'), page.html.includes(email)]).toEqual([
      303,
      '/',
      true,
      false,
    ])
    browser.cookies.set(name, former)
    expect(wayTo(await browser.open('/'))).toEqual([303, '/sign-in?ended=1'])
  })

  it('200: has its button focused where nobody is signed in, so that no key ends a session', async () => {
    const link = await linkOf('ada@example.com')
    const isFocused = async (browser: TestBrowser) => {
      const { status, html } = await browser.open(link)
      expect(status).toBe(200)
      return html.includes('autofocus')
    }
    expect([await isFocused(test.browser()), await isFocused(await test.signedIn('viewer'))]).toEqual([true, false])
  })

  it('200: says nothing of a session that has ended', async () => {
    const link = await linkOf('ada@example.com')
    const browser = await test.signedIn('viewer')
    const [[name = '', former = ''] = []] = browser.cookies
    await browser.submit('/sign-out')
    browser.cookies.set(name, former)
    const page = await browser.open(link)
    expect([page.status, page.text]).toEqual([
      200,
      'Trestle console Sign in The link works once. Press the button to use it in this browser. Sign in',
    ])
  })

  it('401: refuses a used link and an unknown link', async () => {
    const link = await linkOf('ada@example.com')
    const [first, second] = [test.browser(), test.browser()]
    await first.open(link)
    await second.open(link)
    expect((await first.submit('/sign-in/link')).path).toBe('/')
    const refused = [
      await second.submit('/sign-in/link'),
      await test.browser().post('/sign-in/link', { token_hash: 'none' }),
    ]
    const text = 'Trestle console Sign in Email link is invalid or has expired Email Password Sign in'
    expect(refused.map((page) => [page.status, page.text])).toEqual([
      [401, text],
      [401, text],
    ])
  })

  it('403: refuses a form of another site', async () => {
    const page = await test.browser().post('/sign-in/link', { token_hash: 'none' }, 'https://evil.example')
    expect([page.status, page.text]).toEqual([
      403,
      'Trestle console 403 Not allowed This form did not come from the console. Open the page again, at the address of the console. Go to the overview',
    ])
  })
})
