import { describe, expect, it } from 'vitest'
import { checkAdoption } from '../../src/adoption/use-cases/check-adoption.ts'
import { loadAuthConfig } from '../../src/config.ts'
import { toEncryptionKeys } from '../../src/deps.ts'
import { emailIdentity, sessionBody, statusAndBody, userBody } from '../bodies.ts'
import { adopt, openAdopted, type Restored, restore } from './adopted-app.ts'
import { anyOldTime, plainBody, plainSession, plainSignIn } from './plain-user.ts'
import { lostSessions, runSql, settingsFor } from './restored-database.ts'

/** Runs `adopt --check` with additional settings. */
async function checkWith(
  { database, deps }: Restored,
  settings: Readonly<Record<string, string>>,
): Promise<Awaited<ReturnType<typeof checkAdoption>>> {
  const config = loadAuthConfig({ ...settingsFor(database), AUTH_DB_PREPARED: 'true', ...settings })
  return checkAdoption({ config, encryptionKeys: toEncryptionKeys(config), now: deps.now }, { force: false })
}

/** A database of an old server without GOTRUE_JWT_AUD. Its users have the empty audience. */
async function restoreWithoutAudience(): Promise<Restored> {
  const restored = await restore('v2.196.0')
  await runSql(restored.database.superuserUrl, "UPDATE auth.users SET aud = ''")
  return restored
}

describe('users of an old server without GOTRUE_JWT_AUD', () => {
  it('sign in, refresh, read themselves and sign up as before, by the same environment', async () => {
    const restored = await restoreWithoutAudience()
    await adopt(restored)
    const app = await openAdopted(restored, { GOTRUE_SITE_URL: 'http://localhost:3000' })
    const plain = app.user('plain')
    const { email, password, sessions } = plain ?? {}
    const signedIn = await app.post('/token?grant_type=password', { email, password })
    expect(statusAndBody(signedIn)).toEqual([200, plainSignIn(plain, { aud: '' })])
    const [session] = sessions ?? []
    const refreshed = await app.post('/token?grant_type=refresh_token', { refresh_token: session?.refresh_token })
    expect(statusAndBody(refreshed)).toEqual([200, plainSession(plain, { aud: '' })])
    const headers = { authorization: `Bearer ${refreshed.json().access_token}` }
    const own = await app.app.inject({ url: '/user', headers })
    expect(statusAndBody(own)).toEqual([200, plainBody(plain, { aud: '' })])
    const changed = await app.app.inject({ method: 'PUT', url: '/user', headers, payload: { data: { n: 1 } } })
    expect(statusAndBody(changed)).toEqual([
      200,
      plainBody(plain, { aud: '', user_metadata: { ...own.json().user_metadata, n: 1 } }),
    ])
    const made = await app.post('/signup', { email: 'new@example.com', password: 'correct horse battery' })
    const times = { created_at: anyOldTime, updated_at: anyOldTime, last_sign_in_at: anyOldTime }
    const { id, email: newEmail } = made.json().user
    const record = userBody({
      ...{ id, aud: '', email: 'new@example.com', email_confirmed_at: anyOldTime, confirmed_at: anyOldTime, ...times },
      user_metadata: { sub: id, email: newEmail, email_verified: true, phone_verified: false },
      identities: [{ ...emailIdentity(id, newEmail, { email_verified: true }), ...times }],
    })
    expect(statusAndBody(made)).toEqual([200, sessionBody(record)])
  })

  it('are named by adopt --check where the settings give the service an audience', async () => {
    const restored = await restoreWithoutAudience()
    const { database } = restored
    const lossesWith = async (settings: Readonly<Record<string, string>>) =>
      (await checkWith(restored, settings)).losses
    const clients = lostSessions(database, 'they go on only after adopt --undo')
    const sso = { what: 'users who sign in only by sso, which this service does not serve', count: 2 }
    expect(await lossesWith({ GOTRUE_SITE_URL: 'http://localhost:3000' })).toEqual([sso, ...clients])
    const what =
      'users whose audience is empty, while the service has authenticated: keep the names GOTRUE_… and leave GOTRUE_JWT_AUD unset'
    expect(await lossesWith({})).toEqual([{ what, count: database.manifest.rows.users }, sso, ...clients])
  })
})

describe('an audience of the settings that no user has', () => {
  it('is named by adopt --check, with the audience that users have', async () => {
    const restored = await restore('v2.196.0')
    // A user without an audience, as SQL of an application can insert.
    const count = (restored.database.manifest.rows.users ?? 0) - 1
    const advice = `in which the service looks for who signs in by an address: ${count} users have authenticated. Set GOTRUE_JWT_AUD to it`
    const doubtsWith = async (settings: Readonly<Record<string, string>>) =>
      (await checkWith(restored, settings)).doubts
    expect(await doubtsWith({ GOTRUE_JWT_AUD: 'other' })).toEqual([`no user has the audience other, ${advice}`])
    expect(await doubtsWith({ GOTRUE_SITE_URL: 'http://localhost:3000' })).toEqual([
      `no user has the empty audience, ${advice}`,
    ])
    expect(await doubtsWith({ GOTRUE_JWT_AUD: 'authenticated' })).toEqual([])
    expect(await doubtsWith({ GOTRUE_JWT_AUD: 'other', AUTH_JWT_ALLOWED_AUDIENCES: 'authenticated' })).toEqual([])
  })

  it('is no more than a loss where all users have the empty audience', async () => {
    expect((await checkWith(await restoreWithoutAudience(), { GOTRUE_JWT_AUD: 'other' })).doubts).toEqual([])
  })
})
