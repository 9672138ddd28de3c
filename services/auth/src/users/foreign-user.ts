import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { IMPORT_TEXTS } from '../field-errors.ts'
import { toUuid } from '../records/ids.ts'
import { normaliseEmail, normalisePhone, readTypedPhone } from '../requests/fields.ts'

/** The other programs whose exports `users import` reads. */
export const FOREIGN_SOURCES = ['firebase', 'auth0', 'keycloak', 'clerk', 'cognito'] as const
export type ForeignSource = (typeof FOREIGN_SOURCES)[number]

/** Another program's user as a line of an import, with the values that the line omits. */
export interface ForeignUser {
  readonly line: Readonly<Record<string, unknown>>
  /** Notes for the operator about omitted members. They contain no values of the user. */
  readonly left: readonly string[]
}

/** The end of a permanent ban. */
export const FOR_EVER = '9999-12-31T00:00:00Z'
/** The note about users whose second factors are not imported. */
export const SECOND_FACTORS = 'second factors: the user has to enrol them again'

/** The notes about passwords that are not imported. */
export const PASSWORD_LEFT = {
  redacted: 'the password: the export has its hash redacted',
  missing: 'the password: the export has no hash of it',
  saltless: 'the password: its hash has no salt',
  unknown: 'the password: its hash has a form that is not known here',
  temporary: 'the password: it is temporary, and the user has to set a new one',
  elsewhere: 'the password: a directory beside Keycloak has it',
} as const

const PASSWORD_NOTES: ReadonlySet<string> = new Set(Object.values(PASSWORD_LEFT))

/** Whether a note is about a password that was not imported. */
export function isPasswordLeft(note: string): boolean {
  return PASSWORD_NOTES.has(note)
}

/** Whether the exporting program has replaced a hash by a mask such as asterisks, possibly in base64. */
export function isRedacted(hash: string): boolean {
  return [hash, Buffer.from(hash, 'base64').toString()].some((text) => REDACTED.test(text))
}

const REDACTED = /^(?:[*•x]{3,}|\W*(?:redacted|masked|hidden|removed)\W*)$/iu

/** The names of providers in this service, by their names in the export. Other providers have different user ids. */
const PROVIDERS: Readonly<Record<ForeignSource, ReadonlyMap<string, string>>> = {
  firebase: toMap({
    'google.com': 'google',
    'facebook.com': 'facebook',
    'github.com': 'github',
    'twitter.com': 'twitter',
    'apple.com': 'apple',
  }),
  auth0: toMap({
    'google-oauth2': 'google',
    facebook: 'facebook',
    github: 'github',
    twitter: 'twitter',
    apple: 'apple',
    bitbucket: 'bitbucket',
  }),
  keycloak: toMap({
    google: 'google',
    facebook: 'facebook',
    github: 'github',
    gitlab: 'gitlab',
    twitter: 'twitter',
    bitbucket: 'bitbucket',
  }),
  clerk: new Map(),
  cognito: toMap({ Google: 'google', Facebook: 'facebook', SignInWithApple: 'apple' }),
}

/** Returns the names as a Map. An object's inherited members would count as names too. */
function toMap(pairs: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(pairs))
}

export const Text = z.string().nullish()
/** An optional flag. Some exports write it as text. */
export const Flag = z.union([z.boolean(), z.stringbool({ truthy: ['true', 't'], falsy: ['false', 'f', ''] })]).nullish()
/** A time in milliseconds, possibly as text. */
export const Millis = z.union([z.string(), z.number()]).nullish()
export const Members = z.record(z.string(), z.unknown()).nullish()

interface Account {
  readonly provider: string
  readonly id: string | null | undefined
  readonly data?: object
}

/** Converts provider accounts to identities. Also returns the names of accounts whose provider is unknown. */
export function toIdentities(
  source: ForeignSource,
  accounts: readonly Account[],
): { readonly identities: readonly object[]; readonly left: readonly string[] } {
  const known = PROVIDERS[source]
  const isOwn = ({ provider }: Account) => provider === 'email' || provider === 'phone'
  return {
    identities: accounts.flatMap(({ provider, id, data = {} }) => {
      const name = known.get(provider)
      if (isOwn({ provider, id })) return [{ provider, identity_data: data }]
      return name === undefined ? [] : [{ provider: name, provider_id: id, identity_data: data }]
    }),
    left: accounts
      .filter((account) => !isOwn(account) && !known.has(account.provider))
      .map(({ provider }) => `the account at ${provider}`),
  }
}

