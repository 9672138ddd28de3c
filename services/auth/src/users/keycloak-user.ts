import { z } from 'zod'
import {
  Flag,
  FOR_EVER,
  type ForeignUser,
  fromMillis,
  Members,
  Millis,
  SECOND_FACTORS,
  Text,
  toIdentities,
  toObject,
  withoutMissing,
} from './foreign-user.ts'

const Json = z.string().transform(toObject)
const Credential = z.object({ type: z.string(), secretData: Json.optional(), credentialData: Json.optional() })
const Secret = z.object({ value: z.string(), salt: z.string() })
const Hashing = z.object({
  algorithm: z.string(),
  hashIterations: z.number(),
  additionalParameters: z.record(z.string(), z.array(z.string())).default({}),
})

/** A user in the export of a realm of Keycloak. */
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
    credentials: z.array(Credential).default([]),
    federatedIdentities: z.array(z.object({ identityProvider: z.string(), userId: z.string() })).default([]),
  })
  .transform((user): ForeignUser => {
    const accounts = user.federatedIdentities.map(({ identityProvider: provider, userId: id }) => ({ provider, id }))
    const password = user.credentials.find(({ type }) => type === 'password')
    const own = user.email ? [{ provider: 'email', id: user.id, data: { email: user.email } }] : []
    const { identities, left } = toIdentities('keycloak', [...own, ...accounts])
    const hash = password && toPhc(password)
    const others = user.credentials.filter(({ type }) => type !== 'password')
    return {
      line: withoutMissing({
        id: user.id,
        email: user.email,
        email_confirm: user.emailVerified ?? false,
        password_hash: hash,
        user_metadata: withoutMissing({
          full_name: [user.firstName, user.lastName].filter(Boolean).join(' ') || undefined,
          preferred_username: user.username,
        }),
        app_metadata: withoutMissing({
          roles: user.realmRoles.length > 0 ? user.realmRoles : undefined,
          attributes: user.attributes ?? undefined,
        }),
        identities: identities.length > 0 ? identities : undefined,
        banned_until: user.enabled ? undefined : FOR_EVER,
        created_at: fromMillis(user.createdTimestamp),
      }),
      left: [
        ...left,
        ...(password && hash === undefined ? ['the password: its hash has a form that is not known here'] : []),
        ...(others.length > 0 ? [SECOND_FACTORS] : []),
        ...(user.email ? [] : ['the sign-in by a user name: the user has no email']),
      ],
    }
  })

/** A password of Keycloak in PHC string form; undefined for an algorithm that is not known here. */
function toPhc({ secretData, credentialData }: z.output<typeof Credential>): string | undefined {
  const { data: secret } = Secret.safeParse(secretData)
  const { data: hashing } = Hashing.safeParse(credentialData)
  if (secret === undefined || hashing === undefined) return undefined
  const { algorithm, hashIterations, additionalParameters } = hashing
  const [salt, value] = [secret.salt, secret.value].map((text) => text.replace(/=+$/, ''))
  if (/^pbkdf2(-sha(256|512))?$/.test(algorithm)) return `$${algorithm}$i=${hashIterations}$${salt}$${value}`
  const [type, memory, lanes] = ['type', 'memory', 'parallelism'].map((name) => additionalParameters[name]?.[0])
  if (algorithm !== 'argon2' || (type !== 'id' && type !== 'i')) return undefined
  return `$argon2${type}$v=19$m=${memory},t=${hashIterations},p=${lanes}$${salt}$${value}`
}
