import { createHmac } from 'node:crypto'
import { type Insertable, sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import { readDigits } from '../requests/fields.ts'
import type { RandomBytes, ServerKeys } from '../secrets/encrypted-secret.ts'
import { isEnrolled } from './enrolment.ts'
import type { Factor, MfaRecoverySetsTable } from './factor.ts'
import { deleteFactor, listFactors, toFactor } from './factor-repository.ts'

/** The maximum attempts within `WINDOW_MS`, for all clients together (reference: Recovery codes). */
const ATTEMPTS_MAX = 5
const WINDOW_MS = 15 * 60_000

/** Returns the recovery codes of a user in the form of a factor, or `undefined` if there are none. */
export async function findRecoveryFactor(db: Db, userId: string): Promise<Factor | undefined> {
  const query = db.selectFrom('user_factors').selectAll().where('user_id', '=', userId)
  const row = await query.where('factor_type', '=', 'recovery_code').executeTakeFirst()
  return row && toFactor(row)
}

/**
 * Lists the factors of a user that were enrolled or first proven since a time, oldest first. Recovery codes count by the time of
 * their creation, because new codes keep the row of the set.
 */
export async function listFactorsSince(db: Db, userId: string, since: Date): Promise<Factor[]> {
  const isYoung = sql<boolean>`(created_at >= ${since}::timestamptz OR id IN (SELECT s.id
    FROM ${sql.table('mfa_recovery_sets')} s WHERE s.user_id = ${userId} AND s.codes_at >= ${since}::timestamptz
    UNION ALL SELECT f.id FROM ${sql.table('mfa_factors')} f WHERE f.user_id = ${userId} AND f.proved_at >= ${since}::timestamptz))`
  const query = db.selectFrom('user_factors').selectAll().where('user_id', '=', userId).where(isYoung)
  return (await query.orderBy('created_at').orderBy('id').execute()).map(toFactor)
}

/** Inserts an empty set of recovery codes. */
export async function insertRecoverySet(trx: Db, values: Insertable<MfaRecoverySetsTable>): Promise<Factor> {
  await trx.insertInto('mfa_recovery_sets').values(values).execute()
  return toFactor(
    await trx.selectFrom('user_factors').selectAll().where('id', '=', values.id).executeTakeFirstOrThrow(),
  )
}

/** Counts the codes of a set, and its unused codes. Both numbers are 0 if the set does not exist. */
export async function countRecoveryCodes(
  db: Db,
  factorId: string,
): Promise<{ readonly total: number; readonly remaining: number }> {
  return db
    .selectFrom('mfa_recovery_codes')
    .select([
      sql<number>`count(*)::int`.as('total'),
      sql<number>`(count(*) FILTER (WHERE used_at IS NULL))::int`.as('remaining'),
    ])
    .where('set_id', '=', factorId)
    .executeTakeFirstOrThrow()
}

/** Replaces the codes of a set, and resets its wrong attempts, so that a locked set can be used again. */
async function replaceRecoveryCodes(
  trx: Db,
  { factorId, hashes, now }: { readonly factorId: string; readonly hashes: readonly Buffer[]; readonly now: Date },
): Promise<void> {
  await trx.deleteFrom('mfa_recovery_codes').where('set_id', '=', factorId).execute()
  const rows = hashes.map((hash) => ({ set_id: factorId, code_hash: hash }))
  await trx.insertInto('mfa_recovery_codes').values(rows).execute()
  await forgetAttempts(trx, factorId, { codes_at: now, updated_at: now })
}

/** Counts an attempt before it is compared. Returns the milliseconds to wait, or `undefined` if it is allowed. */
export async function countRecoveryAttempt(db: Db, factorId: string, now: Date): Promise<number | undefined> {
  const windowStart = new Date(now.getTime() - WINDOW_MS)
  const isRunning = sql<boolean>`coalesce(failing_since > ${windowStart}, false)`
  const { numUpdatedRows } = await db
    .updateTable('mfa_recovery_sets')
    .set({
      guesses: sql`CASE WHEN ${isRunning} THEN guesses + 1 ELSE 1 END`,
      failing_since: sql`CASE WHEN ${isRunning} THEN failing_since ELSE ${now}::timestamptz END`,
    })
    .where('id', '=', factorId)
    .where(sql<boolean>`NOT (${isRunning} AND guesses >= ${ATTEMPTS_MAX})`)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) return undefined
  const row = await db
    .selectFrom('mfa_recovery_sets')
    .select('failing_since')
    .where('id', '=', factorId)
    .executeTakeFirst()
  return Math.max(0, Date.parse(row?.failing_since ?? now.toISOString()) - windowStart.getTime())
}

