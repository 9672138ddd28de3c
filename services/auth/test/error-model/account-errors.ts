import type { Updateable } from 'kysely'
import type { UsersTable } from '../../src/database.ts'
import type { MailApp } from '../mail-app.ts'
import { createSignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, get, post, type Request } from './error-case.ts'
import { type SignedIn, signIn } from './session-errors.ts'

const REAUTHENTICATION = { AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true' }

/** What somebody who is signed in is told. */
function asOwner(
  makeRequest: (person: SignedIn, service: MailApp) => Request | Promise<Request>,
  settings: Readonly<Record<string, string>> = {},
): ErrorCase {
  return {
    raise: async (world, send) => {
      const service = await world.service(settings)
      const person = await signIn(service)
      const request = await makeRequest(person, service)
      return send(service, { ...request, headers: person.headers })
    },
  }
}

const change = (payload: object): Request => ({ method: 'PUT', url: '/user', payload })

/** A session of which nobody may be sure any more. */
const makeOld = ({ deps }: MailApp, { sessionId }: SignedIn) =>
  deps.db
    .updateTable('sessions')
    .set({ created_at: new Date('2020-01-01') })
    .where('id', '=', sessionId)
    .execute()

/** Somebody who is signed in, and whose row says otherwise than at the sign-in. */
const reauthenticate = (makeChanges: () => Updateable<UsersTable>): ErrorCase =>
  asOwner(async ({ user }, { deps }) => {
    await deps.db.updateTable('users').set(makeChanges()).where('id', '=', user.id).execute()
    return get('/reauthenticate')
  })

let phones = 0
const newPhone = () => `1808555${1_000 + ++phones}`

/** Errors of what people do with their own account. */
export const accountErrors: ErrorCases = {
  appMetadataForAdmins: [asOwner(() => change({ app_metadata: { plan: 'pro' } }))],
  phoneExists: [
    asOwner(async (_person, { deps }) => {
      const phone = newPhone()
      await createSignedUp(deps, { phone })
      return change({ phone })
    }),
  ],
  samePassword: [asOwner(({ password }) => change({ password }))],
  reauthenticationNeeded: [
    asOwner(async (person, service) => {
      await makeOld(service, person)
      return change({ password: 'another password' })
    }, REAUTHENTICATION),
  ],
  reauthenticationNotValid: [
    asOwner(async (person, service) => {
      await makeOld(service, person)
      return change({ password: 'another password', nonce: '000000' })
    }, REAUTHENTICATION),
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
  emailNotVerified: [reauthenticate(() => ({ email_confirmed_at: null }))],
  phoneNotVerified: [reauthenticate(() => ({ email: null, phone: newPhone() }))],
  secondFactorNeeded: [
    asOwner(async ({ user }, { deps }) => {
      const factor = { user_id: user.id, factor_type: 'totp', status: 'verified' }
      await deps.db.insertInto('mfa_factors').values(factor).execute()
      return change({ password: 'another password' })
    }),
  ],
}
