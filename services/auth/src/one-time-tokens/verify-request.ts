import { linkWithoutPkce } from '../errors.ts'
import type { FlowKind } from '../flows/pkce.ts'
import {
  badEmailAtVerify,
  mailTypeUnsupported,
  tokenHashNotAlone,
  twoAddressesAtVerify,
  verifyTokenMissing,
  verifyTokenUnclear,
  verifyTypeMissing,
  verifyTypeUnsupported,
} from '../request-errors.ts'
import { isEmail, normaliseEmail, type UserIdentifier } from '../requests/identifier.ts'
import { readCode } from '../requests/typed-code.ts'
import { isPkceToken } from './one-time-token.ts'
import { isPhoneType, isVerifyType, type VerifyType } from './verify-type.ts'

/** The body of POST /verify, or the query of GET /verify. */
export interface VerifyFields {
  readonly type?: string | undefined
  readonly token?: string | undefined
  readonly token_hash?: string | undefined
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly redirect_to?: string | undefined
}

/** A typed code with the address that got it, or the token of a link. A phone number is as it was typed. */
export type VerifyRequest =
  | { readonly kind: 'code'; readonly type: VerifyType; readonly code: string; readonly identifier: UserIdentifier }
  | { readonly kind: 'link'; readonly type: VerifyType; readonly token: string }

/**
 * Parses the body of a verification (reference: POST /verify). The order of the checks decides which error a client sees.
 * @throws verifyTypeMissing, verifyTokenUnclear, twoAddressesAtVerify, tokenHashNotAlone, mailTypeUnsupported,
 * verifyTypeUnsupported, badEmailAtVerify
 */
export function parseVerifyBody(body: VerifyFields): VerifyRequest {
  const { token, token_hash: tokenHash, email, phone } = body
  const type = requireType(body)
  if (Boolean(token) === Boolean(tokenHash)) throw verifyTokenUnclear()
  if (token && ((email && phone) || (isVerifyType(type) && isPhoneType(type) && !phone))) throw twoAddressesAtVerify()
  if (tokenHash && (email || phone || body.redirect_to)) throw tokenHashNotAlone()
  if (!token || !(email || phone)) return { kind: 'link', ...requireMailType(type, token || tokenHash || '') }
  if (!isVerifyType(type)) throw verifyTypeUnsupported()
  return { kind: 'code', type, code: readCode(token), identifier: toIdentifier(email, phone) }
}

/** The members of a link, whose type may be unknown. */
export interface ParsedLink {
  readonly type: string
  readonly token: string
}

/** Parses a link. Only these checks are answered with JSON. @throws verifyTypeMissing, verifyTokenMissing */
export function parseLink(fields: VerifyFields): ParsedLink {
  const token = fields.token || fields.token_hash
  const type = requireType(fields)
  if (!token) throw verifyTokenMissing()
  return { type, token }
}

/** The headers of a request, by their names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Headers by which browsers and previews say that the user has not opened the page yet. */
const PREFETCH_MARKS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['sec-purpose', /\bprefetch\b/i],
  ['purpose', /\b(prefetch|preview)\b/i],
  ['x-purpose', /\b(prefetch|preview)\b/i],
  ['x-moz', /\bprefetch\b/i],
]

/** Whether a request only prefetches a link that a user may open later. Such a request must not use the link up. */
export function isPrefetch(headers: RequestHeaders): boolean {
  return PREFETCH_MARKS.some(([name, mark]) => mark.test(String(headers[name] ?? '')))
}

/** The kind of the flow that a link belongs to. */
export function flowOfLink({ token }: Pick<ParsedLink, 'token'>): FlowKind {
  return isPkceToken(token) ? 'pkce' : 'implicit'
}

/** Whether a link may be followed: in the strict profile only links of PKCE flows, because others end in a fragment. */
export function mayFollow({ token, token_hash: tokenHash }: VerifyFields, pkce: 'optional' | 'required'): boolean {
  return pkce === 'optional' || isPkceToken(token || tokenHash || '')
}

/** Requires a link that a browser may follow. @throws linkWithoutPkce, mailTypeUnsupported */
export function requireLinkToFollow({ type, token }: ParsedLink, pkce: 'optional' | 'required'): CheckedLink {
  if (!mayFollow({ token }, pkce)) throw linkWithoutPkce()
  return requireMailType(type, token)
}

/** A link whose type is known. */
type CheckedLink = ParsedLink & { readonly type: VerifyType }

/** Requires the type of a mail. @throws mailTypeUnsupported */
function requireMailType(type: string, token: string): CheckedLink {
  if (!isVerifyType(type) || isPhoneType(type)) throw mailTypeUnsupported()
  return { type, token }
}

function requireType({ type }: VerifyFields): string {
  if (!type) throw verifyTypeMissing()
  return type
}

function toIdentifier(email: string | undefined, phone: string | undefined): UserIdentifier {
  if (!email) return { kind: 'phone', value: phone ?? '' }
  if (!isEmail(email)) throw badEmailAtVerify()
  return { kind: 'email', value: normaliseEmail(email) }
}
