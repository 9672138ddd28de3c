import { html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { changeLinks, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { filterForm, type ListQuery, listCard } from '../pages/list.ts'
import { badge, copyableId, emptyState, pageHead, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { APPS_PATH, appChanges } from './app-changes.ts'

const Key = z.looseObject({
  keyHint: z.string(),
  created: z.string(),
  lastUsed: z.string().optional(),
  revoked: z.string().optional(),
})
const App = z.looseObject({ id: z.string(), name: z.string().optional(), created: z.string(), keys: z.array(Key) })
type App = z.infer<typeof App>

/** A page of apps. */
export const AppsView = z.object({ apps: z.array(App) })

/** The list of apps with the hints of their keys. */
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
