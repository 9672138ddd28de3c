import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Judged, Verdict } from '../access/admit.ts'
import { type Caller, type CallerColumns, callerColumns, callerRow } from '../access/caller.ts'
import type { PageBounds } from '../pagination/cursor.ts'
import type { AppMember } from './app-member.ts'
import { type ListMembersInput, listMembers, type MemberRow } from './list-members.ts'

interface AppMemberColumns {
  id: string
  name: string | null
  key_hint: string | null
  created: Date
}

/** Anybody can add an app to a merchant of theirs. Its key hint is for who works with the app: itself, and who it let in. */
const listQueries = listMembers<AppMemberColumns>(
  { noun: 'app', shownId: sql`l.app_id` },
  sql`o.id, o.name, o.created,
    CASE WHEN o.name IS NULL AND NOT o.hidden AND (s.invited_by IS NULL OR s.app_id = c.identity_id) THEN (
      SELECT k.hint FROM ${sql.table('app_keys')} k
      WHERE k.app_id = o.id AND k.revoked IS NULL AND (k.expires IS NULL OR k.expires > now())
      ORDER BY k.id DESC LIMIT 1
    ) END AS key_hint`,
)

/** A page of the apps of a merchant. */
export async function listAppMembers(
  lanes: Lanes,
  input: ListMembersInput,
  order: PageBounds['order'],
): Promise<Judged & { readonly apps: readonly AppMember[] }> {
  const rows = await lanes.read.all(listQueries[order], input)
  const { verdict = 'unauthorized', identity_id = null } = rows[0] ?? {}
  return { verdict, identityId: identity_id, apps: rows.flatMap((row) => toAppMember(row) ?? []) }
}

function toAppMember(row: MemberRow<AppMemberColumns>): AppMember | undefined {
  if (row.id === null) return undefined
  const { id, name, key_hint, created } = row
  return { id, name, keyHint: key_hint, created }
}

/** `appId` is null when only access is to be checked. */
export interface AddAppInput {
  readonly caller: Caller
  readonly merchantId: string
  readonly appId: string | null
}

interface AddedRow {
  verdict: Verdict | 'unknown-app'
  identity_id: string | null
  id: string | null
  name: string | null
}

const addQuery = prepare(
  'add_app',
  (p: CallerColumns & Omit<AddAppInput, 'caller'>) => sql<AddedRow>`
    SELECT f.verdict, f.identity_id, (f.app).id, (f.app).name
    FROM ${sql.table('add_app')}(${callerRow(p)}, ${p.merchantId}, ${p.appId}) f`,
)

/** Whether the app is a member now; undefined when there is no such app. */
export interface AddedApp extends Judged {
  readonly app: Pick<AppMember, 'id' | 'name'> | undefined
}

/** Makes an app a member of a merchant, unless it is one. */
export async function callAddApp(lanes: Lanes, { caller, ...input }: AddAppInput): Promise<AddedApp> {
  const row = await lanes.write.one(addQuery, { ...callerColumns(caller), ...input })
  const verdict = row.verdict === 'unknown-app' ? 'done' : row.verdict
  return { verdict, identityId: row.identity_id, app: row.id === null ? undefined : { id: row.id, name: row.name } }
}
