import { z } from 'zod'
import { IMPORT_TEXTS } from '../field-errors.ts'
import { parseStoredHash } from '../passwords/stored-hash.ts'
import { parseId } from '../records/ids.ts'
import {
  Flag,
  FOR_EVER,
  type ForeignSource,
  type ForeignUser,
  fromMillis,
  isRedacted,
  KeycloakUser,
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

/** The values of a cell. Clerk separates them by a bar, and spreadsheets may use a comma. */
const Values = z
  .string()
  .default('')
  .transform((cell) => cell.split(/[|,;\s]+/).filter(Boolean))

/**
 * The addresses of a cell, or `undefined` if a part is not an address. A local part may contain a bar, and a quoted one any
 * separator. Part of one address could then be another person's whole address.
 */
const Emails = Values.transform((parts) => (parts.every((part) => /^[^"@]+@[^"@]+$/.test(part)) ? parts : undefined))

/** A row of the CSV file that Clerk's dashboard exports. */
const ClerkUser = z
  .object({
    id: z.string().min(1),
    first_name: Text,
    last_name: Text,
    username: Text,
    primary_email_address: Text,
    primary_phone_number: Text,
    verified_email_addresses: Emails,
    verified_phone_numbers: Values,
    totp_secret: Text,
    password_digest: Text,
    banned: Flag,
    locked: Flag,
  })
  .transform((user): ForeignUser => {
    const verified = user.verified_email_addresses
    const email = user.primary_email_address || verified?.[0]
    const phone = user.primary_phone_number || user.verified_phone_numbers[0]
    const hash = user.password_digest || undefined
    const isKnown = hash !== undefined && parseStoredHash(hash) !== undefined
    const passwordLeft = hash && isRedacted(hash) ? PASSWORD_LEFT.redacted : PASSWORD_LEFT.unknown
    return {
      line: withoutMissing({
        id: toForeignId('clerk', user.id),
        email,
        email_confirm: email !== undefined && verified?.includes(email) === true,
        phone,
        phone_confirm: phone !== undefined && user.verified_phone_numbers.includes(phone),
        password_hash: isKnown ? hash : undefined,
        user_metadata: withoutMissing({
          full_name: [user.first_name, user.last_name].filter(Boolean).join(' ') || undefined,
          preferred_username: user.username || undefined,
        }),
        app_metadata: { clerk_id: user.id },
        banned_until: user.banned || user.locked ? FOR_EVER : undefined,
      }),
      left: [
        ...(verified === undefined ? ['that emails are verified: the cell may be read in several ways'] : []),
        ...(hash && !isKnown ? [passwordLeft] : []),
        ...(user.totp_secret ? [SECOND_FACTORS] : []),
      ],
    }
  })

const Attributes = z
  .array(z.object({ Name: z.string(), Value: z.string().default('') }))
  .transform((attributes) => new Map(attributes.map(({ Name, Value }) => [Name, Value])))

const Account = z.object({ providerName: z.string(), userId: z.union([z.string(), z.int()]) })

/** A user of a Cognito pool in the format of `list-users`, which contains no password hashes. */
const CognitoUser = z
  .object({
    Username: z.string().min(1),
    Attributes,
    UserCreateDate: z.union([z.string(), z.number()]).nullish(),
    UserLastModifiedDate: z.union([z.string(), z.number()]).nullish(),
    Enabled: Flag,
    UserStatus: Text,
    MFAOptions: z.array(z.unknown()).nullish(),
    UserMFASettingList: z.array(z.unknown()).nullish(),
  })
  .transform((user): ForeignUser => {
    const { Username: name, Attributes: attributes } = user
    const sub = attributes.get('sub') ?? ''
    const email = attributes.get('email') || undefined
    const phone = attributes.get('phone_number') || undefined
    const entries = readEntries(attributes.get('identities')).map((entry) => Account.safeParse(entry).data)
    const accounts = entries.flatMap((entry) =>
      entry === undefined ? [] : [{ provider: entry.providerName, id: String(entry.userId) }],
    )
    const isForeign = user.UserStatus === 'EXTERNAL_PROVIDER'
    const own = isForeign ? [] : [...(email ? ['email'] : []), ...(phone ? ['phone'] : [])]
    const { identities, left } = toIdentities('cognito', [
      ...own.map((provider) => ({ provider, id: sub })),
      ...accounts,
    ])
    const custom = [...attributes]
      .filter(([key]) => key.startsWith('custom:'))
      .map(([key, value]) => [key.slice(7), value])
    const factors = [...(user.MFAOptions ?? []), ...(user.UserMFASettingList ?? [])]
    return {
      line: withoutMissing({
        id: parseId(sub) ?? toForeignId('cognito', sub || name),
        email,
        email_confirm: isTrue(attributes.get('email_verified')),
        phone,
        phone_confirm: isTrue(attributes.get('phone_number_verified')),
        user_metadata: withoutMissing({
          full_name: attributes.get('name') || nameOf(attributes),
          avatar_url: attributes.get('picture'),
          preferred_username: attributes.get('preferred_username'),
          ...Object.fromEntries(custom),
        }),
        app_metadata: { cognito_username: name },
        identities: identities.length > 0 ? identities : undefined,
        banned_until: user.Enabled === false || user.UserStatus === 'ARCHIVED' ? FOR_EVER : undefined,
        created_at: fromSeconds(user.UserCreateDate),
        updated_at: fromSeconds(user.UserLastModifiedDate),
      }),
      left: [
        ...left,
        ...(entries.length > accounts.length
          ? ['an account at a provider: the export does not name it in its form']
          : []),
        ...(isForeign ? [] : [PASSWORD_LEFT.missing]),
        ...(factors.length > 0 ? [SECOND_FACTORS] : []),
      ],
    }
  })

function isTrue(text: string | undefined): boolean {
  return text?.toLowerCase() === 'true'
}

function nameOf(attributes: ReadonlyMap<string, string>): string | undefined {
  return (
    ['given_name', 'family_name']
      .map((key) => attributes.get(key))
      .filter(Boolean)
      .join(' ') || undefined
  )
}

/** Returns the accounts in the attribute. A text that is not a JSON list is one entry that cannot be read. */
function readEntries(text: string | undefined): readonly unknown[] {
  try {
    return z.array(z.unknown()).parse(JSON.parse(text || '[]'))
  } catch {
    return [undefined]
  }
}

/** A time as text, or as seconds since 1970, which older Cognito clients write. */
function fromSeconds(time: string | number | null | undefined): string | undefined {
  return typeof time === 'number' ? new Date(time * 1_000).toISOString() : (time ?? undefined)
}

/** Converts an exported user to a line of an import. @throws Error if a member has an undocumented type */
export function toForeignUser(source: ForeignSource, user: unknown): ForeignUser {
  const { data, error } = READERS[source].safeParse(user)
  if (data === undefined) throw new Error(`${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`)
  return data
}

/** Firebase's sign-in methods for email and phone. */
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

/** Why a password is not imported. `unfit` has the reasons why an existing hash is not usable. */
function findPasswordLeft(
  hash: string | null | undefined,
  { hasPassword, unfit }: { readonly hasPassword: boolean; readonly unfit: readonly string[] },
): readonly string[] {
  if (!hash) return hasPassword ? [PASSWORD_LEFT.missing] : []
  return isRedacted(hash) ? [PASSWORD_LEFT.redacted] : unfit
}

/** JavaScript would round a larger number, which could then be another user's id. */
const AccountId = z.union([z.string(), z.number().refine(Number.isSafeInteger, { error: IMPORT_TEXTS.idTooLarge })])

/** A time. Exports of Auth0's database use the Extended JSON of MongoDB. */
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
