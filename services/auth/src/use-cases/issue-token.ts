import type { Pools } from '@trestle/database/pools.ts'
import { signAccessToken } from '../access-tokens/access-token.ts'
import { type KeyRing, requireValidMethod } from '../access-tokens/key-ring.ts'
import { secretSigningKey } from '../access-tokens/signing-key.ts'
import type { JwtConfig } from '../config/jwt.ts'
import type { AuthConfig } from '../config.ts'
import { getManagedProfile } from '../users/profile-repository.ts'
import { emailClaims, requireUser, shownAppMetadata } from '../users/user.ts'

type IssueTokenDeps = {
  readonly config: AuthConfig
  readonly pools: Pools
  readonly now: () => Date
  readonly signingKeys: KeyRing
}

/** A token without a session. */
export interface IssuedToken {
  readonly accessToken: string
  /** Seconds since 1970. */
  readonly expiresAtSeconds: number
}

/**
 * Signs an access token for an operator. It has no session, cannot be refreshed or revoked, and changes nothing in the database.
 * The hook CUSTOM_ACCESS_TOKEN is not called. The token of a user is signed like the tokens of sessions. The token of a role may
 * live for years. It is signed with JWT_SECRET, so that it stays valid when signing keys are rotated.
 */
export async function issueToken(
  deps: IssueTokenDeps,
  {
    subject,
    lifetimeSeconds,
  }: {
    /** Only a role, such as `service_role`, or a user with the user's own role. */
    readonly subject: { readonly role: string } | { readonly userId: string }
    readonly lifetimeSeconds: number
  },
): Promise<IssuedToken> {
  const { jwt } = deps.config
  const issuedAtSeconds = Math.floor(deps.now().getTime() / 1_000)
  const expiresAtSeconds = issuedAtSeconds + lifetimeSeconds
  const times = { iat: issuedAtSeconds, exp: expiresAtSeconds }
  if ('role' in subject) {
    const accessToken = signWithSecret(jwt, { iss: jwt.issuer, role: subject.role, ...times })
    return { accessToken, expiresAtSeconds }
  }
  const claims = await describeUser(deps, subject.userId)
  return { accessToken: deps.signingKeys.sign({ iss: jwt.issuer, ...claims, ...times }), expiresAtSeconds }
}

function signWithSecret(jwt: JwtConfig, claims: object): string {
  const key = secretSigningKey(jwt.secret, jwt.secretKeyId)
  requireValidMethod(jwt, key.alg)
  return signAccessToken(key, claims)
}

/** Returns the claims of a user, like those of a session's token. */
async function describeUser({ pools }: Pick<IssueTokenDeps, 'pools'>, userId: string): Promise<object> {
  const { user } = await getManagedProfile(pools, { userId, audience: undefined })
  requireUser(user.deletedAt === null ? user : undefined)
  return {
    sub: user.id,
    aud: user.audience,
    ...emailClaims(user),
    phone: user.phone ?? '',
    app_metadata: shownAppMetadata(user),
    user_metadata: user.userMetadata,
    role: user.role,
    aal: 'aal1',
    amr: [],
    is_anonymous: user.isAnonymous,
  }
}