/** Omits members that are `undefined` or `null`. */
export function withoutMissing(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null))
}

/** Parses an object from a text. Empty if the text contains none. */
export function toObject(text: string | null | undefined): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text || '{}'))
  } catch {
    return {}
  }
}

export function fromMillis(millis: string | number | null | undefined): string | undefined {
  const ms = Number(millis ?? Number.NaN)
  return Number.isFinite(ms) ? new Date(ms).toISOString() : undefined
}

/**
 * Returns the id of another program's user in this service. It is always the same, so that a second run recognizes the user and
 * does not confuse users with the same email.
 */
export function toForeignId(source: ForeignSource, id: string): string {
  return toUuid(createHash('sha256').update(`${source}:${id}`).digest())
}

const ADDRESSES = [
  { member: 'email', confirm: 'email_confirm', reason: IMPORT_TEXTS.emailOfVerified },
  { member: 'phone', confirm: 'phone_confirm', reason: IMPORT_TEXTS.phoneOfVerified },
] as const

type Line = ForeignUser['line']

/** The verified addresses of an export's users, in the form of this service. */
export interface VerifiedAddresses {
  readonly email: Set<string>
  readonly phone: Set<string>
  /** Whether different forms of the same phone number count as equal. */
  readonly parsesPhones: boolean
}

export function noVerifiedAddresses({ parsePhones }: Pick<CompatibilityOptions, 'parsePhones'>): VerifiedAddresses {
  return { email: new Set(), phone: new Set(), parsesPhones: parsePhones }
}

export function addVerified(verified: VerifiedAddresses, line: Line): void {
  for (const { member, confirm } of ADDRESSES) {
    const address = addressOf(verified, line, member)
    if (address !== undefined && line[confirm] === true) verified[member].add(address)
  }
}

/**
 * Returns why an exported user must not get their address: another user of the export has verified it. A stranger may have signed
 * up with that address and a password, and would then be in the account before its owner.
 * @param verified the addresses of all users of the export
 * @returns `undefined` if no other user has verified an address of the user
 */
export function findContest(verified: VerifiedAddresses, line: Line): string | undefined {
  const contested = ADDRESSES.find(({ member, confirm }) => {
    const address = addressOf(verified, line, member)
    return address !== undefined && line[confirm] !== true && verified[member].has(address)
  })
  return contested?.reason
}

/** Returns an address of a line in the form for comparisons. */
function addressOf(
  { parsesPhones }: Pick<VerifiedAddresses, 'parsesPhones'>,
  line: Line,
  member: 'email' | 'phone',
): string | undefined {
  const value = line[member]
  if (typeof value !== 'string' || value === '') return undefined
  if (member === 'email') return normaliseEmail(value)
  if (!parsesPhones) return normalisePhone(value)
  const typed = readTypedPhone(value)
  return typed?.parsed ?? typed?.digits
}

const Json = z.string().transform(toObject)
const Credential = z
  .object({
    type: z.string(),
    temporary: Flag,
    secretData: z.string().optional(),
    credentialData: Json.optional(),
  })
  .transform((credential) => ({
    ...credential,
    secretText: credential.secretData,
    secretData: toObject(credential.secretData),
  }))
const Secret = z.object({ value: z.string(), salt: z.string() })
const Hashing = z.object({
  algorithm: z.string(),
  hashIterations: z.number(),
  additionalParameters: z.record(z.string(), z.array(z.string())).default({}),
})

/** The required action of a Keycloak user with a temporary password. */
const NEW_PASSWORD = 'UPDATE_PASSWORD'
const FACTORS: readonly string[] = ['otp', 'webauthn', 'webauthn-passwordless', 'recovery-authn-codes']

/**
 * A user in the export of a Keycloak realm. Omits a password that must be replaced at the next sign-in, because an admin knows it
 * and this service would not expire it.
 */
