import { html } from '@trestle/common/documents/html.ts'
import type { z } from 'zod'
import type { ConsolePage } from '../pages/layout.ts'
import { filterForm, type ListQuery, listCard } from '../pages/list.ts'
import { type Decimals, money, type WithDecimals } from '../pages/money.ts'
import { badge, emptyState, pageHead, time } from '../pages/parts.ts'
import { merchantPath } from '../pages/paths.ts'
import type { Column } from '../pages/table.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import type { Merchant, MerchantsView } from './merchant-view.ts'

/** The query in the address of the list of merchants. */
export interface MerchantsQuery extends z.infer<typeof ListQuery> {
  readonly test?: string | undefined
}

/** The list of merchants. */
export function merchantsPage(
  query: MerchantsQuery,
  { value, next }: Listed<WithDecimals<z.infer<typeof MerchantsView>>>,
): ConsolePage {
  const path = '/merchants'
  const isFiltered = [query.search, query.test].some(Boolean)
  return {
    title: 'Merchants',
    section: 'merchants',
    main: html`${pageHead({ title: 'Merchants' })}
${filterForm({
  path,
  search: query.search,
  placeholder: 'Id, public key, name, email or website',
  choices: [
    {
      name: 'test',
      label: 'Mode',
      value: query.test,
      options: [
        ['', 'Live and test'],
        ['false', 'Live'],
        ['true', 'Test'],
      ],
    },
  ],
})}
${listCard({
  label: 'Merchants',
  path,
  columns: merchantColumns(value.decimals),
  rows: value.merchants,
  next,
  query: { ...query },
  empty: emptyState(
    'merchants',
    isFiltered ? 'No merchant matches.' : 'There is no merchant yet. An app makes one by the API.',
  ),
})}`,
  }
}

function merchantColumns(decimals: Decimals): readonly Column<Merchant>[] {
  return [
    {
      label: 'Merchant',
      cell: ({ id, name }) => html`<a class="main-link" href="${merchantPath(id)}">${name ?? id}</a>`,
    },
    { label: 'Mode', kind: 'state', cell: ({ test }) => (test ? badge('Test') : badge('Live', 'good')) },
    { label: 'Balance', kind: 'number', cell: ({ balance, currency }) => money(balance, currency, decimals) },
    { label: 'Email', kind: 'gone', cell: ({ email }) => email },
    { label: 'Id', kind: 'wide', cell: ({ id }) => html`<code>${id}</code>` },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
  ]
}
