import type { AuthDeps } from '../deps.ts'
import { phoneFactorCodeWrong, totpCodeWrong, webauthnFactorWrong } from '../factor-errors.ts'
import { verifyAssertion, verifyCreation } from '../passkeys/ceremony.ts'
import type { Assertion, Registration, StoredCredential } from '../passkeys/credential.ts'
import { openSecret } from '../secrets/sealed-secret.ts'
import type { Challenge } from './challenge.ts'
import type { FactorType } from './factor.ts'
import type { FactorWithSecrets } from './factor-repository.ts'
import { matchesFactorSms } from './factor-sms.ts'
import { findTotpStep } from './totp.ts'

/** What a client answers to a challenge. */
export type FactorAnswer =
  | { readonly kind: 'code'; readonly code: string }
  | { readonly kind: 'registration'; readonly response: Registration }
  | { readonly kind: 'assertion'; readonly response: Assertion }

/** That an answer was right, and what is to be kept of it. */
export interface FactorProof {
  /** Of a code by time: it may be taken once. */
  readonly step?: number
  /** As it is after this use. */
  readonly credential?: StoredCredential
}

const BASE32 = /^[A-Z2-7]+=*$/

type Deps = Pick<AuthDeps, 'config' | 'encryptionKeys' | 'logger' | 'now' | 'serverKeys'>

interface Asked {
  readonly factor: FactorWithSecrets
  readonly challenge: Challenge
}

/** Compares an answer with what was asked. Nothing is used up yet. @returns undefined for a wrong one */
export async function proveFactor(deps: Deps, asked: Asked, answer: FactorAnswer): Promise<FactorProof | undefined> {
  if (asked.factor.factorType === 'webauthn') return proveCredential(deps, asked, answer)
  return answer.kind === 'code' ? proveCode(deps, asked, answer.code) : undefined
}

function proveCode(deps: Deps, { factor, challenge }: Asked, code: string): FactorProof | undefined {
  if (factor.phone !== null) {
    const answer = { challengeId: challenge.id, phone: factor.phone, code }
    return matchesFactorSms(deps, answer, challenge.codeHash) ? {} : undefined
  }
  const secret = readSecret(deps, factor)
  if (secret === undefined) return undefined
  const step = findTotpStep(secret, code, deps.now())
  return step === undefined ? undefined : { step }
}

/** A factor that SQL of others has made has a secret that nobody has sealed. */
function readSecret({ encryptionKeys }: Deps, { id, secret, plainSecret }: FactorWithSecrets): string | undefined {
  if (secret !== null) return openSecret(encryptionKeys, id, secret)
  return BASE32.test(plainSecret ?? '') ? (plainSecret ?? undefined) : undefined
}

/** The first answer of a factor makes its credential, each later one uses it. */
async function proveCredential(
  deps: Deps,
  { factor, challenge }: Asked,
  answer: FactorAnswer,
): Promise<FactorProof | undefined> {
  if (challenge.webauthn === null || !isUsable(factor)) return undefined
  const credential =
    factor.credential === null
      ? answer.kind === 'registration' && (await verifyCreation(deps, answer.response, challenge.webauthn))
      : answer.kind === 'assertion' &&
        (await verifyAssertion(deps, { response: answer.response, challenge: challenge.webauthn }, factor.credential))
  return credential ? { credential } : undefined
}

/**
 * Whether the credential of a WebAuthn factor can be asked for. A verified factor without one was made by SQL of others: a new
 * credential in its place would be a second factor that nobody has shown.
 */
export function isUsable({ factorType, status, credential }: FactorWithSecrets): boolean {
  return factorType !== 'webauthn' || status === 'unverified' || credential !== null
}

const WRONG = { totp: totpCodeWrong, phone: phoneFactorCodeWrong, webauthn: webauthnFactorWrong } as const

/** What is said of a wrong answer. */
export function refuseProof({ factorType }: { readonly factorType: Exclude<FactorType, 'recovery_code'> }): Error {
  return WRONG[factorType]()
}
