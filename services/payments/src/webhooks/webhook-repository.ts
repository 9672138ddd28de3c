import { columnsOfRow } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare, routeByTenant } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type Caller, type CallerColumns, callerColumns, callerRow } from '../access/caller.ts'
import { type AccessResult, type Judged, splitVerdict, type Verdict } from '../access/verdict.ts'
import type { Db } from '../database.ts'
import { type BelowListInput, listBelowMerchant, readBelow } from '../pagination/list-below-merchant.ts'
import type { PageBounds } from '../pagination/page-query.ts'
import type { DeliveryJob } from './delivery.ts'
import type { Cancellation } from './delivery-attempt.ts'
import type { EventType, MerchantEvent } from './event.ts'
import { type EventColumns, eventColumns, toEvent } from './event-repository.ts'
import type { EncryptedSecrets, Webhook } from './webhook.ts'

interface WebhookColumns {
  id: string
  merchant_id: string
  url: string
  events: EventType[]
  secret_sealed: Buffer
  previous_sealed: Buffer | null
  previous_until: Date | null
  disabled: Date | null
  created: Date
}

const COLUMNS = 'id, merchant_id, url, events, secret_sealed, previous_sealed, previous_until, disabled, created'

const listQueries = listBelowMerchant<BelowListInput, WebhookColumns>('list_webhooks', {
  table: 'webhooks',
  columns: () => columnsOfRow('r', COLUMNS),
})

/** Returns a page of a merchant's webhooks. The page has at most `limit` webhooks, by id in the order of `input`. */
export async function listWebhooks(
  pools: Pools,
  input: BelowListInput & Pick<PageBounds, 'order'>,
): Promise<AccessResult & { readonly webhooks: readonly Webhook[] }> {
  const { rows, ...access } = await readBelow(pools, listQueries, input)
  return { ...access, webhooks: rows.map(toWebhook) }
}

const selectOfMerchant = (merchantId: string) => sql<WebhookColumns>`
  SELECT ${columnsOfRow('r', COLUMNS)} FROM ${sql.table('webhooks')} r WHERE r.merchant_id = ${merchantId} ORDER BY r.id`

/** Returns the webhooks of a merchant, at most ten, for an operator's command. */
export async function listMerchantWebhooks(db: Db, merchantId: string): Promise<readonly Webhook[]> {
  return (await selectOfMerchant(merchantId).execute(db)).rows.map(toWebhook)
}

const shownQuery = prepare('webhooks_of_merchant', (p: { merchantId: string }) => selectOfMerchant(p.merchantId))

/** Returns at most ten webhooks, oldest first, by a prepared query of the read pool, for the console. */
export async function listShownWebhooks({ read }: Pools, merchantId: string): Promise<readonly Webhook[]> {
  return (await read.all(shownQuery, { merchantId })).map(toWebhook)
}

/** A verdict with the columns of the webhook. The columns are `null` if nothing changed. */
type ChangedWebhookRow<Refused extends string> = { verdict: Verdict | Refused; identity_id: string | null } & (
  | WebhookColumns
  | { id: null }
)

/** A webhook after its change. `webhook` is `undefined` if nothing changed. */
export interface ChangedWebhook extends AccessResult {
  readonly webhook: Webhook | undefined
}

/** A webhook to create. `webhook` is `null` if only access is checked. */
export interface CreateWebhookCall {
  readonly caller: Caller
  readonly merchantId: string
  readonly webhook: { readonly url: string; readonly events: readonly EventType[] } | null
  readonly encryptedSecret: Buffer
  /** Whether events of a test merchant may be sent without TLS. */
  readonly allowHttp: boolean
}

interface CreateColumns extends CallerColumns, Omit<CreateWebhookCall, 'caller' | 'webhook'> {
  readonly url: string | null
  readonly events: readonly EventType[] | null
}

const REFUSALS = ['not-https', 'too-many'] as const
type WebhookRefusal = (typeof REFUSALS)[number]

