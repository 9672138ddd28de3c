import { type Kysely, type RawBuilder, sql } from 'kysely'
import { CustomProviderSettings } from '../../external-providers/custom-provider.ts'
import { hasRelation, readColumns } from '../../schema/catalog.ts'
import { readUpstreamSecret, type Sealing, sealOptional, sealSecret } from '../../secrets/sealed-secret.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { type CopyContext, notAfter } from './copy-live-rows.ts'
import type { Lifetimes } from './lifetimes.ts'

/** The transaction and the places of a copy, and the keys that seal the copied secrets. */
export interface SealedCopyContext extends CopyContext {
  readonly sealing: Sealing
}

interface OldFlow {
  readonly id: string
  readonly access: string | null
  readonly refresh: string | null
}

/** Each flow has at most two tokens of a provider, which are sealed in this process. */
const BATCH_FLOWS = 1_000

/**
 * Copies flows that are still open, but for those of users who are gone. A flow of which the old service has
 * issued the code waits for its exchange. Anybody may begin any number of flows, and requests wait meanwhile:
 * so one statement copies them all.
 */
export async function copyFlows(context: SealedCopyContext): Promise<void> {
  const { trx, places, lifetimes } = context
  if (!(await hasRelation(trx, places.kept, 'flow_state'))) return
  const { names } = places
  const column = await readColumns(trx, places.kept, 'flow_state')
  const columnOrNull = (name: string, type: string): RawBuilder<unknown> =>
    column.has(name) ? sql.ref(`f.${name}`) : sql`NULL::${sql.raw(type)}`
  const target = columnOrNull('linking_target_id', 'uuid')
  const isThere = (id: RawBuilder<unknown>) =>
    sql`(${id} IS NULL OR EXISTS (SELECT FROM ${names.id('users')} u WHERE u.id = ${id}))`
  // Versions that do not note when a code was issued make it with the flow.
  const now = sql`${lifetimes.now}::timestamptz`
  const issued = column.has('auth_code_issued_at')
    ? notAfter(sql.ref('f.auth_code_issued_at'), now)
    : sql`CASE WHEN f.user_id IS NOT NULL THEN ${notAfter(sql.ref('f.updated_at'), now)} END`
  const begun = notAfter(sql.ref('f.created_at'), now)
  await sql`
    INSERT INTO ${names.id('flow_state')} (id, user_id, provider_type, authentication_method, code_challenge,
        code_challenge_method, auth_code_hash, auth_code_issued_at, redirect_to, linking_target_id, email_optional, created_at)
      SELECT f.id, f.user_id, f.provider_type, f.authentication_method, f.code_challenge, f.code_challenge_method::text,
          CASE WHEN ${issued} IS NOT NULL AND f.auth_code <> '' THEN sha256(convert_to(f.auth_code, 'UTF8')) END, ${issued},
          ${columnOrNull('referrer', 'text')}, ${target}, coalesce(${columnOrNull('email_optional', 'boolean')}, false), ${begun}
        FROM ${sql.id(places.kept, 'flow_state')} f
        WHERE f.authentication_method IN ('email/signup', 'magiclink', 'recovery', 'invite', 'email_change', 'oauth')
          AND ${isThere(sql`f.user_id`)} AND ${isThere(target)}
          AND coalesce(${issued}, ${begun}) > ${now} - make_interval(secs => CASE
            WHEN f.provider_type = 'email' AND ${issued} IS NULL THEN ${lifetimes.mailCodeSeconds}::float8
            ELSE ${lifetimes.flowSeconds}::float8 END)`.execute(trx)
  await copyProviderTokens(context)
}

