import { z } from 'zod'
import { IMPORT_TEXTS } from '../field-errors.ts'
import { parseStoredHash } from '../passwords/stored-hash.ts'
import {
  Flag,
  FOR_EVER,
  type ForeignSource,
  type ForeignUser,
  fromMillis,
  isRedacted,
  Members,
  Millis,
  PASSWORD_LEFT,
  SECOND_FACTORS,
  Text,
  toForeignId,
  toIdentities,
  toObject,
  withoutMissing,
} from './foreign-user.ts'
import { ClerkUser, CognitoUser } from './hosted-users.ts'
import { KeycloakUser } from './keycloak-user.ts'

/** Turns a user of an export into a line of an import. @throws Error where a member has another type than documented */
export function toForeignUser(source: ForeignSource, user: unknown): ForeignUser {
  const { data, error } = READERS[source].safeParse(user)
  if (data === undefined) throw new Error(`${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`)
  return data
}

/** The sign-ins by email or phone there. */
const FIREBASE_OWN: ReadonlyMap<string, string> = new Map([
  ['password', 'email'],
  ['emailLink', 'email'],
  ['phone', 'phone'],
])
const AUTH0_OWN: ReadonlyMap<string, string> = new Map([
  ['auth0', 'email'],
  ['email', 'email'],
  ['sms', 'phone'],
])

const Firebase = z
  .object({
    localId: z.string(),
    email: Text,
    emailVerified: Flag,
    passwordHash: Text,
    salt: Text,
    displayName: Text,
    photoUrl: Text,
    phoneNumber: Text,
    disabled: Flag,
    createdAt: Millis,
    lastSignedInAt: Millis,
    customAttributes: Text,
    providerUserInfo: z
      .array(z.object({ providerId: z.string(), rawId: Text, email: Text, displayName: Text, photoUrl: Text }))
      .default([]),
    mfaInfo: z.array(z.unknown()).default([]),
  })
  .transform((user): ForeignUser => {
    const accounts = user.providerUserInfo.map(({ providerId, rawId, email, displayName }) => ({
      provider: FIREBASE_OWN.get(providerId) ?? providerId,
      id: rawId,
      data: withoutMissing({ email, full_name: displayName }),
    }))
    const { identities, left } = toIdentities('firebase', accounts)
    const hasPassword = user.providerUserInfo.some(({ providerId }) => providerId === 'password')
    const passwordLeft = findPasswordLeft(user.passwordHash, {
      hasPassword,
      unfit: user.salt ? [] : [PASSWORD_LEFT.saltless],
    })
    return {
      line: withoutMissing({
        id: toForeignId('firebase', user.localId),
        email: user.email,
        email_confirm: user.emailVerified ?? false,
        phone: user.phoneNumber,
        phone_confirm: Boolean(user.phoneNumber),
        password_hash:
          passwordLeft.length > 0 || !user.passwordHash ? undefined : `$fbscrypt$${user.salt}$${user.passwordHash}`,
        user_metadata: withoutMissing({ full_name: user.displayName, avatar_url: user.photoUrl }),
        app_metadata: { ...toObject(user.customAttributes), firebase_uid: user.localId },
        identities: identities.length > 0 ? identities : undefined,
        banned_until: user.disabled ? FOR_EVER : undefined,
        created_at: fromMillis(user.createdAt),
        last_sign_in_at: fromMillis(user.lastSignedInAt),
      }),
      left: [...left, ...passwordLeft, ...(user.mfaInfo.length > 0 ? [SECOND_FACTORS] : [])],
    }
  })

/** Why a password stays behind. `unfit`: why a hash that the export has is of no use. */
function findPasswordLeft(
  hash: string | null | undefined,
  { hasPassword, unfit }: { readonly hasPassword: boolean; readonly unfit: readonly string[] },
): readonly string[] {
  if (!hash) return hasPassword ? [PASSWORD_LEFT.missing] : []
  return isRedacted(hash) ? [PASSWORD_LEFT.redacted] : unfit
}

/** A larger number has lost its last digits by the time it is read, and may be the id of somebody else. */
const AccountId = z.union([z.string(), z.number().refine(Number.isSafeInteger, { error: IMPORT_TEXTS.idTooLarge })])

/** A time, which exports of the database of Auth0 have in the Extended JSON of MongoDB. */
const AUTH0_TIME = z
  .union([
    z.string(),
    z
      .object({ $date: z.union([z.string(), z.number(), z.object({ $numberLong: z.string() })]) })
      .transform(fromMongoDate),
  ])
  .nullish()

function fromMongoDate({
  $date: date,
}: {
  readonly $date: string | number | { readonly $numberLong: string }
}): string {
  return new Date(typeof date === 'object' ? Number(date.$numberLong) : date).toISOString()
}

const Auth0 = z
  .object({
    user_id: Text,
    _id: z.union([z.string(), z.object({ $oid: z.string() }).transform(({ $oid }) => $oid)]).nullish(),
    email: Text,
    email_verified: Flag,
    phone_number: Text,
    phone_verified: Flag,
    passwordHash: Text,
    name: Text,
    picture: Text,
    user_metadata: Members,
    app_metadata: Members,
    blocked: Flag,
    created_at: AUTH0_TIME,
    updated_at: AUTH0_TIME,
    last_login: AUTH0_TIME,
    identities: z.array(z.object({ provider: z.string(), user_id: AccountId })).default([]),
    multifactor: z.array(z.unknown()).default([]),
  })
  .transform((user): ForeignUser => {
    const accounts = user.identities.map(({ provider, user_id }) => ({
      provider: AUTH0_OWN.get(provider) ?? provider,
      id: String(user_id),
    }))
    const { identities, left } = toIdentities('auth0', accounts)
    const hasPassword = user.identities.some(({ provider }) => provider === 'auth0')
    const isKnown = parseStoredHash(user.passwordHash ?? '') !== undefined
    const passwordLeft = findPasswordLeft(user.passwordHash, {
      hasPassword,
      unfit: isKnown ? [] : [PASSWORD_LEFT.unknown],
    })
    const id = user.user_id ?? (user._id ? `auth0|${user._id}` : undefined)
    return {
      line: withoutMissing({
        id: id && toForeignId('auth0', id),
        email: user.email,
        email_confirm: user.email_verified ?? false,
        phone: user.phone_number,
        phone_confirm: user.phone_verified ?? false,
        password_hash: passwordLeft.length > 0 ? undefined : user.passwordHash,
        user_metadata: withoutMissing({ full_name: user.name, avatar_url: user.picture, ...user.user_metadata }),
        app_metadata: withoutMissing({ ...user.app_metadata, auth0_id: id }),
        identities: identities.length > 0 ? identities : undefined,
        banned_until: user.blocked ? FOR_EVER : undefined,
        created_at: user.created_at,
        updated_at: user.updated_at,
        last_sign_in_at: user.last_login,
      }),
      left: [...left, ...passwordLeft, ...(user.multifactor.length > 0 ? [SECOND_FACTORS] : [])],
    }
  })

const READERS = {
  firebase: Firebase,
  auth0: Auth0,
  keycloak: KeycloakUser,
  clerk: ClerkUser,
  cognito: CognitoUser,
} as const
