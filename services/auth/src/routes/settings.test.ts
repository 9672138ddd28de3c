import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'

const { app, close } = await openTestApp()
afterAll(close)

const PROVIDERS =
  'apple azure bitbucket discord facebook figma github gitlab google keycloak linkedin notion slack snapchat spotify twitch twitter workos'.split(
    ' ',
  )
const DEFAULTS = {
  external: Object.fromEntries(PROVIDERS.map((name) => [name, false])),
  disable_signup: false,
  autoconfirm: false,
  mailer_autoconfirm: false,
  phone_autoconfirm: false,
  email_enabled: true,
  phone_enabled: false,
  anonymous_users_enabled: false,
  sms_provider: '',
  saml_enabled: false,
  passkeys_enabled: false,
}

it.each(['/settings', '/settings/'])('200: GET %s lists the settings that clients need', async (url) => {
  const answer = await app.inject(url)
  expect([answer.statusCode, answer.json()]).toEqual([200, DEFAULTS])
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
    {
      ...DEFAULTS,
      external: { ...DEFAULTS.external, github: true },
      disable_signup: true,
      autoconfirm: true,
      mailer_autoconfirm: true,
      email_enabled: false,
      anonymous_users_enabled: true,
      passkeys_enabled: true,
    },
  ])
})
