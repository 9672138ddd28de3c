import type { AuthDeps } from '../deps.ts'
import { phoneFactorCodeWrong, totpCodeWrong } from '../factor-errors.ts'
import { openSecret } from '../secrets/sealed-secret.ts'
import type { Challenge } from './challenge.ts'
import type { FactorType } from './factor.ts'
import type { FactorWithSecrets } from './factor-repository.ts'
import { matchesFactorSms } from './factor-sms.ts'
import { findTotpStep } from './totp.ts'

/** What a client answers to a challenge. */
export interface FactorAnswer {
  readonly code: string
}

/** That an answer was right. */
export interface FactorProof {
  /** Of a code by time: it may be taken once. */
  readonly step: number | undefined
}

type Deps = Pick<AuthDeps, 'encryptionKeys' | 'now' | 'serverKeys'>

interface Asked {
  readonly factor: FactorWithSecrets
  readonly challenge: Challenge
}

const WRONG = { totp: totpCodeWrong, phone: phoneFactorCodeWrong } as const

/** Compares an answer with what was asked. Nothing is used up yet. @returns undefined for a wrong one */
export async function proveFactor(
  deps: Deps,
  { factor, challenge }: Asked,
  { code }: FactorAnswer,
): Promise<FactorProof | undefined> {
  if (factor.phone !== null) {
    const answer = { challengeId: challenge.id, phone: factor.phone, code }
    return matchesFactorSms(deps, answer, challenge.codeHash) ? { step: undefined } : undefined
  }
  if (factor.secret === null) return undefined
  const step = findTotpStep(openSecret(deps.encryptionKeys, factor.id, factor.secret), code, deps.now())
  return step === undefined ? undefined : { step }
}

/** What is said of a wrong answer. */
export function refuseProof({ factorType }: { readonly factorType: FactorType }): Error {
  return factorType === 'phone' ? WRONG.phone() : WRONG.totp()
}