/** `not-https`: events would be sent without TLS. `too-many`: the merchant has reached the limit. */
export type CreatedWebhook =
  | { readonly verdict: 'created'; readonly webhook: Webhook }
  | { readonly verdict: WebhookRefusal }

const createQuery = prepare(
  'create_webhook',
  (p: CreateColumns) => sql<ChangedWebhookRow<WebhookRefusal>>`
    SELECT f.verdict, f.identity_id, ${columnsOfRow('(f.webhook)', COLUMNS)}
    FROM ${sql.table('create_webhook')}(
      ${callerRow(p)}, ${p.merchantId}, ${p.url}, ${p.events}, ${p.encryptedSecret}, ${p.allowHttp}
    ) f`,
)

/** Creates a webhook. An idempotent request returns the webhook of the first request. */
export async function callCreateWebhook(
  pools: Pools,
  { caller, webhook, ...input }: CreateWebhookCall,
): Promise<Judged<CreatedWebhook>> {
  const { url = null, events = null } = webhook ?? {}
  const row = await pools.write.one(createQuery, { ...callerColumns(caller), ...input, url, events })
  const [verdict, refusal] = splitVerdict(row.verdict, REFUSALS)
  const created = row.id === null ? undefined : { verdict: 'created' as const, webhook: toWebhook(row) }
  return { verdict, identityId: row.identity_id, outcome: refusal ? { verdict: refusal } : created }
}

/** A new secret for a webhook. `encryptedSecret` is `null` if only access is checked. */
export interface RotateSecretCall {
  readonly caller: Caller
  readonly merchantId: string
  readonly webhookId: string
  readonly encryptedSecret: Buffer | null
}

const rotateQuery = prepare(
  'rotate_webhook_secret',
  (p: CallerColumns & Omit<RotateSecretCall, 'caller'>) => sql<ChangedWebhookRow<never>>`
    SELECT f.verdict, f.identity_id, ${columnsOfRow('(f.webhook)', COLUMNS)}
    FROM ${sql.table('rotate_webhook_secret')}(${callerRow(p)}, ${p.merchantId}, ${p.webhookId}, ${p.encryptedSecret}) f`,
)

/** Gives a webhook a new secret. Deliveries are signed with the previous secret too for one more day. */
export async function callRotateWebhookSecret(
  pools: Pools,
  { caller, ...input }: RotateSecretCall,
): Promise<ChangedWebhook> {
  const row = await pools.write.one(rotateQuery, { ...callerColumns(caller), ...input })
  return { verdict: row.verdict, identityId: row.identity_id, webhook: row.id === null ? undefined : toWebhook(row) }
}

/** A webhook to delete. `webhookId` is `null` if only access is checked. */
export interface DeleteWebhookCall {
  readonly caller: Caller
  readonly merchantId: string
  readonly webhookId: string | null
}

const deleteQuery = prepare(
  'delete_webhook',
  (p: CallerColumns & Omit<DeleteWebhookCall, 'caller'>) => sql<{ verdict: Verdict; identity_id: string | null }>`
    SELECT verdict, identity_id FROM ${sql.table('delete_webhook')}(${callerRow(p)}, ${p.merchantId}, ${p.webhookId})`,
)

/** Deletes a webhook. Each of its waiting deliveries is cancelled at the time of its next attempt. */
export async function callDeleteWebhook(pools: Pools, { caller, ...input }: DeleteWebhookCall): Promise<AccessResult> {
  const { verdict, identity_id } = await pools.write.one(deleteQuery, { ...callerColumns(caller), ...input })
  return { verdict, identityId: identity_id }
}

function toWebhook(row: WebhookColumns): Webhook {
  const { id, merchant_id, url, events, secret_sealed, previous_sealed, previous_until, disabled, created } = row
  const secrets = { current: secret_sealed, previous: previous_sealed, previousUntil: previous_until }
  return { id, merchantId: merchant_id, url, events, secrets, disabled, created }
}

