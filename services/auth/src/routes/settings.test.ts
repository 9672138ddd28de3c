import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { PROVIDERS_OFF, settingsBody } from '../../test/bodies.ts'

const { app, close } = await openTestApp()
afterAll(close)

it.each(['/settings', '/settings/'])('200: GET %s lists the settings that clients need', async (url) => {
  const answer = await app.inject(url)
  expect([answer.statusCode, answer.json()]).toEqual([200, settingsBody()])
})

it('200: GET /settings tells what is switched on', async () => {
  const open = await openTestApp({
    settings: {
      AUTH_DISABLE_SIGNUP: 'true',
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_EXTERNAL_EMAIL_ENABLED: 'false',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      AUTH_EXTERNAL_GITHUB_ENABLED: 'true',
      AUTH_EXTERNAL_GITHUB_CLIENT_ID: 'client',
      AUTH_EXTERNAL_GITHUB_SECRET: 'secret',
      AUTH_EXTERNAL_GITHUB_REDIRECT_URI: 'http://localhost:8081/callback',
      AUTH_PASSKEY_ENABLED: 'true',
      AUTH_WEBAUTHN_RP_ID: 'localhost',
      AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
      AUTH_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
    },
  })
  const answer = await open.app.inject('/settings')
  await open.close()
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    settingsBody({
      external: { ...PROVIDERS_OFF, github: true },
      disable_signup: true,
      autoconfirm: true,
      mailer_autoconfirm: true,
      email_enabled: false,
      anonymous_users_enabled: true,
      passkeys_enabled: true,
    }),
  ])
})
