import { randomUUID } from 'node:crypto'
import { isDeadlock, isLockTimeout } from '@trestle/database/unavailable.ts'
import { violatedConstraint } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { IMPORT_TEXTS } from '../field-errors.ts'
import { decodeUtf8 } from '../requests/parse-json.ts'
import type { Admin } from '../sessions/admin.ts'
import {
  addOwners,
  findOwners,
  insertImportedUsers,
  judgeLine,
  type LineVerdict,
  noOwners,
  type Owners,
} from '../users/import-repository.ts'
import {
  type ImportDefaults,
  type ImportedUser,
  type LeftOut,
  readUserLine,
  toImportedUser,
  type UserLine,
  writeUserLine,
} from '../users/imported-user.ts'
import type { Line } from '../users/read-foreign-users.ts'
import { findPhone } from '../users/require-phone.ts'
import { listUsersWithIdentities } from '../users/user-list-repository.ts'

interface ImportUsersInput extends Pick<ImportDefaults, 'firebase' | 'now'> {
  readonly admin: Admin
  readonly lines: AsyncIterable<Line>
  /** `judge` reports what `store` would do with each line, and changes nothing. */
  readonly mode: 'store' | 'judge'
  /** Called for each refused line. The reason contains no text of the line. */
  readonly onRefused: (number: number, reason: string) => void
  /** Called for each line with a new user whose role is in JWT_ADMIN_ROLES. */
  readonly onAdmin: (number: number, role: string) => void
  /** Called for each member that is left out when a new user is imported. */
  readonly onLeftOut: (number: number, member: LeftOut) => void
  /** Called after every batch, with the number of the last stored line. */
  readonly onProgress: (summary: ImportSummary, number: number) => void
}

/** The numbers of users that were created, already present, or refused. */
export interface ImportSummary {
  readonly created: number
  readonly present: number
  readonly refused: number
  /** The names of unknown members. */
  readonly ignored: readonly string[]
}

type ImportUsersDeps = AuditDeps & { readonly config: AuthConfig; readonly db: Db; readonly names: Names }

interface Candidate {
  readonly number: number
  readonly user: ImportedUser
}

const BATCH_LINES = 500
const ATTEMPTS_MAX = 5

/** Stores each batch in a transaction. Existing users do not change, so an interrupted run can be started again. */
export async function importUsers(deps: ImportUsersDeps, input: ImportUsersInput): Promise<ImportSummary> {
  const counts = { created: 0, present: 0, refused: 0 }
  const ignored = new Set<string>()
  const refuse = (number: number, reason: string): void => {
    counts.refused += 1
    input.onRefused(number, reason)
  }
  const everybody = noOwners()
  let batch: Candidate[] = []
  const finishBatch = async (): Promise<void> => {
    const verdicts = await (input.mode === 'store'
      ? storeBatch(deps, input.admin, batch)
      : judgeBatch(deps, batch, everybody))
    for (const [i, { number, user }] of batch.entries()) {
      const verdict = verdicts[i]
      if (verdict === undefined) continue
      if (verdict.verdict === 'refused') refuse(number, verdict.reason)
      else counts[verdict.verdict === 'new' ? 'created' : 'present'] += 1
      if (verdict.verdict !== 'new') continue
      const { role } = user.row
      if (adminRoles.includes(role)) input.onAdmin(number, role)
      for (const member of user.leftOut) input.onLeftOut(number, member)
    }
    batch = []
  }
  const summary = (): ImportSummary => ({ ...counts, ignored: [...ignored] })
  const { audience, defaultRole: role, adminRoles } = deps.config.jwt
  const { compatibility } = deps.config
  const defaults = { ...input, audience, role, generateId: randomUUID, compatibility }
  for await (const line of input.lines) {
    try {
      const read = readUserLine(decodeLine(line))
      for (const name of read.ignored) ignored.add(name)
      batch.push({ number: line.number, user: toImportedUser(await readPhone(deps, read.line), defaults) })
    } catch (error) {
      refuse(line.number, refusalReason(error))
    }
    if (batch.length < BATCH_LINES) continue
    await finishBatch()
    input.onProgress(summary(), line.number)
  }
  await finishBatch()
  return summary()
}

/** Returns the line with the phone as stored here. An invalid number becomes an empty text, which is refused. */
async function readPhone(deps: ImportUsersDeps, line: UserLine): Promise<UserLine> {
  if (line.phone === undefined) return line
  return { ...line, phone: (await findPhone(deps, line.phone)) ?? '' }
}

function refusalReason(error: unknown): string {
  return IMPORT_TEXTS.unreadable({ problem: error instanceof Error ? error.message : String(error) })
}

/** Removes the byte order mark that a file may begin with. */
function decodeLine({ bytes }: Line): string {
  if (bytes === null) throw new Error(IMPORT_TEXTS.lineTooLong)
  return decodeUtf8(bytes)
}

/** Tries again if another transaction adds one of the users. The next attempt finds this user. */
async function storeBatch(
  deps: ImportUsersDeps,
  admin: Admin,
  batch: readonly Candidate[],
): Promise<readonly LineVerdict[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await deps.db.transaction().execute(async (trx) => {
        const verdicts = await judgeBatch({ ...deps, db: trx }, batch, noOwners())
        const fresh = batch.filter((_candidate, i) => verdicts[i]?.verdict === 'new').map(({ user }) => user)
        await insertImportedUsers(trx, fresh)
        if (fresh.length > 0) await recordImport(trx, deps, admin, fresh.length)
        return verdicts
      })
    } catch (error) {
      const isTaken = violatedConstraint(error, deps.names) !== undefined
      const isRace = isTaken || isDeadlock(error) || isLockTimeout(error)
      if (attempt === ATTEMPTS_MAX || !isRace) throw error
    }
  }
}

/** Records one entry per batch, because an import may create a million users. */
function recordImport(trx: Trx, deps: ImportUsersDeps, { actor }: Admin, created: number): Promise<void> {
  return recordAudit(trx, deps, { action: 'users_imported', actor, ip: '', traits: { created } })
}

async function judgeBatch(
  { db }: Pick<ImportUsersDeps, 'db'>,
  batch: readonly Candidate[],
  owners: Owners,
): Promise<readonly LineVerdict[]> {
  const users = batch.map(({ user }) => user)
  addOwners(owners, await findOwners(db, users))
  return users.map((user) => judgeLine(owners, user))
}

const PAGE_ROWS = 500

/** Yields every user, sorted by id, as a line for `users import`. */
export async function* exportUsers({ db }: { readonly db: Db }): AsyncGenerator<string> {
  let after: string | undefined
  do {
    const page = await listUsersWithIdentities(db, { after, limit: PAGE_ROWS })
    for (const each of page) yield `${writeUserLine(each)}\n`
    after = page.at(-1)?.user.id
  } while (after !== undefined)
}
