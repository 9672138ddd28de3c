import { createHash } from 'node:crypto'
import { z } from 'zod'
import { pkceRequired } from '../errors.ts'
import {
  codeChallengeCharacters,
  codeChallengeLength,
  codeChallengeMethodUnsupported,
  pkceIncomplete,
} from '../request-errors.ts'
import { withTexts } from '../requests/fields.ts'
import { equalSecrets, type RandomBytes } from '../secrets/encrypted-secret.ts'

const CODE_CHALLENGE = '^[A-Za-z0-9._~-]{43,128}$'
/** `s256` or `plain`, in any case. */
const CODE_CHALLENGE_METHOD = '^([sS]256|[pP][lL][aA][iI][nN])$'

/** PKCE members of a body that starts a PKCE flow only in some of its forms. Other forms ignore the members. */
export const pkceFieldsOfForms = {
  code_challenge: z
    .string()
    .optional()
    .meta({
      description: `Begins a PKCE flow, together with code_challenge_method: ${CODE_CHALLENGE}`,
    }),
  code_challenge_method: z
    .string()
    .optional()
    .meta({ description: `s256 or plain, in any case: ${CODE_CHALLENGE_METHOD}` }),
}

/** PKCE members of a body that starts a PKCE flow in all its forms. */
export const pkceFields = {
  code_challenge: pkceFieldsOfForms.code_challenge.meta({
    pattern: `^$|${CODE_CHALLENGE}`,
    description: 'Begins a PKCE flow, together with code_challenge_method',
  }),
  code_challenge_method: pkceFieldsOfForms.code_challenge_method.meta({
    pattern: `^$|${CODE_CHALLENGE_METHOD}`,
    description: 's256 or plain, in any case',
  }),
}

/** PKCE fields as query parameters, which must not be empty. */
export const pkceParameters = {
  code_challenge: pkceFields.code_challenge.meta({ pattern: CODE_CHALLENGE }),
  code_challenge_method: pkceFields.code_challenge_method.meta({ pattern: CODE_CHALLENGE_METHOD }),
}

/** For the API document: each member requires the other, and empty members count as absent. */
export const PKCE_TOGETHER = {
  if: withTexts(['code_challenge']),
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  then: {
    required: ['code_challenge_method'],
    properties: {
      code_challenge: { pattern: CODE_CHALLENGE },
      code_challenge_method: { type: 'string', pattern: CODE_CHALLENGE_METHOD },
    },
  },
  else: withTexts([], ['code_challenge_method']),
}

/** How a browser flow ends: with a session in the fragment, or with an auth code that needs the verifier. */
export type FlowKind = 'implicit' | 'pkce'

/** The code challenge of a PKCE flow, and how it was derived from the verifier (RFC 7636). */
export interface PkceChallenge {
  readonly codeChallenge: string
  /** `parsePkce` converts both to `s256`. Flows of supabase/auth may be `plain`. */
  readonly codeChallengeMethod: 's256' | 'plain'
}

/** `required`: every flow that ends in a redirect must use PKCE with S256. */
export type PkceRule = 'optional' | 'required'

interface PkceFields {
  readonly code_challenge?: string | undefined
  readonly code_challenge_method?: string | undefined
}

const LENGTH_MIN = 43
const LENGTH_MAX = 128

/**
 * Reads the code challenge of a request (reference: PKCE). Empty members count as absent.
 * @returns `undefined` if the request starts no PKCE flow
 */
export function parsePkce(body: PkceFields, rule: PkceRule): PkceChallenge | undefined {
  const { code_challenge: codeChallenge, code_challenge_method: codeChallengeMethod } = body
  if (!codeChallenge && !codeChallengeMethod) return undefined
  if (!codeChallenge || !codeChallengeMethod) throw pkceIncomplete()
  if (codeChallenge.length < LENGTH_MIN || codeChallenge.length > LENGTH_MAX) {
    throw codeChallengeLength({ min: LENGTH_MIN, max: LENGTH_MAX })
  }
  if (!/^[A-Za-z0-9._~-]*$/.test(codeChallenge)) throw codeChallengeCharacters()
  const method = codeChallengeMethod.toLowerCase()
  if (method !== 's256' && (method !== 'plain' || rule === 'required')) {
    throw codeChallengeMethodUnsupported({ codeChallengeMethod })
  }
  // A plain code challenge is the verifier itself. Store its hash instead, which is enough for the comparison.
  return { codeChallenge: method === 'plain' ? toS256(codeChallenge) : codeChallenge, codeChallengeMethod: 's256' }
}

/** Requires PKCE in a browser flow if the rule says so. @throws pkceRequired */
export function requirePkce(pkce: PkceChallenge | null | undefined, rule: PkceRule): void {
  if (rule === 'required' && !pkce) throw pkceRequired()
}

/** Whether a code challenge belongs to a verifier (RFC 7636, section 4.6). Compares in constant time. */
export function matchesCodeChallenge(
  { codeChallenge, codeChallengeMethod }: PkceChallenge,
  codeVerifier: string,
): boolean {
  const expected = codeChallengeMethod === 's256' ? toS256(codeVerifier) : codeVerifier
  return equalSecrets(digest(expected), digest(codeChallenge))
}

/** Generates the auth code of a PKCE flow. Clients of GoTrue expect a random UUID (RFC 9562, version 4). */
export function generateAuthCode(randomBytes: RandomBytes): string {
  const bytes = randomBytes(16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function toS256(codeVerifier: string): string {
  return digest(codeVerifier).toString('base64url')
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
