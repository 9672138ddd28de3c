import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { commaList, integer, secret, text } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { z } from 'zod'
import { importSigningKey, PrivateJwk, SIGNING_ALGORITHMS } from '../access-tokens/signing-key.ts'
import { compatibilityOf } from './compatibility.ts'
import type { ProfileValues } from './rules.ts'

export const jwtSettings = group('Tokens', {
  JWT_SECRET: secret().describe(
    'Key of tokens that are signed with HS256: at least 32 random bytes, as text. Other keys are derived from it where they are not set.',
  ),
  JWT_EXP: integer(1, undefined, 'seconds').prefault('3600').describe('How long an access token lives.'),
  JWT_AUD: text()
    .prefault('authenticated')
    .describe('Audience of new users. Default: authenticated; none where a name begins with `GOTRUE_`.'),
  JWT_ALLOWED_AUDIENCES: commaList()
    .default([])
    .describe('Further audiences that anybody may ask for by `X-JWT-AUD`. All others are for admins only.'),
  JWT_ADMIN_ROLES: commaList()
    .prefault('service_role,supabase_admin')
    .describe('Roles that make an admin. The first one is the role of the service itself.'),
  JWT_DEFAULT_GROUP_NAME: text()
    .optional()
    .describe(
      'Role of new users. Default: authenticated. The name is deprecated, because tokens have no groups; a warning says so.',
    ),
  JWT_ISSUER: text()
    .optional()
    .describe(
      "Issuer of tokens. Default: `AUTH_API_EXTERNAL_URL`; in the profile supabase none. A user's token of another issuer is refused, unless the hook CUSTOM_ACCESS_TOKEN is on.",
    ),
  JWT_KEY_ID: text().optional().describe('Key id of tokens that `AUTH_JWT_SECRET` signs.'),
  JWT_KEYS: privateKeys()
    .default([])
    .describe('Signing keys for a database that has none, each with a `kid`; exactly one has `sign` in its `key_ops`.'),
  JWT_VALID_METHODS: algorithmList()
    .optional()
    .describe('Algorithms of tokens that are accepted. Default: those of the keys, and HS256.'),
})

/** The default with settings of supabase/auth, which gives users the empty audience unless a setting names one. */
export const upstreamAudience = { JWT_AUD: jwtSettings.JWT_AUD.prefault('') } as const

type JwtValues = SettingValues<typeof jwtSettings>

const SECRET_BYTES_MIN = 32
const DEFAULT_ROLE = 'authenticated'

export interface JwtConfig {
  readonly secret: string
  readonly lifetimeSeconds: number
  /** The audience of new users. */
  readonly audience: string
  /** The audiences that any client may request in X-JWT-AUD, including JWT_AUD. */
  readonly allowedAudiences: Set<string>
  /** The values of the claim `role` of admins. The first is the role of services. */
  readonly adminRoles: readonly string[]
  /** The role of new users. */
  readonly defaultRole: string
  /** `undefined` if tokens carry no `iss` claim and tokens of any issuer are accepted. */
  readonly issuer: string | undefined
  /** The `kid` of tokens that JWT_SECRET signs. */
  readonly secretKeyId: string | undefined
  /** Keys to insert into the table of signing keys if the table lacks them. */
  readonly seedKeys: readonly PrivateJwk[]
  /** The accepted algorithms. If `undefined`, the algorithms of the keys, and HS256. */
  readonly validMethods: readonly string[] | undefined
}

export function toJwtConfig(values: JwtValues & ProfileValues & { readonly API_EXTERNAL_URL: string }): JwtConfig {
  const { useExternalUrlAsIssuer } = compatibilityOf(values.PROFILE)
  return {
    secret: values.JWT_SECRET,
    lifetimeSeconds: values.JWT_EXP,
    audience: values.JWT_AUD,
    allowedAudiences: new Set([values.JWT_AUD, ...values.JWT_ALLOWED_AUDIENCES]),
    adminRoles: values.JWT_ADMIN_ROLES,
    defaultRole: values.JWT_DEFAULT_GROUP_NAME ?? DEFAULT_ROLE,
    issuer: values.JWT_ISSUER ?? (useExternalUrlAsIssuer ? values.API_EXTERNAL_URL : undefined),
    secretKeyId: values.JWT_KEY_ID,
    seedKeys: values.JWT_KEYS,
    validMethods: values.JWT_VALID_METHODS,
  }
}

