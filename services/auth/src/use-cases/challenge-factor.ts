import { randomInt, randomUUID } from 'node:crypto'
import { violates } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { type EnrolledType, isUsable, requireEnrolled, requireVerifyEnabled } from '../factors/enrolment.ts'
import { challengeEnd, requireFactor } from '../factors/factor.ts'
import {
  CHALLENGE_MOMENT_KEY,
  type FactorWithSecrets,
  findFactor,
  insertChallenge,
  listFactorCredentials,
  type NewChallenge,
} from '../factors/factor-repository.ts'
import { type HookedDeps, type Repeatable, runHooked } from '../messages/hooked-transaction.ts'
import { prepareFactorSms, type SmsAllowanceDeps, takeSms } from '../messages/sms-code.ts'
import type { SmsChannel } from '../messages/sms-gateway.ts'
import { queueSms } from '../messages/sms-job.ts'
import { askForAssertion, askForCreation, type CredentialRequest } from '../passkeys/ceremony.ts'
import type { CredentialOptions } from '../passkeys/credential.ts'
import { requireFactorIntervals } from '../rate-limits/send-interval.ts'
import { findCaller, lockCaller, requireFactorOwner } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'
import type { User } from '../users/user.ts'

type ChallengeFactorDeps = HookedDeps & SmsAllowanceDeps & { readonly config: AuthConfig; readonly names: Names }

export interface ChallengeFactorInput {
  readonly caller: TokenUser
  readonly factorId: string
  readonly channel: SmsChannel
  /** The client's address. Only this address may answer the challenge. */
  readonly ip: string
  /** The key of the client's rate limits. `undefined` if the client is not limited. */
  readonly limitKey: string | undefined
}

/** A stored challenge, and the time until which it can be answered. */
export interface IssuedChallenge {
  readonly id: string
  readonly type: EnrolledType
  readonly expiresAt: Date
  /** The request to an authenticator: to create a credential, or to use that of the factor. */
  readonly webauthn: { readonly type: 'create' | 'request'; readonly options: CredentialOptions } | undefined
}

interface Question {
  readonly factor: FactorWithSecrets & { readonly factorType: EnrolledType }
  readonly credential: CredentialRequest | undefined
}

/** Challenges a second factor (reference: Challenges). For a phone factor, sends a code. */
export async function challengeFactor(
  deps: ChallengeFactorDeps,
  input: ChallengeFactorInput,
): Promise<IssuedChallenge> {
  const { user } = requireFactorOwner(await findCaller(deps, input.caller))
  const factor = requireEnrolled(await findFactor(deps.db, user.id, input.factorId))
  requireVerifyEnabled(deps.config, factor.factorType)
  requireFactor(isUsable(factor) ? factor : undefined)
  const credential = factor.factorType === 'webauthn' ? await askForCredential(deps, user, factor) : undefined
  const allowance = factor.phone === null ? undefined : await takeSms(deps, factor.phone, input.limitKey)
  try {
    return await retryAtTakenMoment(deps, (delayMicroseconds) =>
      runHooked(deps, (trx, repeatable) =>
        storeChallenge(trx, repeatable, { ...input, factor, credential, delayMicroseconds }),
      ),
    )
  } catch (error) {
    await allowance?.giveBack()
    throw error
  }
}

async function askForCredential(
  deps: Pick<ChallengeFactorDeps, 'config' | 'db' | 'logger'>,
  user: User,
  factor: FactorWithSecrets,
): Promise<CredentialRequest> {
  const timeoutMs = deps.config.mfa.challengeLifetimeSeconds * 1_000
  if (factor.credential) return askForAssertion(deps, { known: [factor.credential], timeoutMs })
  const account = user.email ?? user.phone ?? user.id
  const known = await listFactorCredentials(deps.db, user.id)
  return askForCreation(deps, { userId: user.id, account, known, residentKey: 'discouraged', timeoutMs })
}

const ATTEMPTS_MAX = 10

/** Stores a challenge. Runs again if another factor has a challenge of the same microsecond, because of a unique index. */
async function retryAtTakenMoment<Result>(
  { names }: Pick<ChallengeFactorDeps, 'names'>,
  run: (delayMicroseconds: number) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run(attempt === 1 ? 0 : randomInt(1, 1_000))
    } catch (error) {
      if (!violates(error, names, CHALLENGE_MOMENT_KEY) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

async function storeChallenge(
  trx: Trx,
  deps: Repeatable<ChallengeFactorDeps>,
  {
    caller,
    factor,
    credential,
    channel,
    ip,
    delayMicroseconds,
  }: ChallengeFactorInput & Question & Pick<NewChallenge, 'delayMicroseconds'>,
): Promise<IssuedChallenge> {
  const id = randomUUID()
  const createdAt = deps.now()
  const expiresAt = challengeEnd(createdAt, deps.config.mfa.challengeLifetimeSeconds)
  // Lock the interval before the user, in the same order as sign-ups and requests for codes by SMS.
  if (factor.phone !== null) await requireFactorIntervals(trx, deps, caller.userId, { ...factor, phone: factor.phone })
  const { user, session } = requireFactorOwner(await lockCaller(trx, deps, caller))
  requireFactor(await findFactor(trx, user.id, factor.id))
  const message =
    factor.phone === null
      ? undefined
      : prepareFactorSms(deps, { userId: user.id, challengeId: id, phone: factor.phone, channel, expiresAt })
  const expected = { codeHash: message?.codeHash ?? null, webauthn: credential?.challenge ?? null }
  const stored = { id, factorId: factor.id, sessionId: session.id, ip, createdAt, delayMicroseconds }
  await insertChallenge(trx, { ...stored, ...expected })
  if (message?.sms) await queueSms(trx, deps, message.sms)
  const traits = { factor_id: factor.id, factor_status: factor.status }
  await recordAudit(trx, deps, { action: 'challenge_created', actor: user, sessionId: session.id, ip, traits })
  const type = factor.credential === null ? 'create' : 'request'
  return { id, type: factor.factorType, expiresAt, webauthn: credential && { type, options: credential.options } }
}