interface CodeOfFactor {
  readonly factorId: string
  /** The hashes of the code, one for each key that may have hashed the set. */
  readonly hashes: readonly Buffer[]
}

/** Whether a set has this code and it is unused. */
export async function hasRecoveryCode(db: Db, { factorId, hashes }: CodeOfFactor): Promise<boolean> {
  const row = await db
    .selectFrom('mfa_recovery_codes')
    .select('id')
    .where('set_id', '=', factorId)
    .where('code_hash', 'in', hashes)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** Claims a code, and resets the attempts. Returns `false` if the code is wrong or already claimed. */
export async function claimRecoveryCode(
  trx: Db,
  { factorId, hashes, now }: CodeOfFactor & { readonly now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('mfa_recovery_codes')
    .set({ used_at: now })
    .where('set_id', '=', factorId)
    .where('code_hash', 'in', hashes)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await forgetAttempts(trx, factorId, { updated_at: now })
  return true
}

async function forgetAttempts(trx: Db, factorId: string, times: { updated_at: Date; codes_at?: Date }): Promise<void> {
  const values = { guesses: 0, failing_since: null, ...times }
  await trx.updateTable('mfa_recovery_sets').set(values).where('id', '=', factorId).execute()
}

/** A set of codes, which are shown only now. */
export interface RecoveryCodes {
  readonly factor: Factor
  readonly codes: readonly string[]
}

/** Letters and digits, except 0 and 1, which look like letters. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz23456789'
const CODE_LENGTH = 16
const RANDOM_BYTES = 24
const CODES = 10

/** Generates a set of codes, each from 192 random bits. Its bias is below 2^-110. */
export function generateCodeSet(randomBytes: RandomBytes): readonly string[] {
  return Array.from({ length: CODES }, () => toCode(randomBytes(RANDOM_BYTES)))
}

function toCode(random: Buffer): string {
  let rest = BigInt(`0x${random.toString('hex')}`)
  const base = BigInt(ALPHABET.length)
  return Array.from({ length: CODE_LENGTH }, () => {
    const letter = ALPHABET.charAt(Number(rest % base))
    rest /= base
    return letter
  }).join('')
}

/** Normalises a typed code. Case, white space, `-` and the script of digits do not matter. */
export function normaliseRecoveryCode(typed: string): string {
  return readDigits(typed)
    .toLowerCase()
    .replaceAll(/[\s\p{Cf}-]/gu, '')
}

/** Returns the hash to store for a normalised code (reference: Secrets at rest). */
export function hashRecoveryCode(serverKey: Buffer, factorId: string, code: string): Buffer {
  return createHmac('sha256', serverKey).update(`recovery-code\0${factorId}\0${code}`).digest()
}

export interface IssueRecoveryCodesDeps {
  readonly now: () => Date
  readonly randomBytes: RandomBytes
  readonly serverKeys: Pick<ServerKeys, 'hmac'>
}

/** Creates the codes of a factor, which replace earlier ones, and stores their hashes. @returns the codes to show */
export async function issueRecoveryCodes(
  trx: Trx,
  { now, randomBytes, serverKeys }: IssueRecoveryCodesDeps,
  factorId: string,
): Promise<readonly string[]> {
  const codes = generateCodeSet(randomBytes)
  const hashes = codes.map((code) => hashRecoveryCode(serverKeys.hmac, factorId, code))
  await replaceRecoveryCodes(trx, { factorId, hashes, now: now() })
  return codes
}

/** Unenrols a factor of a locked user. The last factor takes the recovery codes with it, because they only replace a factor. */
export async function unenrolLockedFactor(
  trx: Trx,
  { now }: { readonly now: () => Date },
  { userId, factor }: { readonly userId: string; readonly factor: Factor },
): Promise<void> {
  await deleteFactor(trx, factor, now())
  const left = (await listFactors(trx, userId)).filter(({ status }) => status === 'verified')
  if (left.some(isEnrolled)) return
  for (const recoveryCodes of left) await deleteFactor(trx, recoveryCodes, now())
}
