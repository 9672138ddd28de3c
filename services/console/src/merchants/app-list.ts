import { html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { type Changeable, changeLinks, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, type ListQuery, listCard } from '../pages/list.ts'
import { badge, copyableId, emptyState, pageHead, time } from '../pages/parts.ts'
import { merchantPath } from '../pages/paths.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { answerWith } from '../service-calls/service-call.ts'
import type { ShownMerchant } from './merchant-changes.ts'

const Key = z.looseObject({
  keyHint: z.string(),
  created: z.string(),
  lastUsed: z.string().optional(),
  revoked: z.string().optional(),
})
const App = z.looseObject({ id: z.string(), name: z.string().optional(), created: z.string(), keys: z.array(Key) })
type App = z.infer<typeof App>

export const AppsView = z.object({ apps: z.array(App) })

/** Shows apps with the hints of their keys. */
export function appsPage(
  query: z.infer<typeof ListQuery>,
  { value, next }: Listed<z.infer<typeof AppsView>>,
  viewer: Viewer,
): ConsolePage {
  return {
    title: 'Apps',
    section: 'apps',
    main: html`${pageHead({ title: 'Apps' })}
${filterForm({ path: APPS_PATH, search: query.search, placeholder: 'Name, id, or last 4 of a key' })}
${listCard({
  label: 'Apps',
  path: APPS_PATH,
  columns: appColumns(viewer),
  rows: value.apps,
  next,
  query: { ...query },
  empty: emptyState('apps', query.search ? 'No app matches.' : 'No app is registered yet.'),
})}`,
  }
}

function appColumns(viewer: Viewer): readonly Column<App>[] {
  return [
    { label: 'App', cell: ({ name }) => html`<strong>${name ?? 'without a name'}</strong>` },
    { label: 'Id', cell: ({ id }) => copyableId(id) },
    {
      label: 'Keys',
      cell: ({ keys }) =>
        html`<ul class="lines">${keys.map(
          ({ keyHint, lastUsed, revoked }) =>
            html`<li><span><code>…${keyHint}</code> ${revoked === undefined ? badge('Good', 'good') : badge('Revoked', 'bad')}</span><span class="hint">${lastUsed === undefined ? 'never used' : html`used ${time(lastUsed)}`}</span></li>`,
        )}</ul>`,
    },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
    {
      label: '',
      cell: ({ id, name, keys }) =>
        html`${keys.some(({ revoked }) => revoked === undefined) ? changeLinks(appChanges, { app: { id, name } }, viewer) : undefined}`,
    },
  ]
}

/** An app, and the merchant whose page shows it. */
export interface KnownApp {
  /** `undefined` on the page of all apps. */
  readonly merchant?: Pick<ShownMerchant['merchant'], 'id' | 'name'>
  readonly app: Pick<ShownMerchant['apps'][number], 'id' | 'name'>
}

const APPS_PATH = '/apps'

const nameOf = ({ id, name }: KnownApp['app']) => name ?? id
const shownAt = ({ merchant }: KnownApp) => (merchant === undefined ? APPS_PATH : merchantPath(merchant.id))

export const appChanges: Changeable<KnownApp> = {
  service: 'payments',
  section: 'apps',
  pathOf: (shown) => {
    const above = shown.merchant === undefined ? APPS_PATH : `${merchantPath(shown.merchant.id)}/apps`
    return `${above}/${encodeURIComponent(shown.app.id)}`
  },
  shownAt,
  changes: [
    {
      name: 'keys',
      action: 'apps.revoke-keys',
      label: 'Revoke keys',
      title: ({ app }) => `Revoke all keys of ${nameOf(app)}`,
      isDangerous: true,
      consequences: ({ merchant, app }) => [
        `Every API key of ${nameOf(app)} stops working at once, for all merchants that the app serves.`,
        merchant === undefined
          ? 'Payments through this app fail until it has a new key.'
          : `Payments of ${merchant.name ?? merchant.id} through this app fail until it has a new key.`,
        'This cannot be undone.',
      ],
      call: ({ app }) => ({ method: 'DELETE', path: `/operator/apps/${encodeURIComponent(app.id)}/keys` }),
      answer: answerWith('revoked'),
      done: 'The keys of the app are revoked',
    },
  ],
}
