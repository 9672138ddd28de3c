import type { Pools } from '@trestle/database/pools.ts'
import { type PreparedQuery, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import { prepareForCaller, sqlFragment, verdictColumns } from '../access/access-query.ts'
import { type Caller, type CallerColumns, type Credentials, callerColumns, callerRow } from '../access/caller.ts'
import { type AccessResult, type Judged, splitVerdict, type Verdict } from '../access/verdict.ts'
import type { PageBounds } from '../pagination/page-query.ts'
import type { AppMember, UserMember } from './member.ts'

/** A page of the members of a merchant. `limit` is 0 if only access is checked. */
export interface ListMembersInput extends Credentials, Omit<PageBounds, 'order'> {
  readonly merchantId: string
  /** `true` restricts the list to a test merchant, and `false` to a live merchant. */
  readonly test: boolean | undefined
}

/** A verdict with the columns of a member. The columns are `null` if there is no member. */
type MemberRow<Columns> = { readonly verdict: Verdict; readonly identity_id: string | null } & (
  | Columns
  | { readonly id: null }
)

/** The queries of a list of members, one for each order. */
type MemberList<Columns> = Readonly<Record<PageBounds['order'], PreparedQuery<ListMembersInput, MemberRow<Columns>>>>

/**
 * Declares the list of the apps or users of a merchant. Members of the merchant may read it. It is ordered by the id that the
 * list shows.
 * @param noun the kind of member. `shownId` is the shown id, as an expression over the membership `l`
 * @param columns the selected columns of the app or user `o` and its membership `s`
 */
function declareMemberList<Columns>(
  { noun, shownId }: { readonly noun: 'app' | 'user'; readonly shownId: RawBuilder<unknown> },
  columns: RawBuilder<unknown>,
): MemberList<Columns> {
  const memberId = sql.ref(`${noun}_id`)
  const query = (name: string, order: RawBuilder<unknown>) =>
    prepareForCaller(
      name,
      ({ fromCaller, joinMembership }, p: ListMembersInput) => sql<MemberRow<Columns>>`
    SELECT ${verdictColumns(sql`m.id`)}, ${columns}
    ${fromCaller}
    LEFT JOIN ${sql.table('merchants')} m ON m.id = ${p.merchantId}
    ${joinMembership(sql`m.id`)}
    LEFT JOIN LATERAL (
      SELECT ${shownId} AS shown_id, l.* FROM ${sql.table(`merchant_${noun}s`)} l
      WHERE l.merchant_id = a.merchant_id AND ${shownId} > ${p.above} AND ${shownId} < ${p.below}
        AND (${p.test}::boolean IS NULL OR m.test = ${p.test}::boolean)
      ORDER BY ${shownId} ${order} LIMIT ${p.limit}
    ) s ON true
    LEFT JOIN ${sql.table(`${noun}s`)} o ON o.id = s.${memberId}
    ORDER BY s.shown_id ${order}`,
    )
  return {
    'newest-first': query(`list_${noun}_members`, sql`DESC`),
    'oldest-first': query(`list_${noun}_members_reversed`, sql`ASC`),
  }
}

interface AppMemberColumns {
  id: string
  name: string | null
  key_hint: string | null
  created: Date
}

/**
 * Anybody may add another person's app to their own merchant. So the key hint is shown only to the app itself, and at merchants
 * where no other member added the app.
 */
const appListQueries = declareMemberList<AppMemberColumns>(
  { noun: 'app', shownId: sql`l.app_id` },
  sql`o.id, o.name, o.created,
    CASE WHEN o.name IS NULL AND NOT o.hidden AND (s.invited_by IS NULL OR s.app_id = c.identity_id) THEN (
      SELECT k.hint FROM ${sql.table('app_keys')} k
      WHERE k.app_id = o.id AND ${sqlFragment('is_good_key.sql', { key: sql`k` })}
      ORDER BY k.id DESC LIMIT 1
    ) END AS key_hint`,
)

/** Returns a page of the apps of a merchant, at most `input.limit`, by id in `order`. */
export async function listAppMembers(
  pools: Pools,
  input: ListMembersInput,
  order: PageBounds['order'],
): Promise<AccessResult & { readonly apps: readonly AppMember[] }> {
  const rows = await pools.read.all(appListQueries[order], input)
  const { verdict = 'unauthorized', identity_id = null } = rows[0] ?? {}
  return { verdict, identityId: identity_id, apps: rows.flatMap((row) => toAppMember(row) ?? []) }
}

function toAppMember(row: MemberRow<AppMemberColumns>): AppMember | undefined {
  if (row.id === null) return undefined
  const { id, name, key_hint, created } = row
  return { id, name, keyHint: key_hint, created }
}

/** An app to add to a merchant. `appId` is `null` if only access is checked. */
export interface AddAppCall {
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

const addQuery = prepareOnCoordinator(
  'add_app',
  (p: CallerColumns & Omit<AddAppCall, 'caller'>) => sql<AddedRow>`
    SELECT f.verdict, f.identity_id, (f.app).id, (f.app).name
    FROM ${sql.table('add_app')}(${callerRow(p)}, ${p.merchantId}, ${p.appId}) f`,
)

/** The result of adding an app. `unknown-app`: no app has the id. */
export type AddedApp =
  | { readonly verdict: 'added'; readonly app: Pick<AppMember, 'id' | 'name'> }
  | { readonly verdict: 'unknown-app' }

/** Makes an app a member of a merchant. Changes nothing if the app is already a member. */
export async function callAddApp(pools: Pools, { caller, ...input }: AddAppCall): Promise<Judged<AddedApp>> {
  const row = await pools.write.one(addQuery, { ...callerColumns(caller), ...input })
  const [verdict] = splitVerdict(row.verdict, ['unknown-app'])
  return { verdict, identityId: row.identity_id, outcome: toAddedApp(row) }
}

function toAddedApp({ verdict, id, name }: AddedRow): AddedApp | undefined {
  if (verdict === 'unknown-app') return { verdict }
  return id === null ? undefined : { verdict: 'added', app: { id, name } }
}

/**
 * All merchants share the record of a user. Until the user accepts the invitation, a merchant must not see anything of this
 * record, not even whether it existed before.
 */
const userListQueries = declareMemberList<UserMember>(
  { noun: 'user', shownId: sql`coalesce(l.member_id, l.user_id)` },
  sql`s.shown_id AS id, coalesce(s.email, o.email) AS email, CASE WHEN NOT s.pending THEN o.name END AS name,
    CASE WHEN s.member_id IS NULL THEN o.created ELSE s.created END AS created, s.pending`,
)

/** Returns at most `input.limit` users of a merchant, including invited users, by id in `order`. */
export async function listUserMembers(
  pools: Pools,
  input: ListMembersInput,
  order: PageBounds['order'],
): Promise<AccessResult & { readonly users: readonly UserMember[] }> {
  const rows = await pools.read.all(userListQueries[order], input)
  const { verdict = 'unauthorized', identity_id = null } = rows[0] ?? {}
  return { verdict, identityId: identity_id, users: rows.flatMap((row) => toUserMember(row) ?? []) }
}

function toUserMember(row: MemberRow<UserMember>): UserMember | undefined {
  if (row.id === null) return undefined
  const { id, email, name, pending, created } = row
  return { id, email, name, pending, created }
}

/** The most apps, and the most users, that an operator sees of a merchant. */
const SHOWN_MEMBERS_MAX = 100

const appsQuery = prepareOnCoordinator(
  'apps_of_merchant',
  (p: { merchantId: string }) => sql<AppMemberColumns>`
    SELECT o.id, o.name, o.created, CASE WHEN NOT o.hidden THEN (
      SELECT k.hint FROM ${sql.table('app_keys')} k
      WHERE k.app_id = o.id AND ${sqlFragment('is_good_key.sql', { key: sql`k` })}
      ORDER BY k.id DESC LIMIT 1
    ) END AS key_hint
    FROM ${sql.table('merchant_apps')} s JOIN ${sql.table('apps')} o ON o.id = s.app_id
    WHERE s.merchant_id = ${p.merchantId} ORDER BY o.id DESC LIMIT ${sql.lit(SHOWN_MEMBERS_MAX)}`,
)

const usersQuery = prepareOnCoordinator(
  'users_of_merchant',
  (p: { merchantId: string }) => sql<UserMember>`
    SELECT coalesce(s.member_id, s.user_id) AS id, coalesce(s.email, o.email) AS email, o.name, o.created, s.pending
    FROM ${sql.table('merchant_users')} s JOIN ${sql.table('users')} o ON o.id = s.user_id
    WHERE s.merchant_id = ${p.merchantId} ORDER BY 1 DESC LIMIT ${sql.lit(SHOWN_MEMBERS_MAX)}`,
)

/** Returns the newest 100 apps and 100 users of a merchant for an operator, who sees the whole records. */
export async function listMembersOfMerchant(
  { read }: Pools,
  merchantId: string,
): Promise<{ readonly apps: readonly AppMember[]; readonly users: readonly UserMember[] }> {
  const [apps, users] = await Promise.all([read.all(appsQuery, { merchantId }), read.all(usersQuery, { merchantId })])
  return { apps: apps.map(({ key_hint, ...app }) => ({ ...app, keyHint: key_hint })), users }
}

/** A membership to end. `memberId` is `null` if only access is checked. */
export interface RevokeMemberCall {
  readonly caller: Caller
  readonly merchantId: string
  readonly memberId: string | null
}

const revokeQueries = { app: revokeQuery('revoke_app'), user: revokeQuery('revoke_user') }

function revokeQuery(name: string) {
  return prepareOnCoordinator(
    name,
    (p: CallerColumns & Omit<RevokeMemberCall, 'caller'>) => sql<{
      verdict: Verdict | 'last-app' | 'last-user'
      identity_id: string | null
    }>`
    SELECT verdict, identity_id FROM ${sql.table(name)}(${callerRow(p)}, ${p.merchantId}, ${p.memberId})`,
  )
}

/**
 * Ends the membership of an app or a user, or a pending invitation. The next request of the former member is already refused.
 * `isLast` is `true` if the only member of a live merchant wanted to leave. Nothing changes in this case.
 */
export async function callRevokeMember(
  pools: Pools,
  noun: 'app' | 'user',
  { caller, ...input }: RevokeMemberCall,
): Promise<AccessResult & { readonly isLast: boolean }> {
  const row = await pools.write.one(revokeQueries[noun], { ...callerColumns(caller), ...input })
  const [verdict, refusal] = splitVerdict(row.verdict, ['last-app', 'last-user'])
  return { verdict, identityId: row.identity_id, isLast: refusal !== undefined }
}
