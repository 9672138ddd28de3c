import { type Html, html } from '@trestle/common/documents/html.ts'
import { mayDo, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { z } from 'zod'
import {
  changeForm,
  checkField,
  choiceField,
  descriptionAttributes,
  type FormProof,
  hintOf,
  type Problem,
} from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type ListQuery, listCard } from '../pages/list.ts'
import { badge, card, count, emptyState, pageHead, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { IMPORTS_PATH, type Import, importPath, modeText, stateTone } from './import-view.ts'

/** The data of the page of imports. */
export interface ImportsPage {
  readonly query: z.infer<typeof ListQuery>
  readonly listed: Listed<readonly Import[]>
  readonly role: OperatorRole
  readonly proof: FormProof
  /** Why the last file was not taken. */
  readonly problem?: Problem | undefined
}

const COLUMNS: readonly Column<Import>[] = [
  { label: 'Import', cell: ({ id }) => html`<a class="main-link" href="${importPath(id)}">Import ${id}</a>` },
  { label: 'State', kind: 'state', cell: ({ state }) => badge(state, stateTone(state)) },
  { label: 'By', kind: 'bare', cell: ({ createdBy }) => html`<span class="long">${createdBy.email}</span>` },
  { label: 'Takes', kind: 'gone', cell: (each) => modeText(each) },
  { label: 'Records', kind: 'number', cell: ({ processed, total }) => `${count(processed)} of ${count(total)}` },
  { label: 'Started', kind: 'created', cell: ({ created }) => time(created) },
]

/** Files of products: what is imported, and what can be downloaded. */
export function importsPage({ query, listed, role, proof, problem }: ImportsPage): ConsolePage {
  return {
    title: 'Import and export',
    section: 'imports',
    main: html`${pageHead({ title: 'Import and export' })}
<div class="stack">
${mayDo(role, 'products.import') ? importCard(proof, problem) : undefined}
${exportCard()}
${listCard({
  label: 'Imports of the last 30 days',
  hasHead: true,
  path: IMPORTS_PATH,
  columns: COLUMNS,
  rows: listed.value,
  next: listed.next,
  query: { ...query },
  empty: emptyState('products', 'No file was imported yet.'),
})}
</div>`,
  }
}

/** The file comes last, so that what is said of it is known before it is read. */
function importCard(proof: FormProof, problem: Problem | undefined): Html {
  const file = {
    name: 'file',
    hint: 'CSV with the columns sku and attributes, or attributes.color and the like; or NDJSON, a product a line.',
    problem,
  }
  const fields = html`${choiceField({
    name: 'mode',
    label: 'Products whose SKU is there already',
    value: 'insert',
    options: [
      ['insert', 'are reported as errors'],
      ['skip', 'stay as they are'],
      ['upsert', 'get the attributes of the file'],
    ],
  })}
${checkField({ name: 'atomic', label: 'All products, or none', isChecked: false })}
${checkField({ name: 'dryRun', label: 'Only try, and store nothing', isChecked: false })}
<div class="field"><label for="file">File</label>
<input id="file" name="file" type="file" accept=".csv,.ndjson,.jsonl" required${descriptionAttributes(file)}>
${hintOf(file)}</div>`
  const form = changeForm({ action: IMPORTS_PATH, proof, problem, fields, submit: 'Import', takesFile: true })
  return card('Import products', html`<div class="card-body">${form}</div>`)
}

function exportCard(): Html {
  return card(
    'Export products',
    html`<div class="card-body"><form class="filters" method="get" action="/products/export">
<div><label class="unseen" for="format">Format</label><select id="format" name="format"><option value="csv">CSV</option><option value="ndjson">NDJSON</option></select></div>
<button class="button" type="submit">Download</button></form>
<p class="hint">All products with their attributes, without their stock. Cells that a spreadsheet would compute get a mark in front.</p></div>`,
  )
}