/** The old service stores the tokens of a provider in clear text, and only with flows that have come back from it. */
async function copyProviderTokens({ trx, places: { names, kept }, sealing }: SealedCopyContext): Promise<void> {
  const { rows } = await sql<OldFlow>`
    SELECT o.id, nullif(o.provider_access_token, '') AS access, nullif(o.provider_refresh_token, '') AS refresh
      FROM ${names.id('flow_state')} f JOIN ${sql.id(kept, 'flow_state')} o ON o.id = f.id
      WHERE o.provider_access_token <> '' OR o.provider_refresh_token <> ''`.execute(trx)
  for (let start = 0; start < rows.length; start += BATCH_FLOWS) {
    const batch = rows.slice(start, start + BATCH_FLOWS)
    const seal = (id: string, token: string | null) => JSON.stringify(sealOptional(sealing, id, token ?? undefined))
    await sql`
      UPDATE ${names.id('flow_state')} f
        SET provider_access_token = nullif(t.access, 'null'), provider_refresh_token = nullif(t.refresh, 'null')
        FROM unnest(${batch.map(({ id }) => id)}::uuid[], ${batch.map(({ id, access }) => seal(id, access))}::jsonb[],
          ${batch.map(({ id, refresh }) => seal(id, refresh))}::jsonb[]) t (id, access, refresh)
        WHERE f.id = t.id`.execute(trx)
  }
}

/** About how many flows are open in a database of supabase/auth: an adoption copies these. None where a version has no flows. */
export async function countOpenFlows(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
  { now, mailCodeSeconds, flowSeconds }: Lifetimes,
): Promise<number> {
  if (!(await hasRelation(db, names.schema, 'flow_state'))) return 0
  const openSince = new Date(now.getTime() - Math.max(mailCodeSeconds, flowSeconds) * 1_000)
  const { rows } = await sql<{ count: string }>`
    SELECT count(*) AS count FROM ${names.id('flow_state')} WHERE greatest(created_at, updated_at) > ${openSince}`.execute(
    db,
  )
  return Number(rows[0]?.count ?? 0)
}

type OldProvider = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly identifier: string
  readonly client_secret: string
}

/**
 * Copies custom providers.
 * @returns the identifiers of providers that cannot be copied: their secret does not open, or their metadata were never fetched
 */
export async function copyCustomProviders({ trx, places, sealing }: SealedCopyContext): Promise<readonly string[]> {
  if (!(await hasRelation(trx, places.kept, 'custom_oauth_providers'))) return []
  const { rows } = await sql<OldProvider>`SELECT * FROM ${sql.id(places.kept, 'custom_oauth_providers')}`.execute(trx)
  const left: string[] = []
  for (const provider of rows) {
    const { id, identifier, client_secret: secret } = provider
    const settings = toSettings(provider)
    const opened = readUpstreamSecret(sealing.encryptionKeys, id, secret)
    if (settings === undefined || opened === undefined) {
      left.push(identifier)
      continue
    }
    await sql`
      INSERT INTO ${places.names.id('custom_oauth_providers')}
          (id, identifier, client_secret, settings, created_at, updated_at)
        SELECT id, identifier, ${JSON.stringify(sealSecret(sealing, id, opened))}::jsonb, ${JSON.stringify(settings)}::jsonb,
            created_at, updated_at
          FROM ${sql.id(places.kept, 'custom_oauth_providers')} WHERE id = ${id}`.execute(trx)
  }
  return left
}

/** The columns have the names of the members. Undefined where the settings do not meet the rules of this service. */
function toSettings(provider: OldProvider): CustomProviderSettings | undefined {
  const present = Object.entries(provider).filter(([, value]) => value !== null)
  const members = { ...Object.fromEntries(present), discovery_document: provider.cached_discovery }
  return CustomProviderSettings.safeParse(members).data
}

/** The custom providers whose copy would not meet the rules of this service, before anything moves. */
export async function listUnfitProviders(
  db: Kysely<unknown>,
  { names }: AdoptionPlaces,
  { encryptionKeys }: Pick<Sealing, 'encryptionKeys'>,
): Promise<readonly string[]> {
  if (!(await hasRelation(db, names.schema, 'custom_oauth_providers'))) return []
  const { rows } = await sql<OldProvider>`SELECT * FROM ${names.id('custom_oauth_providers')}`.execute(db)
  const opens = ({ id, client_secret: secret }: OldProvider) =>
    readUpstreamSecret(encryptionKeys, id, secret) !== undefined
  return rows.filter((row) => toSettings(row) === undefined || !opens(row)).map(({ identifier }) => identifier)
}
