import { expect } from 'vitest'
import { emailIdentity, identityBody, sessionBody, userBody } from '../bodies.ts'
import type { OldUser } from './restored-database.ts'

type Members = Readonly<Record<string, unknown>>

/** Any time in the format of supabase/auth. */
export const anyOldTime: string = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)

const OWN_METADATA = { name: 'Plain Person', locale: 'da' }
const APP_METADATA = { org: 7, plan: 'pro', provider: 'email' }

/** The members of `plain` in a database of 2.43, which stores no identity for an email. */
export const PLAIN_OF_2_43: Members = {
  app_metadata: { ...APP_METADATA, providers: ['email'] },
  user_metadata: OWN_METADATA,
  identities: [],
}

/**
 * The record of `plain`, who has a password and a Keycloak account.
 * @param members the differences from a database of 2.196
 */
export function plainBody(user: OldUser | undefined, members: Members = {}): Members {
  const { id, email = '' } = user ?? {}
  const sub = email.replace(/^plain\.(\w+)@.*$/, 'kc-plain-$1')
  const account = {
    iss: 'http://127.0.0.1:9781/realms/fixture',
    ...{ sub, email, provider_id: sub, custom_claims: {}, email_verified: true, phone_verified: false },
  }
  const times = { created_at: anyOldTime, updated_at: anyOldTime, last_sign_in_at: anyOldTime }
  return userBody({
    id,
    email,
    ...times,
    email_confirmed_at: anyOldTime,
    confirmed_at: anyOldTime,
    app_metadata: { ...APP_METADATA, providers: ['email', 'keycloak'] },
    user_metadata: { ...account, ...OWN_METADATA },
    identities: [
      { ...emailIdentity(id, email), ...times },
      identityBody({ id: sub, user_id: id, identity_data: account, provider: 'keycloak', email, ...times }),
    ],
    ...members,
  })
}

/** The session of `plain` after a refresh or a code exchange. */
export function plainSession(user: OldUser | undefined, members: Members = {}): Members {
  return sessionBody(plainBody(user, members))
}

/** The session of `plain` after a sign-in by password, with an additional member. */
export function plainSignIn(user: OldUser | undefined, members: Members = {}): Members {
  return sessionBody(plainBody(user, members), { weak_password: null })
}
