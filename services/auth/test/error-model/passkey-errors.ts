import { randomUUID } from 'node:crypto'
import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { factorRow } from '../factor-row.ts'
import type { MailApp } from '../mail-app.ts'
import { type ErrorCase, type ErrorCases, post } from './error-case.ts'
import { ask } from './factor-errors.ts'
import type { SignedIn } from './session-errors.ts'
import { FEATURES } from './settings.ts'

const START = '/passkeys/registration/options'
const FINISH = '/passkeys/registration/verify'
const settings = FEATURES

/** An error case of a user who finishes the registration of a new passkey. */
const finish = (
  prepare: (asked: Registration, service: MailApp, signedIn: SignedIn) => Promise<object> | object,
): ErrorCase =>
  ask(
    async (signedIn, service) => {
      const { challenge_id, options } = (await service.post(START, {}, signedIn.headers)).json()
      const asked = { challenge_id, credential: createAuthenticator().create(options) }
      return post(FINISH, await prepare(asked, service, signedIn), signedIn.headers)
    },
    { settings },
  )

interface Registration {
  readonly challenge_id: string
  readonly credential: ReturnType<ReturnType<typeof createAuthenticator>['create']>
}

/** An error case of a sign-in with a newly registered passkey. */
export const signInByPasskey = (
  prepare: (service: MailApp, signedIn: SignedIn) => Promise<unknown> = async () => {},
  settings = FEATURES,
): ErrorCase =>
  ask(
    async (signedIn, service) => {
      const key = createAuthenticator()
      const { challenge_id, options } = (await service.post(START, {}, signedIn.headers)).json()
      await service.post(FINISH, { challenge_id, credential: key.create(options) }, signedIn.headers)
      await prepare(service, signedIn)
      const asked = (await service.post('/passkeys/authentication/options', {})).json()
      const payload = { challenge_id: asked.challenge_id, credential: key.get(asked.options) }
      return post('/passkeys/authentication/verify', payload)
    },
    { settings },
  )

export const passkeyErrors: ErrorCases = {
  ssoPasskey: [
    ask(
      async ({ user, headers }, { deps }) => {
        await deps.db.updateTable('users').set({ is_sso_user: true }).where('id', '=', user.id).execute()
        return post(START, {}, headers)
      },
      { settings },
    ),
  ],
  passkeysNeedSecondFactor: [
    ask(
      async ({ user, headers }, { deps }) => {
        const factor = { user_id: user.id, factor_type: 'totp', status: 'verified' }
        await deps.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
        return post(START, {}, headers)
      },
      { settings },
    ),
  ],
  userBanned: [
    signInByPasskey(({ deps }, { user }) =>
      deps.db
        .updateTable('users')
        .set({ banned_until: new Date('2100-01-01') })
        .where('id', '=', user.id)
        .execute(),
    ),
  ],
  passkeyNotFound: [
    ask(({ headers }) => ({ method: 'DELETE', url: `/passkeys/${randomUUID()}`, headers }), { settings }),
  ],
  passkeyChallengeNotFound: [finish((asked) => ({ ...asked, challenge_id: randomUUID() }))],
  passkeyChallengeExpired: [
    finish(async (asked, { deps }) => {
      const query = deps.db.updateTable('webauthn_challenges').set({ expires_at: new Date(0) })
      await query.where('id', '=', asked.challenge_id).execute()
      return asked
    }),
  ],
  passkeyRefused: [
    finish((asked) => ({
      ...asked,
      credential: createAuthenticator('https://evil.test').create({ challenge: 'AAAA', rp: { id: 'app.example.com' } }),
    })),
  ],
  passkeyExists: [
    finish(async (asked, { deps }) => {
      const { id: user_id } = await deps.db
        .insertInto('users')
        .values({ id: randomUUID(), aud: 'authenticated', role: 'authenticated' })
        .returning('id')
        .executeTakeFirstOrThrow()
      const credential = { credential_id: asked.credential.id, public_key: '', sign_count: 0n, transports: '[]' }
      await deps.db
        .insertInto('webauthn_credentials')
        .values({ user_id, friendly_name: 'x', ...credential })
        .execute()
      return asked
    }),
  ],
  tooManyPasskeys: [
    ask(
      async ({ user, headers }, { deps }) => {
        const credential = { credential_id: randomUUID(), public_key: '', sign_count: 0n, transports: '[]' }
        const values = { user_id: user.id, friendly_name: 'x', ...credential }
        await deps.db.insertInto('webauthn_credentials').values(values).execute()
        return post(START, {}, headers)
      },
      { settings },
    ),
    finish(async (asked, { deps }, { user }) => {
      const credential = { credential_id: randomUUID(), public_key: '', sign_count: 0n, transports: '[]' }
      const values = { user_id: user.id, friendly_name: 'x', ...credential }
      await deps.db.insertInto('webauthn_credentials').values(values).execute()
      return asked
    }),
  ],
}
