import { violates } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import type { Db } from '../database.ts'
import { emailExists, phoneExists, phoneExistsForAdmin } from '../errors.ts'
import { ACCOUNT_KEY } from '../identities/identity-repository.ts'
import type { IdentifierKind, UserIdentifier } from '../requests/identifier.ts'
import type { Trx } from '../transaction.ts'
import { isStaged, type User } from './user.ts'
import { deleteStagedUser, EMAIL_KEYS, PHONE_KEY } from './user-change-repository.ts'
import { findIdentifierHolder } from './user-repository.ts'

/** The errors for an email or phone number that another user has. */
export interface TakenErrors extends Readonly<Record<IdentifierKind, () => Error>> {
  /** For a staged user who has changed since the transaction read them. Default: the identifier is taken. */
  readonly changed?: () => Error
}

/** The errors of a taken identifier, for a request of a user. */
export const TAKEN_FOR_USER: TakenErrors = { email: emailExists, phone: phoneExists }

/** The errors of a taken identifier, for a request of an admin, who reads another text about phones. */
export const TAKEN_FOR_ADMIN: TakenErrors = { email: emailExists, phone: phoneExistsForAdmin }

/** The errors of a taken identifier, for a transaction of `withUniqueAccount`: it looks again when a staged user has changed. */
export const TAKEN_AFTER_RACES: TakenErrors = { ...TAKEN_FOR_USER, changed: () => new StaleView() }

/**
 * Requires that no user but `ownerId` has an identifier, as far as this transaction sees. A staged user who has it is deleted
 * (reference: Staged users). A real holder is not locked, since two users who want each other's identifier would deadlock.
 */
export async function claimIdentifier(
  trx: Trx,
  identifier: UserIdentifier,
  { ownerId, taken }: { readonly ownerId: string | undefined; readonly taken: TakenErrors },
): Promise<void> {
  const holder = await findIdentifierHolder(trx, identifier)
  if (!holder || holder.id === ownerId) return
  if (!isStaged(holder)) throw taken[identifier.kind]()
  if (await deleteStagedUser(trx, holder.id)) return
  throw taken.changed?.() ?? taken[identifier.kind]()
}

/**
 * Requires an identifier that neither the user nor anybody else has, as far as can be seen. A staged user does not count.
 * @throws emailExists, phoneExists
 */
export async function requireNewIdentifier(
  db: Db,
  user: Pick<User, 'id' | IdentifierKind>,
  identifier: UserIdentifier,
): Promise<void> {
  const { kind, value } = identifier
  if (user[kind] === value || (await isTaken(db, identifier, user.id))) throw TAKEN_FOR_USER[kind]()
}

/** Requires that the user of an email belongs to an audience. For any other the email is taken. @throws emailExists */
export function requireHolderAudience(holder: Pick<User, 'audience'>, audience: string): void {
  if (holder.audience !== audience) throw emailExists()
}

/** Requires that the user of an email may be signed up or invited once more, in an audience. @throws emailExists */
export function requireUnconfirmed(holder: Pick<User, 'audience' | 'emailConfirmedAt'>, audience: string): void {
  requireHolderAudience(holder, audience)
  if (holder.emailConfirmedAt !== null) throw emailExists()
}

/** Whether a user other than `ownerId` has an identifier, as far as can be seen. A staged user does not count. */
export async function isTaken(db: Db, identifier: UserIdentifier, ownerId: string): Promise<boolean> {
  const holder = await findIdentifierHolder(db, identifier)
  return holder !== undefined && holder.id !== ownerId && !isStaged(holder)
}

/**
 * Runs a transaction that gives a user an identifier. The unique index finds an identifier that another request takes between
 * the look and the write, and the second attempt sees its holder. @throws the error of `taken` for the identifier
 */
export async function withUniqueIdentifiers<Result>(
  { db, names }: { readonly db: Db; readonly names: Names },
  taken: TakenErrors,
  run: (trx: Trx) => Promise<Result>,
): Promise<Result> {
  const attempt = () => db.transaction().execute(run)
  const refusal = (error: unknown) => {
    if (violates(error, names, ...EMAIL_KEYS)) return taken.email()
    return violates(error, names, PHONE_KEY) ? taken.phone() : undefined
  }
  try {
    return await attempt()
  } catch (first) {
    if (refusal(first) === undefined) throw first
  }
  try {
    return await attempt()
  } catch (second) {
    throw refusal(second) ?? second
  }
}

/** What a transaction has looked up has changed since: another request was first. */
export class StaleView extends Error {
  override readonly name = 'StaleView'
}

/** Each failure means that another request has succeeded, so only so many requests about one user at once fail. */
const ATTEMPTS_MAX = 10
const RACES = [...EMAIL_KEYS, ACCOUNT_KEY]

/**
 * Runs a transaction that decides whose an external account is. Runs it again when another request has taken the account or its
 * address meanwhile: the unique indexes find that, and the next attempt sees the holder.
 */
export async function withUniqueAccount<Result>(
  { db, names }: { readonly db: Db; readonly names: Names },
  run: (trx: Trx) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(run)
    } catch (error) {
      const isRace = error instanceof StaleView || violates(error, names, ...RACES)
      if (!isRace || attempt === ATTEMPTS_MAX) throw error
    }
  }
}