export const KeycloakUser = z
  .object({
    id: z.string(),
    username: Text,
    email: Text,
    emailVerified: Flag,
    firstName: Text,
    lastName: Text,
    enabled: z.boolean().default(true),
    createdTimestamp: Millis,
    attributes: Members,
    realmRoles: z.array(z.string()).default([]),
    clientRoles: Members,
    groups: z.array(z.string()).default([]),
    requiredActions: z.array(z.string()).default([]),
    federationLink: Text,
    serviceAccountClientId: Text,
    credentials: z.array(Credential).default([]),
    federatedIdentities: z.array(z.object({ identityProvider: z.string(), userId: z.string() })).default([]),
  })
  .transform((user): ForeignUser => {
    const accounts = user.federatedIdentities.map(({ identityProvider: provider, userId: id }) => ({ provider, id }))
    const password = user.credentials.find(({ type }) => type === 'password')
    const own = user.email ? [{ provider: 'email', id: user.id, data: { email: user.email } }] : []
    const { identities, left } = toIdentities('keycloak', [...own, ...accounts])
    const isTemporary = password?.temporary === true || user.requiredActions.includes(NEW_PASSWORD)
    const hash = password && !isTemporary ? toPhc(password) : undefined
    return {
      line: withoutMissing({
        id: user.id,
        email: user.email,
        email_confirm: user.emailVerified ?? false,
        password_hash: hash,
        user_metadata: withoutMissing({
          full_name: [user.firstName, user.lastName].filter(Boolean).join(' ') || undefined,
          preferred_username: user.username,
          // Users may write attributes themselves, but applications trust `app_metadata`.
          attributes: user.attributes ?? undefined,
        }),
        app_metadata: user.realmRoles.length > 0 ? { roles: user.realmRoles } : {},
        identities: identities.length > 0 ? identities : undefined,
        banned_until: user.enabled ? undefined : FOR_EVER,
        created_at: fromMillis(user.createdTimestamp),
      }),
      left: [
        ...left,
        ...(password && isTemporary ? [PASSWORD_LEFT.temporary] : []),
        ...(password && !isTemporary && hash === undefined ? [reasonOf(password)] : []),
        ...listLeft(user),
      ],
    }
  })

/** Why no hash was read. An export without secrets has asterisks instead. */
function reasonOf({ secretText, secretData }: z.output<typeof Credential>): string {
  const { value } = secretData
  const isMasked = [secretText, value].some((text) => typeof text === 'string' && isRedacted(text))
  if (isMasked) return PASSWORD_LEFT.redacted
  return secretText ? PASSWORD_LEFT.unknown : PASSWORD_LEFT.missing
}

/** Lists the values that cannot be imported, as notes for the operator. */
function listLeft(user: {
  readonly credentials: readonly z.output<typeof Credential>[]
  readonly requiredActions: readonly string[]
  readonly clientRoles?: object | null | undefined
  readonly groups: readonly string[]
  readonly federationLink?: string | null | undefined
  readonly serviceAccountClientId?: string | null | undefined
  readonly email?: string | null | undefined
}): readonly string[] {
  const types = new Set(user.credentials.map(({ type }) => type).filter((type) => type !== 'password'))
  const isFactor = (type: string) => FACTORS.includes(type)
  const found: readonly (readonly [boolean, string])[] = [
    [[...types].some(isFactor), SECOND_FACTORS],
    [user.federationLink !== undefined && user.federationLink !== null, PASSWORD_LEFT.elsewhere],
    [Object.keys(user.clientRoles ?? {}).length > 0, 'the roles of clients'],
    [user.groups.length > 0, 'the groups'],
    [Boolean(user.serviceAccountClientId), 'the sign-in of a client: the user is its service account'],
    [!user.email && !user.serviceAccountClientId, 'the sign-in by a user name: the user has no email'],
  ]
  return [
    ...found.flatMap(([isLeft, what]) => (isLeft ? [what] : [])),
    ...[...types].filter((type) => !isFactor(type)).map((type) => `the credential of the type ${type}`),
    ...[...new Set(user.requiredActions)].map((action) => `the required action ${action}`),
  ]
}

/** Returns a Keycloak password in PHC string form, or `undefined` if the algorithm is unknown. */
function toPhc({ secretData, credentialData }: z.output<typeof Credential>): string | undefined {
  const { data: secret } = Secret.safeParse(secretData)
  const { data: hashing } = Hashing.safeParse(credentialData)
  if (secret === undefined || hashing === undefined || isRedacted(secret.value)) return undefined
  const { algorithm, hashIterations, additionalParameters } = hashing
  const [salt, value] = [secret.salt, secret.value].map((text) => text.replace(/=+$/, ''))
  if (/^pbkdf2(-sha(256|512))?$/.test(algorithm)) return `$${algorithm}$i=${hashIterations}$${salt}$${value}`
  const [type, memory, pools] = ['type', 'memory', 'parallelism'].map((name) => additionalParameters[name]?.[0])
  if (algorithm !== 'argon2' || (type !== 'id' && type !== 'i')) return undefined
  return `$argon2${type}$v=19$m=${memory},t=${hashIterations},p=${pools}$${salt}$${value}`
}
