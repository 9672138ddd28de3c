import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signIn, wayTo } from '../../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { openLossyConsole } from '../../../test/lost-answers.ts'
import { PASSWORD, type RunningService, startService } from '../../../test/services.ts'

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

describe('POST /users/new', () => {
  it('303: makes a user who signs in by the password at once, where the address counts as confirmed', async () => {
    const browser = await test.signedIn('admin')
    expect((await browser.open('/users/new')).text).toBe(
      'New user The user exists at once. Unless the profile of auth is supabase, an address that is not confirmed gets a link that signs in. Anyone with the password can sign in, once an address is confirmed. Email Password (optional) The address is confirmed Create Cancel',
    )
    const typed = { email: 'made@example.com', password: PASSWORD, confirmed: 'yes' }
    const page = await browser.submit('/users/new', typed)
    expect([page.firstStatus, page.path, page.html.includes('<span>made@example.com is created</span>')]).toEqual([
      303,
      '/users',
      true,
    ])
    await auth.command('users', 'assign-role', typed.email, 'viewer')
    expect(wayTo(await signIn(test.browser(), typed.email))).toEqual([303, '/'])
  })

  it('503: a lost answer asks for the same password again, and the retry makes the user once', async () => {
    const lossy = await openLossyConsole(auth, auth, await test.signedIn('admin'))
    const typed = { email: 'lost@example.com', password: PASSWORD, confirmed: 'yes' }
    await lossy.browser.open('/users/new')
    expect(lossy.browser.page().html).not.toContain(
      'type="password" value="" autocomplete="new-password" inputmode="text" required',
    )
    lossy.loseAnswers(true)
    const page = await lossy.browser.submit('/users/new', typed)
    expect([page.status, page.html.includes(PASSWORD)]).toEqual([503, false])
    expect(page.html).toContain('type="password" value="" autocomplete="new-password" inputmode="text" required')
    expect(page.text).toContain('Type the same password again. The console does not keep it.')
    lossy.loseAnswers(false)
    expect((await lossy.browser.submit('/users/new', typed)).path).toBe('/users')
    await lossy.close()
  })

  it('422: shows the refusal of auth for an address that another user has', async () => {
    const browser = await test.signedIn('admin')
    await browser.open('/users/new')
    await browser.submit('/users/new', { email: 'taken@example.com', password: '' })
    await browser.open('/users/new')
    const page = await browser.submit('/users/new', { email: 'taken@example.com', password: '' })
    expect([page.status, page.text, page.html.includes('value="taken@example.com"')]).toEqual([
      422,
      'New user The user exists at once. Unless the profile of auth is supabase, an address that is not confirmed gets a link that signs in. Anyone with the password can sign in, once an address is confirmed. A user with this email address has already been registered Email Password (optional) The address is confirmed Create Cancel',
      true,
    ])
  })

  it('403: shows no form to the role support', async () => {
    const page = await (await test.signedIn('support')).open('/users/new')
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role support may not do this; admin may. Go to the overview',
    ])
  })
})