/** Warns about a default role that is an admin role, a deprecated name, and a JWT_SECRET that can be guessed. */
export function jwtWarnings(values: JwtValues): string[] {
  const isShort = Buffer.byteLength(values.JWT_SECRET) < SECRET_BYTES_MIN
  const badRole = roleProblem(values)
  return [
    ...(badRole === undefined ? [] : [badRole]),
    ...(values.JWT_DEFAULT_GROUP_NAME === undefined
      ? []
      : ['AUTH_JWT_DEFAULT_GROUP_NAME is a deprecated name: it sets the role of new users, tokens have no groups']),
    ...(isShort
      ? [`AUTH_JWT_SECRET is shorter than ${SECRET_BYTES_MIN} bytes: tokens that it signs can be forged by guessing it`]
      : []),
  ]
}

/** A warning that every new user is an admin. `undefined` if the default role is not an admin role. */
export function roleProblem({
  JWT_ADMIN_ROLES: admins,
  JWT_DEFAULT_GROUP_NAME: role = DEFAULT_ROLE,
}: Pick<JwtValues, 'JWT_ADMIN_ROLES' | 'JWT_DEFAULT_GROUP_NAME'>): string | undefined {
  return admins.includes(role)
    ? `AUTH_JWT_ADMIN_ROLES has ${role}, the role of new users: anyone who signs up is an admin`
    : undefined
}

/** JWT_KEY_ID is the kid of JWT_SECRET, so no key of JWT_KEYS may have the same kid. */
export const jwtRules: readonly Rule<JwtValues>[] = [
  (values) =>
    values.JWT_KEYS.some(({ kid }) => kid === values.JWT_KEY_ID)
      ? 'AUTH_JWT_KEY_ID must not be the kid of a key in AUTH_JWT_KEYS'
      : undefined,
]

/** A JSON array of private JWKs with different kids. One of them has `sign` in its `key_ops`. */
function privateKeys(): z.ZodType<readonly PrivateJwk[], string> {
  return z
    .string()
    .meta({ secret: true, form: 'JSON array of private JWKs' })
    .transform((value, context) => {
      const keys = parseKeys(value)
      // Compose files set an empty list if there are no keys.
      if (keys?.length === 0) return []
      const problem = keys === undefined ? 'must be a JSON array of private JWKs with a kid each' : keysProblem(keys)
      if (keys !== undefined && problem === undefined) return keys
      context.addIssue({ code: 'custom', message: problem ?? 'is not valid' })
      return z.NEVER
    })
}

function algorithmList(): z.ZodType<readonly string[], string> {
  return commaList()
    .refine((list) => list.every((alg) => SIGNING_ALGORITHMS.some((known) => known === alg)), {
      error: `must be a list of ${SIGNING_ALGORITHMS.join(', ')}`,
    })
    .meta({ form: `list of ${SIGNING_ALGORITHMS.join(', ')}` })
}

function parseKeys(value: string): PrivateJwk[] | undefined {
  try {
    return z.array(PrivateJwk).parse(JSON.parse(value))
  } catch {
    return undefined
  }
}

function keysProblem(keys: readonly PrivateJwk[]): string | undefined {
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) return 'must give each key a kid of its own'
  if (keys.filter(isSigner).length !== 1) return 'must have exactly one key whose key_ops contain sign'
  const broken = keys.find((key) => !isImportable(key))
  return broken && `has a key that cannot be used: ${JSON.stringify(broken.kid)}`
}

export function isSigner({ key_ops }: PrivateJwk): boolean {
  return key_ops?.includes('sign') ?? false
}

function isImportable(key: PrivateJwk): boolean {
  try {
    importSigningKey(key)
    return true
  } catch {
    return false
  }
}
