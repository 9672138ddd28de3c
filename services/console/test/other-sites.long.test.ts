import { createServer } from 'node:http'
import { startChromium } from '@trestle/testing/chromium.ts'
import { canTestWith } from '@trestle/testing/find-program.ts'
import { freePort, portOf } from '@trestle/testing/free-port.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from './console-app.ts'
import { createUser, PASSWORD, type RunningService, startService } from './services.ts'

/** Many times what a test needs on an idle machine. */
const TIMEOUT_MS = 120_000
const ADDRESS = 'ada@example.com'

describe.runIf(canTestWith('chromium'))('a page of another site, in Chromium', () => {
  const closing = new AsyncDisposableStack()
  let auth: RunningService
  let test: TestConsole
  let evil: string
  let userId: string
  let page: Awaited<ReturnType<Awaited<ReturnType<typeof startChromium>>['newPage']>>

  beforeAll(async () => {
    auth = await startService('auth')
    closing.defer(auth.stop)
    const port = await freePort()
    test = await openTestConsole([auth], { CONSOLE_BASE_URL: `http://localhost:${port}` })
    closing.defer(test.close)
    await test.app.listen({ host: '127.0.0.1', port })
    const { id } = await createUser(auth, 'eve@example.com')
    userId = id
    await createUser(auth, ADDRESS, 'admin')
    const site = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(
        `<iframe src="${test.origin}/"></iframe>
        <a href="${test.origin}/users/${id}/ban">Press and hold Enter</a>
        <a href="${test.origin}/users/${id}#:~:text=Ban">Read on</a>
        <form method="post" action="${test.origin}/users/${id}/ban" target="_top">
        <input name="duration" value="1h"><input name="_key" value="key"><button>Win a prize</button></form>`,
      )
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    closing.defer(async () => void site.close())
    evil = `http://127.0.0.1:${portOf(site)}/`
    const chromium = await startChromium()
    closing.defer(() => chromium.close())
    page = await chromium.newPage()
    await page.goto(`${test.origin}/sign-in`)
    await page.getByLabel('Email').fill(ADDRESS)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL((url) => url.pathname === '/')
  }, TIMEOUT_MS)
  afterAll(() => closing.disposeAsync())

  it(
    'shows no page of the console in a frame, though its operator is signed in',
    async () => {
      const forbidden = page.waitForEvent('console', (line) => line.text().includes('frame-ancestors'))
      await page.goto(evil)
      expect([(await forbidden).type(), await page.frames()[1]?.locator('main').count()]).toEqual(['error', 0])
    },
    TIMEOUT_MS,
  )

  it(
    'leads to a user, and not to the form that bans them, by a link',
    async () => {
      await page.goto(evil)
      await page.getByRole('link', { name: 'Press and hold Enter' }).press('Enter')
      await page.getByRole('heading', { name: 'eve@example.com' }).waitFor()
      expect(page.url()).toBe(`${test.origin}/users/${userId}`)
    },
    TIMEOUT_MS,
  )

  it.each([true, false])(
    'chooses no place for the next Tab by a fragment, and leaves the way back open, with script: %s',
    async (javaScriptEnabled) => {
      const context = await page.context().browser()?.newContext({ javaScriptEnabled })
      await context?.addCookies(await page.context().cookies())
      const led = await context?.newPage()
      if (led === undefined) return expect.fail('no window')
      await led.goto(`${test.origin}/users`)
      await led.goto(evil)
      await led.getByRole('link', { name: 'Read on' }).click()
      await led.getByRole('heading', { name: 'eve@example.com' }).waitFor()
      expect(led.url()).toBe(`${test.origin}/users/${userId}`)
      await led.keyboard.press('Tab')
      expect(await led.locator(':focus').textContent()).toBe('Skip to the content')
      await led.goBack()
      expect(led.url()).toBe(evil)
      await led.goForward()
      await led.getByRole('heading', { name: 'eve@example.com' }).waitFor()
      await context?.close()
    },
    TIMEOUT_MS,
  )

  it(
    'sends the browser back to the page around a form, which opens again for a way back within the console',
    async () => {
      await page.goto(`${test.origin}/users/invite`)
      await page.getByLabel('Email').waitFor()
      await page.goto(evil)
      await page.evaluate('history.back()')
      await page.waitForURL(`${test.origin}/users`)
      await page.goto(`${test.origin}/users/invite`)
      await page.getByRole('link', { name: 'Cancel' }).press('Enter')
      await page.waitForURL(`${test.origin}/users`)
      await page.goBack()
      await page.getByLabel('Email').fill('bob@example.com')
      expect(page.url()).toBe(`${test.origin}/users/invite`)
    },
    TIMEOUT_MS,
  )

  it(
    'lets clicks in a row, of which each finds something else, neither enter nor send a form',
    async () => {
      await page.clock.install()
      await page.goto(`${test.origin}/users/${userId}`)
      await page.getByRole('link', { name: 'Ban…' }).click()
      const dialog = page.getByRole('dialog')
      const submit = dialog.getByRole('button', { name: 'Ban' })
      await submit.waitFor()
      await dialog.getByLabel('For how long').click()
      await submit.click()
      expect(await page.locator(':focus').evaluate(({ tagName }) => tagName)).toBe('H1')
      expect([page.url(), await submit.isEnabled()]).toEqual([`${test.origin}/users/${userId}`, true])
      await page.clock.fastForward(2_000)
      await submit.click()
      await page.getByText('The user is banned').waitFor()
      await auth.query('UPDATE auth.users SET banned_until = NULL')
    },
    TIMEOUT_MS,
  )

  it(
    'bans nobody by a form that its visitor sends',
    async () => {
      await page.goto(evil)
      await page.getByRole('button', { name: 'Win a prize' }).click()
      await page.getByText('This form did not come from the console.').waitFor()
      expect(await auth.query('SELECT FROM auth.users WHERE banned_until IS NOT NULL')).toEqual([])
    },
    TIMEOUT_MS,
  )
})
