import { z } from 'zod'
import {
  Flag,
  FOR_EVER,
  type ForeignUser,
  fromMillis,
  isRedacted,
  Members,
  Millis,
  PASSWORD_LEFT,
  SECOND_FACTORS,
  Text,
  toIdentities,
  toObject,
  withoutMissing,
} from './foreign-user.ts'

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

/** The act that Keycloak asks of a user with a temporary password at the next sign-in. */
const NEW_PASSWORD = 'UPDATE_PASSWORD'
const FACTORS: readonly string[] = ['otp', 'webauthn', 'webauthn-passwordless', 'recovery-authn-codes']

/**
 * A user in the export of a realm of Keycloak. A password that the user has to replace at the next sign-in is left behind: the
 * admin who has set it knows it, and nothing here would end it.
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
          // Users may write attributes themselves, and applications trust `app_metadata`.
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

/** Why no hash was read. An export without secrets has asterisks in their place. */
function reasonOf({ secretText, secretData }: z.output<typeof Credential>): string {
  const { value } = secretData
  const isMasked = [secretText, value].some((text) => typeof text === 'string' && isRedacted(text))
  if (isMasked) return PASSWORD_LEFT.redacted
  return secretText ? PASSWORD_LEFT.unknown : PASSWORD_LEFT.missing
}

/** Lists what a user has that has no place here, in words for the operator. */
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

/** A password of Keycloak in PHC string form; undefined for an algorithm that is not known here. */
function toPhc({ secretData, credentialData }: z.output<typeof Credential>): string | undefined {
  const { data: secret } = Secret.safeParse(secretData)
  const { data: hashing } = Hashing.safeParse(credentialData)
  if (secret === undefined || hashing === undefined || isRedacted(secret.value)) return undefined
  const { algorithm, hashIterations, additionalParameters } = hashing
  const [salt, value] = [secret.salt, secret.value].map((text) => text.replace(/=+$/, ''))
  if (/^pbkdf2(-sha(256|512))?$/.test(algorithm)) return `$${algorithm}$i=${hashIterations}$${salt}$${value}`
  const [type, memory, lanes] = ['type', 'memory', 'parallelism'].map((name) => additionalParameters[name]?.[0])
  if (algorithm !== 'argon2' || (type !== 'id' && type !== 'i')) return undefined
  return `$argon2${type}$v=19$m=${memory},t=${hashIterations},p=${lanes}$${salt}$${value}`
}
