import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { Listed } from '../service-calls/operator-calls.ts'
import type { Query, ServiceName } from '../service-calls/service-call.ts'
import type { ConsolePage } from './layout.ts'
import { type Column, filterForm, ListQuery, listCard, pageQuery } from './list.ts'
import { breakable, emptyState, jsonText, orDash, pageHead, tabs, time } from './parts.ts'

/** An entry of the audit log of any service (console reference: Audit of operators). */
interface Entry {
  readonly created: string
  readonly action: string
  /** Empty if the actor is unknown. */
  readonly actor: string
  readonly address: string
  /** All other recorded data. */
  readonly details: unknown
}

export const AuditQuery = ListQuery.extend({
  action: z.string().trim().max(64).optional(),
  user: z.string().max(64).optional(),
})
type AuditQuery = z.infer<typeof AuditQuery>

const AuthEntry = z.looseObject({
  payload: z.looseObject({ action: z.string(), actor_username: z.string().optional() }),
  created_at: z.string(),
  ip_address: z.string(),
})
const InventoryEntry = z.looseObject({
  created: z.string(),
  action: z.string(),
  actor: z.object({ email: z.string() }),
  address: z.string(),
})

const PaymentsEntry = z.looseObject({
  created: z.string(),
  action: z.string(),
  identityId: z.string().optional(),
  payload: z.looseObject({ actor: z.object({ email: z.string() }).optional(), address: z.string().optional() }),
})

/** An audit log and how to read it. */
export interface AuditLog {
  readonly service: ServiceName
  readonly label: string
  readonly query: (query: AuditQuery) => Query
  readonly entries: z.ZodType<readonly Entry[]>
  /** An example action for the hint of the filter. `undefined` if the log cannot be searched by action. */
  readonly example?: string
}

export const AUDIT_LOGS: readonly AuditLog[] = [
  {
    service: 'auth',
    label: 'Auth',
    query: ({ action, user, ...place }) => ({ ...pageQuery(place), action, user }),
    entries: z.object({ entries: z.array(AuthEntry) }).transform(({ entries }) =>
      entries.map(({ payload, created_at: created, ip_address: address }) => {
        const { action, actor_username: actor = '', ...details } = payload
        return { created, action, actor, address, details }
      }),
    ),
    example: 'users.ban',
  },
  {
    service: 'payments',
    label: 'Payments',
    query: ({ action, user: actor, ...place }) => ({ ...pageQuery(place), action, actor }),
    entries: z.object({ entries: z.array(PaymentsEntry) }).transform(({ entries }) =>
      entries.map(({ created, action, identityId = '', payload, ...details }) => ({
        created,
        action,
        actor: payload.actor?.email ?? identityId,
        address: payload.address ?? '',
        details: { ...details, ...payload },
      })),
    ),
    example: 'payouts.run',
  },
  {
    service: 'inventory',
    label: 'Inventory',
    query: pageQuery,
    entries: z.object({ data: z.array(InventoryEntry) }).transform(({ data }) =>
      data.map(({ created, action, actor, address, ...details }) => ({
        created,
        action,
        actor: actor.email,
        address,
        details,
      })),
    ),
  },
]

/** @param logs the audit logs of the services that are set up */
export function auditPage(
  query: AuditQuery,
  { value, next }: Listed<readonly Entry[]>,
  { log, logs }: { readonly log: AuditLog; readonly logs: readonly AuditLog[] },
): ConsolePage {
  const path = auditPath(log.service)
  const { action, user } = query
  const kept = [{ name: 'user', label: `User ${user ?? ''}`, value: user }]
  return {
    title: 'Audit',
    section: 'audit',
    main: html`${pageHead({ title: 'Audit' })}
${tabs(
  'Services',
  logs.map(({ label, service }) => [auditPath(service), label] as const),
  path,
)}
${log.example === undefined ? undefined : filterForm({ path, search: action, searchName: 'action', placeholder: `Whole action, such as ${log.example}`, kept })}
${listCard({
  label: 'Audit log',
  path,
  columns: COLUMNS,
  rows: value,
  next,
  query: { ...query },
  empty: emptyState('audit', action || user ? 'No entry matches.' : 'No changes yet.'),
})}`,
  }
}

export function auditPath(service: ServiceName): string {
  return `/audit/${service}`
}

const COLUMNS: readonly Column<Entry>[] = [
  { label: 'Action', cell: ({ action }) => html`<strong>${breakable(action)}</strong>` },
  { label: 'By', kind: 'bare', cell: ({ actor }) => orDash(actor && actorOf(actor)) },
  { label: 'Address', cell: ({ address }) => orDash(address && html`<code>${address}</code>`) },
  { label: 'Details', kind: 'state', cell: ({ details }) => detailsOf(details) },
  { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
]

/** Shows the actor of an entry: an email address, or the id of an app. */
function actorOf(actor: string): Html {
  return actor.includes('@') ? html`<span class="long">${actor}</span>` : html`<code>${actor}</code>`
}

function detailsOf(details: unknown): Html {
  return html`<details><summary>Details</summary><pre tabindex="0">${jsonText(details)}</pre></details>`
}
