import { beforeEach, describe, expect, it } from 'vitest'
import { errorBody, statusAndBody } from '../bodies.ts'
import { createSignedUp } from '../signed-up.ts'
import { type AdoptedApp, openAdoptedVersion } from './adopted-app.ts'

// In this profile, a repeated sign-up looks like a new one. On an adopted database, a code for a new address is a sign-up.
const SETTINGS = { AUTH_PROFILE: 'compatible', AUTH_MAILER_AUTOCONFIRM: 'false' }
let app: AdoptedApp
beforeEach(async () => {
  app = await openAdoptedVersion('v2.196.0', SETTINGS)
  await app.deps.jobs.open()
})

const ask = async (url: string, body: object) => statusAndBody(await app.post(url, body))

describe('a code that is asked for on an adopted database in the profile compatible', () => {
  it('429: comes too soon for a new address as for that of a user, so that nothing tells them apart', async () => {
    const text = 'For security purposes, you can only request this after 60 seconds.'
    for (const first of ['/otp', '/magiclink', '/recover']) {
      const { email } = await createSignedUp(app.deps)
      for (const address of [email, `nobody-${email}`]) {
        expect([first, await ask(first, { email: address })]).toEqual([first, [200, {}]])
        // A recovery has a separate interval.
        const second = first === '/recover' ? first : '/otp'
        expect([first, await ask(second, { email: address })]).toEqual([
          first,
          [429, errorBody(429, 'over_email_send_rate_limit', text)],
        ])
      }
    }
  })

  it('200: makes no user for an address that a provider has not verified, when no user may be made', async () => {
    const { user, email } = await createSignedUp(app.deps, { email_confirmed_at: null })
    await app.deps.db
      .updateTable('identities')
      .set({ provider: 'gitlab', identity_data: { email, email_verified: false } })
      .where('user_id', '=', user.id)
      .execute()
    expect(await ask('/otp', { email, create_user: false })).toEqual([200, {}])
    const ids = await app.deps.db.selectFrom('users').select('id').where('email', '=', email).execute()
    expect(ids).toEqual([{ id: user.id }])
  })
})
