import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../../test/console-app.ts'
import { type RunningService, startService } from '../../../test/services.ts'

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

describe('POST /users/invite', () => {
  it('303: invites an address after saying what it gets, and shows the new user in the list', async () => {
    const browser = await test.signedIn('support')
    expect((await browser.open('/users')).html).toContain('href="/users/invite" data-ask')
    expect((await browser.open('/users/invite')).text).toBe(
      'Invite a user A mail with a link to sign in goes to the address. The link confirms the address. Email Invite Cancel',
    )
    const page = await browser.submit('/users/invite', { email: 'invited@example.com' })
    expect([page.firstStatus, page.path, page.html.includes('<span>invited@example.com is invited</span>')]).toEqual([
      303,
      '/users',
      true,
    ])
    expect(page.text).toContain('invited@example.com Not confirmed')
  })

  it('422: shows the refusal of auth for a malformed address, with what was typed', async () => {
    const browser = await test.signedIn('support')
    await browser.open('/users/invite')
    const { status, text, html } = await browser.submit('/users/invite', { email: 'no address' })
    expect([status, text, html.includes('value="no address"')]).toEqual([
      422,
      'Invite a user A mail with a link to sign in goes to the address. The link confirms the address. Unable to validate email address: invalid format Email Invite Cancel',
      true,
    ])
  })

  it('403: shows no form to the role viewer', async () => {
    const page = await (await test.signedIn('viewer')).open('/users/invite')
    expect([page.status, page.text]).toEqual([
      403,
      '403 Not allowed Your role viewer may not do this; support and admin may. Go to the overview',
    ])
  })
})
