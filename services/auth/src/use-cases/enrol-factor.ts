import { randomUUID } from 'node:crypto'
import { violates } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { unenrolNeedsSecondFactor } from '../factor-errors.ts'
import {
  type EnrolledType,
  generateTotpSecret,
  judgeEnrolment,
  refuseTakenPhone,
  requireAllowed,
  requireEnrolEnabled,
  requireEnrolled,
  type WantedFactor,
} from '../factors/enrolment.ts'
import { refuseTakenName, requireFactor } from '../factors/factor.ts'
import {
  deleteExpiredFactors,
  deleteUnverifiedFactors,
  FACTOR_NAME_KEY,
  FACTOR_PHONE_KEY,
  insertFactor,
  listFactors,
  lockFactor,
} from '../factors/factor-repository.ts'
import { findRecoveryFactor, unenrolLockedFactor } from '../factors/recovery-code-repository.ts'
import { type NotifyDeps, notify } from '../messages/mail-job.ts'
import { type EncryptionKeys, encryptOptional, type RandomBytes } from '../secrets/encrypted-secret.ts'
import { type FactorOwner, lockCaller, requireFactorOwner, requireFreshSession } from '../sessions/active-caller.ts'
import type { TokenUser } from '../sessions/token-user.ts'
import { requireFactorPhone } from '../users/require-phone.ts'

type EnrolFactorDeps = AuditDeps & {
  readonly config: AuthConfig
  readonly db: Db
  readonly names: Names
  readonly randomBytes: RandomBytes
  readonly encryptionKeys: EncryptionKeys
}

/** A second factor, with its phone as typed, and the caller who enrols it. */
interface EnrolFactorInput {
  readonly caller: TokenUser
  readonly wanted: NewFactor
  readonly ip: string
}

/** A second factor without an id. */
export interface NewFactor extends WantedFactor {
  readonly type: EnrolledType
}

/** An enrolled factor. It protects the account only after its first use. */
interface EnrolledFactor {
  readonly id: string
  /** The user's name for the label in an authenticator app. */
  readonly account: string
  /** The digits of a phone factor. `undefined` for other types. */
  readonly phone: string | undefined
  /** The secret of an authenticator app. Only this answer contains it. */
  readonly totpSecret: string | undefined
}

/** Enrols a factor (reference: Enrolment). Checks limits under the user's lock, so concurrent requests cannot exceed them. */
export async function enrolFactor(
  deps: EnrolFactorDeps,
  { caller, wanted: typed, ip }: EnrolFactorInput,
): Promise<EnrolledFactor> {
  const wanted = await readFactorPhone(deps, caller, typed)
  requireEnrolEnabled(deps.config, wanted.type)
  try {
    return await deps.db.transaction().execute(async (trx) => {
      const active = await lockCaller(trx, deps, caller)
      const owner = requireFactorOwner(active)
      await requireFreshSession(trx, deps, active)
      await requireRoomForFactor(trx, deps, owner, wanted)
      return insertUnverifiedFactor(trx, deps, owner, { wanted, ip })
    })
  } catch (error) {
    if (violates(error, deps.names, FACTOR_NAME_KEY)) refuseTakenName(wanted.friendlyName)
    if (violates(error, deps.names, FACTOR_PHONE_KEY)) refuseTakenPhone()
    throw error
  }
}

async function readFactorPhone(
  deps: Pick<EnrolFactorDeps, 'config' | 'db'>,
  { userId }: TokenUser,
  wanted: NewFactor,
): Promise<NewFactor> {
  if (wanted.phone === undefined) return wanted
  return { ...wanted, phone: await requireFactorPhone(deps, { userId, typed: wanted.phone }) }
}

async function requireRoomForFactor(
  trx: Trx,
  { config, now }: Pick<EnrolFactorDeps, 'config' | 'now'>,
  { user, session }: FactorOwner,
  wanted: NewFactor,
): Promise<void> {
  await deleteExpiredFactors(trx, user.id, new Date(now().getTime() - config.mfa.unverifiedLifetimeMs))
  const verdict = judgeEnrolment(await listFactors(trx, user.id), wanted, session.aal, config.mfa)
  if (verdict === 'phone-verified') refuseTakenPhone()
  if (verdict === 'name-taken') refuseTakenName(wanted.friendlyName)
  requireAllowed(verdict)
  if (wanted.phone === undefined) return
  await deleteUnverifiedFactors(trx, { userId: user.id, factorType: 'phone', phone: wanted.phone })
}

async function insertUnverifiedFactor(
  trx: Trx,
  deps: Pick<EnrolFactorDeps, 'config' | 'logger' | 'now' | 'randomBytes' | 'encryptionKeys'>,
  { user, session }: FactorOwner,
  { wanted, ip }: Pick<EnrolFactorInput, 'wanted' | 'ip'>,
): Promise<EnrolledFactor> {
  const id = randomUUID()
  const totpSecret = wanted.type === 'totp' ? generateTotpSecret(deps.randomBytes) : undefined
  const at = deps.now()
  await insertFactor(trx, {
    id,
    user_id: user.id,
    friendly_name: wanted.friendlyName,
    factor_type: wanted.type,
    status: 'unverified',
    sealed_secret: encryptOptional(deps, id, totpSecret),
    phone: wanted.phone ?? null,
    created_at: at,
    updated_at: at,
  })
  const event = { action: 'factor_in_progress', actor: user, sessionId: session.id, ip } as const
  await recordAudit(trx, deps, { ...event, traits: { factor_id: id, factor_type: wanted.type } })
  return { id, account: user.email ?? user.phone ?? user.id, phone: wanted.phone, totpSecret }
}

/** Removes a factor. A verified factor needs a session of aal2 (reference: Unenrolment). @returns the id of the factor */
export async function unenrolFactor(
  deps: AuditDeps & NotifyDeps & { readonly config: AuthConfig; readonly db: Db },
  {
    caller,
    which,
    ip,
  }: {
    readonly caller: TokenUser
    /** `recovery-codes` is the factor of all recovery codes. Its URL has no id. */
    readonly which: { readonly factorId: string } | 'recovery-codes'
    readonly ip: string
  },
): Promise<string> {
  return deps.db.transaction().execute(async (trx) => {
    const active = await lockCaller(trx, deps, caller)
    const { user, session } = requireFactorOwner(active)
    const factor =
      which === 'recovery-codes'
        ? requireFactor(await findRecoveryFactor(trx, user.id))
        : requireEnrolled(await lockFactor(trx, user.id, which.factorId))
    const { id, factorType, status } = factor
    if (status === 'verified' && session.aal !== 'aal2') throw unenrolNeedsSecondFactor()
    if (status === 'verified') await requireFreshSession(trx, deps, active)
    await unenrolLockedFactor(trx, deps, { userId: user.id, factor })
    if (status === 'verified') {
      await notify(trx, deps, user, { name: 'MFA_FACTOR_UNENROLLED', variables: { FactorType: factorType } })
    }
    const traits = { factor_id: id, factor_status: status, session_id: session.id }
    await recordAudit(trx, deps, { action: 'factor_unenrolled', actor: user, sessionId: session.id, ip, traits })
    return id
  })
}
