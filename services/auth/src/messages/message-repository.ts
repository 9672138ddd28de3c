import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Cursor } from '../pagination/page-query.ts'
import type { Message, MessageStatus, MessagesTable, NewMessage } from './message-record.ts'

/** Inserts a waiting message, in the transaction that queues it. */
export async function insertMessage(
  trx: Db,
  { id, kind, purpose, channel, userId, recipient }: NewMessage,
): Promise<void> {
  await trx.insertInto('messages').values({ id, kind, purpose, channel, user_id: userId, recipient }).execute()
}

/** The outcome of an attempt. `error` is `undefined` if the mail server or gateway has accepted the messages. */
export interface MessageOutcome {
  readonly status: MessageStatus
  /** The number of the attempt, from 1. */
  readonly attempt: number
  readonly error?: string | undefined
}

/** Records the outcome of an attempt. Messages queued by an earlier release may have no row. */
export async function updateMessages(
  db: Db,
  ids: readonly string[],
  { status, attempt, error }: MessageOutcome,
): Promise<void> {
  await db
    .updateTable('messages')
    .set({
      status,
      attempts: attempt,
      error: error ?? null,
      sent_at: status === 'sent' ? sql<string>`clock_timestamp()` : null,
    })
    .where('id', 'in', [...ids])
    .execute()
}

const LOST_ROWS_MAX = 100

/** The error of a message whose job is over without a recorded attempt. */
const UNNOTED = 'no attempt has ended'

/**
 * Marks at most 100 waiting messages as failed that are older than any job can be. The process of the last attempt has died, or
 * the attempt took too long. Skips locked rows until the next batch.
 * @returns the number of messages
 */
export async function updateLostMessages(db: Db, before: Date): Promise<number> {
  const { numAffectedRows = 0n } = await lostMessagesStatement(before).execute(db)
  return Number(numAffectedRows)
}

/** The statement of `updateLostMessages`. Exported for a test of its query plan. */
export function lostMessagesStatement(before: Date): RawBuilder<unknown> {
  const messages = sql.table('messages')
  return sql`
    UPDATE ${messages} SET status = 'failed', error = coalesce(error, ${UNNOTED}) WHERE id IN (
      SELECT id FROM ${messages} WHERE status = 'waiting' AND status <> 'sent' AND created_at < ${before}
      ORDER BY created_at, id LIMIT ${sql.lit(LOST_ROWS_MAX)} FOR UPDATE SKIP LOCKED)`
}

/** A list of messages in the order of creation. `undefined` does not filter. */
export interface MessageList {
  readonly user: string | undefined
  readonly status: MessageStatus | undefined
  readonly direction: 'asc' | 'desc'
  readonly limit: number
  /** The row after which the page begins. */
  readonly after: Cursor | undefined
}

/** Lists at most `limit` messages after `after`, by creation time and id, in the direction of the list. */
export async function listMessages(
  db: Db,
  { user, status, direction, limit, after }: MessageList,
): Promise<readonly Message[]> {
  const beyond = sql.raw(direction === 'asc' ? '>' : '<')
  const rows = await db
    .selectFrom('messages')
    .selectAll()
    .$if(user !== undefined, (query) => query.where('user_id', '=', user ?? ''))
    .$if(status !== undefined, (query) => query.where('status', '=', status ?? 'sent'))
    // Redundant, but the planner needs it to use the partial index of such messages.
    .$if(status !== undefined && status !== 'sent', (query) => query.where('status', '<>', 'sent'))
    .$if(after !== undefined, (query) =>
      query.where(sql<boolean>`(created_at, id) ${beyond} (${after?.createdAt}::timestamptz, ${after?.id}::uuid)`),
    )
    .orderBy('created_at', direction)
    .orderBy('id', direction)
    .limit(limit)
    .execute()
  return rows.map(toMessage)
}

/** Finds a message. Returns `undefined` if it does not exist or was cleaned up. */
export async function findMessage(db: Db, id: string): Promise<Message | undefined> {
  const row = await db.selectFrom('messages').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toMessage(row)
}

function toMessage(row: Selectable<MessagesTable>): Message {
  const { id, kind, purpose, channel, recipient, status, attempts, error } = row
  return {
    id,
    kind,
    purpose,
    channel,
    userId: row.user_id,
    recipient,
    status,
    attempts,
    error,
    createdAt: row.created_at,
    sentAt: row.sent_at,
  }
}
