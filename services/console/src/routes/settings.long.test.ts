import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { type RunningService, startService } from '../../test/services.ts'

let auth: RunningService
let test: TestConsole
beforeAll(async () => {
  auth = await startService('auth', { AUTH_EXTERNAL_GITHUB_ENABLED: 'true', ...GITHUB })
  test = await openTestConsole([auth])
})
afterAll(async () => {
  await test.close()
  await auth.stop()
})

const GITHUB = {
  AUTH_EXTERNAL_GITHUB_CLIENT_ID: 'the-client',
  AUTH_EXTERNAL_GITHUB_SECRET: 'never shown',
  AUTH_EXTERNAL_GITHUB_REDIRECT_URI: 'http://auth.test/callback',
}

describe('GET /settings', () => {
  it('200: shows providers that are on first, hooks and limits, and no secret', async () => {
    const { status, text, html } = await (await test.signedIn('viewer')).open('/settings')
    expect(status).toBe(200)
    expect(text).toMatch(
      /^Settings Providers, hooks, limits Signing keys These are the settings of auth\. .* Providers Name State Client id GitHub On the-client /,
    )
    expect(text).toMatch(/ Hooks Name State Host .* Messages Profile .* Mail server none: no mail is sent /)
    expect(text).toMatch(/ Limits Name At most token Off verify 30 in 5 minutes .* anonymous_users 30 in an hour /)
    expect(html).not.toContain('never shown')
  })
})
