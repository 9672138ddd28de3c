import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { factorNotFound } from '../factor-errors.ts'
import { challengeEnd } from '../factors/challenge.ts'
import { insertChallenge } from '../factors/challenge-repository.ts'
import type { Factor } from '../factors/factor.ts'
import { findFactor } from '../factors/factor-repository.ts'
import { prepareFactorSms } from '../factors/factor-sms.ts'
import { type EnrolledType, isEnrolled, requireVerifyEnabled } from '../factors/factor-switches.ts'
import { requireInterval } from '../rate-limits/send-interval.ts'
import { takeSms } from '../rate-limits/sms-allowance.ts'
import type { Caller } from '../sessions/caller.ts'
import type { SmsChannel } from '../sms/gateway-protocol.ts'
import { queueSms } from '../sms/sms-job.ts'
import { requireFactorOwner } from './factor-owner.ts'
import { findCaller, lockCaller } from './find-caller.ts'

export interface ChallengeFactor {
  readonly caller: Caller
  readonly factorId: string
  /** How the code of a phone factor is to be sent. */
  readonly channel: SmsChannel
  /** Of who asks: only the same address may answer. */
  readonly ip: string
}

export interface IssuedChallenge {
  readonly id: string
  readonly type: EnrolledType
  readonly expiresAt: Date
}

type ChallengedFactor = Factor & { readonly factorType: EnrolledType }

/**
 * Asks a second factor (contract 4.9). A phone is sent a code.
 * @throws factorNotFound, the error of a type that is switched off, overSmsRateLimit, smsProviderMissing
 */
export async function challengeFactor(deps: AuthDeps, input: ChallengeFactor): Promise<IssuedChallenge> {
  const { user } = requireFactorOwner(await findCaller(deps, input.caller))
  const factor = await findFactor(deps.db, user.id, input.factorId)
  if (!factor || !isEnrolled(factor)) throw factorNotFound()
  requireVerifyEnabled(deps.config, factor.factorType)
  const allowance = factor.phone === null ? undefined : await takeSms(deps, factor.phone)
  try {
    return await deps.db.transaction().execute((trx) => issue(trx, deps, { ...input, factor }))
  } catch (error) {
    await allowance?.giveBack()
    throw error
  }
}

async function issue(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  { caller, factor, channel, ip }: ChallengeFactor & { readonly factor: ChallengedFactor },
): Promise<IssuedChallenge> {
  const id = randomUUID()
  const createdAt = deps.now()
  const expiresAt = challengeEnd(createdAt, deps.config.mfa.challengeLifetimeSeconds)
  // The interval before the user's row: whoever signs up or asks for a code by SMS takes the same two locks in this order.
  if (factor.phone !== null) await requireInterval(trx, deps, { kind: 'mfa_sms', identifier: factor.phone })
  const { user, session } = requireFactorOwner(await lockCaller(trx, deps, caller))
  if (!(await findFactor(trx, user.id, factor.id))) throw factorNotFound()
  const message =
    factor.phone === null
      ? undefined
      : prepareFactorSms(deps, { challengeId: id, phone: factor.phone, channel, expiresAt })
  await insertChallenge(trx, { id, factorId: factor.id, ip, codeHash: message?.codeHash ?? null, createdAt })
  if (message?.sms) await queueSms(trx, deps, message.sms)
  const traits = { factor_id: factor.id, factor_status: factor.status }
  await recordAudit(trx, deps, { action: 'challenge_created', actor: user, sessionId: session.id, ip, traits })
  return { id, type: factor.factorType, expiresAt }
}