/** An event to send, the URL of its webhook, and the secrets that sign the delivery. */
export interface Delivery {
  readonly event: MerchantEvent
  readonly url: string
  readonly test: boolean
  readonly secrets: EncryptedSecrets
}

/** The columns of the event are `null` if the event was deleted because of its age. */
type DeliveryColumns = (EventColumns | { readonly id: null }) & {
  readonly url: string
  readonly is_test: boolean
  readonly secret_sealed: Buffer
  readonly previous_sealed: Buffer | null
  readonly previous_until: Date | null
  readonly is_disabled: boolean
}

const findQuery = routeByTenant(
  prepare(
    'find_delivery',
    (p: DeliveryJob) => sql<DeliveryColumns>`
    SELECT ${eventColumns(sql`${p.merchantId}`)}, w.url, w.secret_sealed, w.previous_sealed, w.previous_until,
      w.disabled IS NOT NULL AS is_disabled, (SELECT m.test FROM ${sql.table('merchants')} m WHERE m.id = w.merchant_id) AS is_test
    FROM ${sql.table('webhooks')} w
    LEFT JOIN ${sql.table('events')} r ON r.merchant_id = w.merchant_id AND r.id = ${p.eventId}
    WHERE w.merchant_id = ${p.merchantId} AND w.id = ${p.webhookId}`,
  ),
  ({ merchantId }) => merchantId,
)

/** Returns the event and the webhook of a job, or the reason why the job must not send. */
export async function findDelivery(pools: Pools, job: DeliveryJob): Promise<Delivery | Cancellation> {
  const row = await pools.read.first(findQuery, job)
  if (!row) return 'webhook-deleted'
  if (row.is_disabled) return 'webhook-disabled'
  if (row.id === null) return 'event-expired'
  const { url, is_test, secret_sealed, previous_sealed, previous_until, is_disabled: _, ...event } = row
  const secrets = { current: secret_sealed, previous: previous_sealed, previousUntil: previous_until }
  return { event: toEvent(event), url, test: is_test, secrets }
}

/** The ids of enabled webhooks with a plain HTTP URL that is not allowed. Only test merchants may use plain HTTP. */
export async function listWebhooksWithoutTls(db: Db, allowHttp: boolean): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    SELECT w.id FROM ${sql.table('webhooks')} w JOIN ${sql.table('merchants')} m ON m.id = w.merchant_id
    WHERE w.disabled IS NULL AND NOT starts_with(w.url, 'https://') AND NOT (m.test AND ${allowHttp}::boolean)
    ORDER BY w.id`.execute(db)
  return rows.map(({ id }) => id)
}

const disableQuery = prepare(
  'disable_webhook',
  (p: Omit<DeliveryJob, 'eventId'>) => sql`SELECT ${sql.table('disable_webhook')}(${p.merchantId}, ${p.webhookId})`,
)

/** Disables a webhook and inserts an event about this. */
export async function callDisableWebhook(pools: Pools, job: DeliveryJob): Promise<void> {
  await pools.write.one(disableQuery, job)
}

/** Events to send again. Only events with ids greater than `after` are sent. */
export interface ReplayWebhookCall {
  readonly merchantId: string
  readonly webhookId: string
  readonly after: string
}

const replayQuery = prepare(
  'replay_webhook',
  (p: ReplayWebhookCall) => sql<{ events: bigint | null }>`
    SELECT ${sql.table('replay_webhook')}(${p.merchantId}, ${p.webhookId}, ${p.after}) AS events`,
)

/** Queues events to be sent again. Resolves to their number, or to `undefined` if the webhook does not exist. */
export async function callReplayWebhook(pools: Pools, input: ReplayWebhookCall): Promise<number | undefined> {
  const { events } = await pools.write.one(replayQuery, input)
  return events === null ? undefined : Number(events)
}
