import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import type { Updateable } from 'kysely'
import type { UsersTable } from '../../src/users/user.ts'
import { factorRow } from '../factor-row.ts'
import type { MailApp } from '../mail-app.ts'
import { createSignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, get, post } from './error-case.ts'
import { type SignedIn, signIn } from './session-errors.ts'
import { FEATURES, RULES, STRICT } from './settings.ts'

/** An error case with a signed-in user. */
function asOwner(
  makeRequest: (signedIn: SignedIn, service: MailApp) => InjectOptions | Promise<InjectOptions>,
  settings: Readonly<Record<string, string>> = {},
): ErrorCase {
  return {
    raise: async (world, send) => {
      const service = await world.service(settings)
      const signedIn = await signIn(service)
      const request = await makeRequest(signedIn, service)
      return send(service, { ...request, headers: signedIn.headers })
    },
  }
}

const change = (payload: object): InjectOptions => ({ method: 'PUT', url: '/user', payload })

/** Makes a session so old that it requires reauthentication. */
const makeOld = ({ deps }: MailApp, { sessionId }: SignedIn) =>
  deps.db
    .updateTable('sessions')
    .set({ created_at: new Date('2020-01-01') })
    .where('id', '=', sessionId)
    .execute()

/** A signed-in user with a row that has changed since the sign-in. */
const reauthenticate = (makeChanges: () => Updateable<UsersTable>): ErrorCase =>
  asOwner(async ({ user }, { deps }) => {
    await deps.db.updateTable('users').set(makeChanges()).where('id', '=', user.id).execute()
    return get('/reauthenticate')
  })

/** A user who unlinks the own identity and has an external account with the given email. */
const unlinkOwn = (makeEmail: (signedIn: SignedIn, service: MailApp) => Promise<string>): ErrorCase =>
  asOwner(async (signedIn, service) => {
    const { id: user_id } = signedIn.user
    const identity_data = { email: await makeEmail(signedIn, service) }
    const identities = service.deps.db.selectFrom('identities').select('id').where('user_id', '=', user_id)
    const { id } = await identities.executeTakeFirstOrThrow()
    const values = { user_id, provider: 'github', provider_id: user_id, identity_data }
    await service.deps.db.insertInto('identities').values(values).execute()
    return unlink(id)
  }, FEATURES)

const unlink = (id: string): InjectOptions => ({ method: 'DELETE', url: `/user/identities/${id}` })

let phones = 0
const newPhone = () => `1808555${1_000 + ++phones}`

export const accountErrors: ErrorCases = {
  appMetadataForAdmins: [asOwner(() => change({ app_metadata: { plan: 'pro' } }))],
  emailExists: [
    asOwner(async (_signedIn, { deps }) => {
      const { email } = await createSignedUp(deps)
      return change({ email })
    }),
  ],
  phoneExists: [
    asOwner(async (_signedIn, { deps }) => {
      const phone = newPhone()
      await createSignedUp(deps, { phone })
      return change({ phone })
    }),
  ],
  ssoUserManaged: [
    asOwner(async ({ user }, { deps }) => {
      await deps.db.updateTable('users').set({ is_sso_user: true }).where('id', '=', user.id).execute()
      return change({ password: 'another long password' })
    }),
  ],
  samePassword: [asOwner(({ password }) => change({ password }))],
  currentPasswordRequired: [asOwner(() => change({ password: 'another long password' }), STRICT)],
  currentPasswordInvalid: [
    asOwner(() => change({ password: 'another long password', current_password: 'a wrong one' }), STRICT),
  ],
  ssoIdentity: [
    asOwner(async ({ user, headers }, { deps }) => {
      await deps.db.updateTable('users').set({ is_sso_user: true }).where('id', '=', user.id).execute()
      return get('/user/identities/authorize?provider=github', headers)
    }, FEATURES),
  ],
  identitiesNeedSecondFactor: [
    asOwner(async ({ user }, { deps }) => {
      const factor = { user_id: user.id, factor_type: 'totp', status: 'verified' }
      await deps.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
      return unlink(randomUUID())
    }, STRICT),
  ],
  adminNeedsSecondFactor: [
    {
      raise: async (world, send) => {
        const service = await world.service()
        const { user, headers } = await signIn(service, { role: 'service_role' })
        const factor = { user_id: user.id, factor_type: 'totp', status: 'verified' }
        await service.deps.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
        return send(service, get('/admin/users', headers))
      },
    },
  ],
  reauthenticationNeeded: [
    asOwner(async (signedIn, service) => {
      await makeOld(service, signedIn)
      return change({ password: 'another password 1' })
    }, RULES),
  ],
  addressTooNew: [
    asOwner(async ({ user }, { deps, clock }) => {
      const change = { user_id: user.id, kind: 'email', changed_at: clock.now() }
      await deps.db.insertInto('address_changes').values(change).execute()
      return get('/reauthenticate')
    }, RULES),
  ],
  signInTooOld: [
    asOwner(async ({ sessionId }, { deps }) => {
      const old = { updated_at: new Date('2020-01-01') }
      await deps.db.updateTable('mfa_amr_claims').set(old).where('session_id', '=', sessionId).execute()
      return change({ phone: newPhone() })
    }, RULES),
  ],
  reauthenticationNotValid: [
    asOwner(async (signedIn, service) => {
      await makeOld(service, signedIn)
      return change({ password: 'another password 1', nonce: '000000' })
    }, RULES),
  ],
  anonymousPassword: [
    {
      raise: async (world, send) => {
        const service = await world.service()
        const { access_token } = (await service.app.inject(post('/signup', {}))).json()
        const headers = { authorization: `Bearer ${access_token}` }
        return send(service, { ...change({ password: 'a password' }), headers })
      },
    },
  ],
  singleIdentity: [asOwner(() => unlink(randomUUID()), FEATURES)],
  identityNotFound: [
    asOwner(async ({ user }, { deps }) => {
      const values = { user_id: user.id, provider: 'github', provider_id: user.id, identity_data: {} }
      await deps.db.insertInto('identities').values(values).execute()
      return unlink(randomUUID())
    }, FEATURES),
  ],
  emailConflict: [unlinkOwn(async (_signedIn, { deps }) => (await createSignedUp(deps)).email)],
  foreignAudience: [
    {
      raise: async (world, send) => {
        const service = await world.service(FEATURES)
        const { headers } = await signIn(service)
        return send(service, { ...unlink(randomUUID()), headers: { ...headers, 'x-jwt-aud': 'elsewhere' } })
      },
    },
  ],
  emailNotVerified: [reauthenticate(() => ({ email_confirmed_at: null }))],
  phoneNotVerified: [reauthenticate(() => ({ email: null, phone: newPhone() }))],
  secondFactorNeeded: [
    asOwner(async ({ user }, { deps }) => {
      const factor = { user_id: user.id, factor_type: 'totp', status: 'verified' }
      await deps.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
      return change({ password: 'another password' })
    }),
  ],
}
