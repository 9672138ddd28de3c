/** One refresh token of a session, in the order of their counters. Times are milliseconds of the database's clock. */
export interface FamilyToken {
  readonly token: string
  readonly revoked: boolean
  /** When it was revoked, or made. */
  readonly updatedAt: number
}

/** All refresh tokens of a session, oldest first. */
export type TokenFamily = readonly FamilyToken[]

/** The settings by which a spent refresh token is judged. */
export interface RotationRules {
  /** SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: whether reuse revokes the family. */
  readonly revokeFamily: boolean
  /** SECURITY_REFRESH_TOKEN_REUSE_INTERVAL. */
  readonly reuseMs: number
}

/** The outcome of a refresh in the model, and the tokens of the session after it. */
export interface Rotation {
  /** `rotated`: a child was made. `reused`: the child that is there is given again. */
  readonly verdict: 'token-not-found' | 'rotated' | 'reused' | 'stolen'
  readonly family: TokenFamily
}

/** The model of rotation (reference: Refresh tokens). A property test compares it with `refresh_session`. */
export function rotate(
  family: TokenFamily,
  { token, child, now }: { readonly token: string; readonly child: string; readonly now: number },
  { revokeFamily, reuseMs }: RotationRules,
): Rotation {
  const index = family.findIndex((known) => known.token === token)
  const used = family[index]
  if (used === undefined) return { verdict: 'token-not-found', family }
  if (!used.revoked) {
    const parent = { ...used, revoked: true, updatedAt: now }
    return {
      verdict: 'rotated',
      family: [...family.with(index, parent), { token: child, revoked: false, updatedAt: now }],
    }
  }
  const newest = family.at(-1)
  if (newest !== undefined && !newest.revoked && index === family.length - 2 && now <= used.updatedAt + reuseMs) {
    return { verdict: 'reused', family: family.with(-1, { ...newest, token: child }) }
  }
  return { verdict: 'stolen', family: revokeFamily ? family.map((known) => revoke(known, now)) : family }
}

function revoke(token: FamilyToken, now: number): FamilyToken {
  return token.revoked ? token : { ...token, revoked: true, updatedAt: now }
}
