import type { Behaviours } from '../config/behaviours.ts'

/** The part of the behaviours that bounds an access token. */
export type TokenRules = Pick<Behaviours, 'headBytesMax'>

/** Room for the request line and the other headers of a request. */
const OTHER_BYTES = 2_048
/** Room for the header and the signature of a token, whatever key signs. */
const FRAME_BYTES = 1_024

/** The claims of a token that fits in a header, and the members of `user_metadata` that it has no room for. */
export interface FittedClaims {
  readonly claims: object
  /** Names alone: the values are personal. */
  readonly leftOut: readonly string[]
}

/** The most bytes of claims, as JSON, with which a request can carry their token. */
function claimsBytesMax({ headBytesMax }: TokenRules): number {
  // base64url makes four characters of three bytes.
  return Math.floor(((headBytesMax - OTHER_BYTES - FRAME_BYTES) * 3) / 4)
}

/** Whether claims fit in a header, at least without their `user_metadata`. */
export function canFit(rules: TokenRules, claims: object): boolean {
  return jsonBytes({ ...claims, user_metadata: {} }) <= claimsBytesMax(rules)
}

/**
 * Returns the claims of a token that a request can carry. Members of `user_metadata` are left out while the claims are too
 * large, the longest first: with a token that no server reads, nobody could make their metadata smaller.
 */
export function fitClaims(rules: TokenRules, claims: object): FittedClaims {
  const metadata: unknown = Reflect.get(claims, 'user_metadata')
  let excessBytes = jsonBytes(claims) - claimsBytesMax(rules)
  if (excessBytes <= 0 || typeof metadata !== 'object' || metadata === null) return { claims, leftOut: [] }
  const leftOut: string[] = []
  for (const [name, bytes] of longestFirst(metadata)) {
    if (excessBytes <= 0) break
    leftOut.push(name)
    excessBytes -= bytes
  }
  const names = new Set(leftOut)
  const kept = Object.entries(metadata).filter(([name]) => !names.has(name))
  return { claims: { ...claims, user_metadata: Object.fromEntries(kept) }, leftOut }
}

/** The names of members with the bytes that each takes as JSON, without its comma. */
function longestFirst(members: object): readonly (readonly [name: string, bytes: number])[] {
  const sized = Object.entries(members).map(([name, value]) => [name, jsonBytes({ [name]: value }) - 2] as const)
  return sized.toSorted(([, a], [, b]) => b - a)
}

/** The size of a value as JSON, as a token has it. */
function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
